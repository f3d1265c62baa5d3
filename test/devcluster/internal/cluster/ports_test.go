package cluster

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAReservedPortIsOurs(t *testing.T) {
	reserved, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(loopback, reserved.String())
	if stranger, err := net.Listen("tcp", address); err == nil {
		_ = stranger.Close()
		t.Error("another program could bind the reserved port")
	}

	component, err := shared.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("a component cannot listen on the reserved port: %v", err)
	}
	defer func() { _ = component.Close() }()
	for range 20 {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		// If the reservation had accepted the connection, this call would block.
		accepted, err := component.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Close(), accepted.Close()
	}
}

var shared = net.ListenConfig{Control: func(_, _ string, connection syscall.RawConn) error {
	var failed error
	err := connection.Control(func(socket uintptr) {
		failed = unix.SetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	return errors.Join(err, failed)
}}
