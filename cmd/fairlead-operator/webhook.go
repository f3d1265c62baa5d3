package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/leader"
)

// webhookOptions are the flags for signed calls to components.
type webhookOptions struct {
	// address is where calls are accepted; 0 accepts none.
	address string
	// ip is where other replicas of the operator reach this one.
	ip string
}

// bind binds the flags.
func (o *webhookOptions) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.address, "webhook-bind-address", "0",
		"address on which signed calls to components with spec.webhook are accepted, over HTTP; 0 accepts none")
	flags.StringVar(&o.ip, "webhook-advertise-ip", "",
		"IP address of this pod, to which other replicas forward calls while this replica is the leader, at the port of\n"+
			"--webhook-bind-address; without it, calls to other replicas are answered with status 503")
}

// enabled reports whether calls are accepted.
func (o webhookOptions) enabled() bool { return o.address != "0" }

// validate checks the flags.
func (o webhookOptions) validate() error {
	if o.ip == "" {
		return nil
	}
	if !o.enabled() {
		return fmt.Errorf("--webhook-advertise-ip=%s: it needs --webhook-bind-address", o.ip)
	}
	_, err := o.advertised()
	return err
}

// advertised returns the address at which other replicas reach this one. It is not valid if they do not reach it.
func (o webhookOptions) advertised() (netip.AddrPort, error) {
	if o.ip == "" {
		return netip.AddrPort{}, nil
	}
	ip, err := netip.ParseAddr(o.ip)
	if err != nil || !leader.IsReachable(ip) {
		return netip.AddrPort{}, fmt.Errorf("--webhook-advertise-ip=%s: want the IP address of the pod", o.ip)
	}
	_, port, err := net.SplitHostPort(o.address)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if errors.Join(err, portErr) != nil || number == 0 {
		return netip.AddrPort{}, fmt.Errorf(
			"--webhook-bind-address=%s: --webhook-advertise-ip needs a port number", o.address)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), nil
}
