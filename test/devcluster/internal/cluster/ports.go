package cluster

import (
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// loopback is the only address that a cluster listens on.
const loopback = "127.0.0.1"

// port is a TCP port of the loopback address that is kept for a component. The socket is bound with SO_REUSEPORT and
// never listened on: no other program is given the port, no connection ends there, and a component that sets the same
// option can listen on it. To choose a number and close the socket again would leave a window in which a cluster that
// starts at the same time is given the same number.
type port struct{ number int }

// reservePort takes a free port until this process ends.
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

// url is the address under the given scheme.
func (p port) url(scheme string) string {
	return scheme + "://" + net.JoinHostPort(loopback, p.String())
}

func (p port) String() string { return strconv.Itoa(p.number) }
