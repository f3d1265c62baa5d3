package apierror

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestTheTextOfAFailedConnectionIsStable(t *testing.T) {
	put := func(err error) error {
		return fmt.Errorf("record: %w", &url.Error{Op: "Put", URL: "https://a", Err: err})
	}
	reset := func(port int) error {
		return put(&net.OpError{
			Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port},
			Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 443}, Err: os.NewSyscallError("read", syscall.ECONNRESET),
		})
	}
	resolved := func(port int) error {
		cause := fmt.Sprintf("read udp 10.0.0.1:%d->10.0.0.3:53: i/o timeout", port)
		return put(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "api", Err: cause}})
	}
	conflict := apierrors.NewConflict(corev1.Resource("secrets"), "a", errors.New("it changed"))
	for _, c := range []struct {
		first, second error
		want          string
	}{
		{reset(1), reset(2), "the connection to the API server failed: read: connection reset by peer"},
		{resolved(1), resolved(2), "the name api cannot be resolved"},
		{conflict, conflict, conflict.Error()},
	} {
		if first, second := StableText(c.first), StableText(c.second); first != c.want || second != c.want {
			t.Errorf("got %q and %q, want %q", first, second, c.want)
		}
	}
}
