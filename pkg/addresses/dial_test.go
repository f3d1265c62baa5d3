package addresses_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/fairlead-io/fairlead/pkg/addresses"
)

// listener counts the connections that it accepts, and closes them.
type listener struct {
	net.Listener
	accepted atomic.Int32
}

// listen listens on an address. The test is skipped if the host has no such address.
func listen(t *testing.T, address string) *listener {
	t.Helper()
	inner, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the host has no address for the listener: %v", err)
	}
	l := &listener{Listener: inner}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			l.accepted.Add(1)
			_ = connection.Close()
		}
	}()
	return l
}

func (l *listener) port() string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// resolveWith replaces the DNS server of the process during a test. The function answers a question for an IPv4
// address with its results.
func resolveWith(t *testing.T, answer func(name string) []string) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	known := net.DefaultResolver
	t.Cleanup(func() {
		net.DefaultResolver = known
		_ = server.Close()
	})
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	go func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			if reply := replyTo(packet[:n], answer); reply != nil {
				_, _ = server.WriteTo(reply, from)
			}
		}
	}()
}

// replyTo returns the reply to a DNS request. A name without addresses does not exist.
func replyTo(packet []byte, answer func(name string) []string) []byte {
	var request dnsmessage.Message
	if request.Unpack(packet) != nil || len(request.Questions) != 1 {
		return nil
	}
	question := request.Questions[0]
	reply := dnsmessage.Message{
		Header: dnsmessage.Header{ID: request.ID, Response: true, RecursionAvailable: true}, Questions: request.Questions,
	}
	if question.Type == dnsmessage.TypeA {
		found := answer(strings.TrimSuffix(question.Name.String(), "."))
		if len(found) == 0 {
			reply.RCode = dnsmessage.RCodeNameError
		}
		for _, address := range found {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(address).To4())},
			})
		}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// dial connects with a policy, and returns the error.
func dial(t *testing.T, policy addresses.Policy, network, address string) error {
	t.Helper()
	connection, err := policy.DialContext(t.Context(), network, address)
	if err == nil {
		_ = connection.Close()
	}
	return err
}

func TestARefusedAddressGetsNoConnection(t *testing.T) {
	resolveWith(t, func(string) []string { return []string{"127.0.0.1"} })
	for bound, hosts := range map[string][]string{
		"127.0.0.1:0": {"127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "", "loop.example.com", "localhost"},
		"[::1]:0":     {"::1", "::", "::1%lo"},
	} {
		t.Run(bound, func(t *testing.T) {
			l := listen(t, bound)
			for _, host := range hosts {
				err := dial(t, addresses.Policy{}, "tcp", net.JoinHostPort(host, l.port()))
				if refused, ok := errors.AsType[*addresses.Error](err); !ok || refused.Host != host {
					t.Errorf("host %q: got %v", host, err)
				}
			}
			if n := l.accepted.Load(); n != 0 {
				t.Errorf("%d connections", n)
			}
			address, _, _ := net.SplitHostPort(l.Addr().String())
			if err := dial(t, addresses.Policy{Allow: prefixes("127.0.0.0/8 ::1/128")}, "tcp", l.Addr().String()); err != nil {
				t.Errorf("the allowed address %s: %v", address, err)
			}
		})
	}
}

func TestTheDialledAddressIsCheckedHoweverOftenANameIsResolved(t *testing.T) {
	refused := listen(t, "127.0.0.1:0")
	listen(t, "127.0.0.2:"+refused.port())
	policy := addresses.Policy{Allow: prefixes("127.0.0.2/32")}
	var asked atomic.Int32
	resolveWith(t, func(name string) []string {
		switch {
		case name == "both.example.com":
			return []string{"127.0.0.1", "127.0.0.2"}
		case asked.Add(1) > 1:
			return []string{"127.0.0.1"}
		}
		return []string{"127.0.0.2"}
	})
	if err := dial(t, policy, "tcp", "both.example.com:"+refused.port()); err != nil {
		t.Errorf("a name with an allowed address: %v", err)
	}
	if err := dial(t, policy, "tcp", "turns.example.com:"+refused.port()); err != nil {
		t.Errorf("a name while its address is allowed: %v", err)
	}
	want := "the address of host turns.example.com is refused (loopback): use another host, or ask the administrator to " +
		"allow the address"
	if err := dial(t, policy, "tcp", "turns.example.com:"+refused.port()); err == nil || err.Error() != want {
		t.Errorf("a name whose address is refused now: got %v", err)
	}
	if n := refused.accepted.Load(); n != 0 {
		t.Errorf("%d connections to the refused address", n)
	}
}

func TestOtherNetworksAreRefused(t *testing.T) {
	path := t.TempDir() + "/socket"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if _, ok := errors.AsType[*addresses.Error](dial(t, addresses.Policy{}, "unix", path)); !ok {
		t.Error("a Unix socket was dialled")
	}
}

func TestErrorsContainNoAddressOfTheNetwork(t *testing.T) {
	closed := listen(t, "127.0.0.1:0")
	port := closed.port()
	_ = closed.Close()
	resolveWith(t, func(name string) []string {
		if name == "closed.example.com" {
			return []string{"127.0.0.1"}
		}
		return nil
	})
	policy := addresses.Policy{Allow: prefixes("127.0.0.1/32")}
	for host, want := range map[string]string{
		"closed.example.com":  "dial tcp: connect: connection refused",
		"missing.example.com": "dial tcp: lookup missing.example.com: no such host",
	} {
		if err := dial(t, policy, "tcp", host+":"+port); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", host, err, want)
		}
	}
}

func TestErrorsOfReadsAndWritesContainNoAddressOfTheNetwork(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	go func() {
		connection, err := inner.Accept()
		if err != nil {
			return
		}
		_, _ = connection.Read(make([]byte, 1))
		if tcp, ok := connection.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // The client reads "connection reset by peer".
		}
		_ = connection.Close()
	}()
	policy := addresses.Policy{Allow: prefixes("127.0.0.1/32")}
	connection, err := policy.DialContext(t.Context(), "tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := connection.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	_, readErr := connection.Read(make([]byte, 1))
	_ = connection.Close()
	_, writeErr := connection.Write([]byte("a"))
	for _, err := range []error{readErr, writeErr} {
		if err == nil || strings.Contains(fmt.Sprint(err), "127.0.0.1") {
			t.Errorf("got %v", err)
		}
	}
}
