package addresses

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// The dialler has the values of the default transport of net/http.
const (
	dialTimeout = 30 * time.Second
	keepAlive   = 30 * time.Second
)

// control is a net.Dialer.Control. It returns an *Error if the policy refuses an address. The dialler calls it for each
// address of a host, so the other addresses of a host are tried. Networks other than TCP and UDP are refused.
func (p Policy) control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") && !strings.HasPrefix(network, "udp") {
		return &Error{Rule: Unreadable}
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil { // Such as ":80", which leads to the own host.
		return &Error{Rule: Unspecified}
	}
	return p.Check(target.Addr())
}

// DialContext connects to an address that the policy allows. If the policy refuses all addresses of the host, the error
// is an *Error with the host. Errors of the connection and of its reads and writes contain neither resolved addresses
// nor the address of the DNS server.
func (p Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: p.control}
	connection, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		return concealing{connection}, nil
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		host, _, _ := net.SplitHostPort(address)
		return nil, &Error{Host: host, Rule: refused.Rule}
	}
	return nil, concealed(err)
}

// concealing is a connection whose errors contain no addresses.
type concealing struct{ net.Conn }

// Read implements net.Conn.
func (c concealing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, concealed(err)
}

// Write implements net.Conn.
func (c concealing) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, concealed(err)
}

// concealed returns an error of package net without the addresses that only the network of the operator knows.
func concealed(err error) error {
	failed, ok := err.(*net.OpError) //nolint:errorlint // An error that wraps it has a text that contains the addresses.
	if !ok {
		return err
	}
	shown := *failed
	shown.Source, shown.Addr = nil, nil
	if lookup, ok := errors.AsType[*net.DNSError](failed.Err); ok {
		name := *lookup
		name.Server = ""
		switch {
		case name.IsNotFound:
		case name.IsTimeout:
			name.Err = "the DNS server did not answer in time"
		default:
			name.Err = "the name cannot be resolved"
		}
		shown.Err = &name
	}
	return &shown
}
