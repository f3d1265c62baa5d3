package cluster

import (
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// loopback is the only address that a cluster listens on.
const loopback = "127.0.0.1"

// port is a TCP port of the loopback address that is reserved for a component. A socket is bound to it with
// SO_REUSEPORT and never listens. So no other program gets the port, no connection is accepted by the socket, and the
// component, which sets the same option, can listen on the port. If the socket was closed before the component starts,
// another cluster could get the same port.
type port struct{ number int }

// reservePort reserves a free port until this process ends.
func reservePort() (port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, fmt.Errorf("open a socket: %w", err)
	}
	number, err := bindShared(socket)
	if err != nil {
		_ = unix.Close(socket)
		return port{}, fmt.Errorf("reserve a port: %w", err)
	}
	return port{number: number}, nil
}

func bindShared(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	bound, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("bound to an address of type %T", address)
	}
	return bound.Port, nil
}

// url returns the address with the given scheme.
func (p port) url(scheme string) string {
	return scheme + "://" + net.JoinHostPort(loopback, p.String())
}

func (p port) String() string { return strconv.Itoa(p.number) }
