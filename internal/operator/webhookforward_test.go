package operator

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
)

// The callers close their half of the connection before they read the answer.
func TestAStandbyAnswersAsTheLeaderIfACallEndsEarly(t *testing.T) {
	v := newVerifier()
	leads, waits := &election{}, &election{}
	leads.held.Store(true)
	leader, leaderAddress := startReplica(t, v, leads)
	leader.active.Store(true)
	_, standby := startReplica(t, newVerifier(), waits)
	waits.other.Store(&leaderAddress)
	for _, to := range []netip.AddrPort{leaderAddress, standby} {
		for _, c := range []struct{ name, headers, body, want string }{
			{"a complete body", "Content-Length: 1", "x", "HTTP/1.1 202 Accepted"},
			{"a short body", "Content-Length: 9", "x", "HTTP/1.1 400 Bad Request"},
			{"a chunk that is none", "Transfer-Encoding: chunked", "no chunk\r\n", "HTTP/1.1 400 Bad Request"},
			{
				"no signature", "Content-Length: 1048576\r\n" + eventsource.SignatureHeader + ": none", strings.Repeat("x", 1<<20),
				"HTTP/1.1 401 Unauthorized",
			},
		} {
			text := "POST /webhook/shop/a HTTP/1.1\r\nHost: a\r\n" + c.headers + "\r\n" +
				eventsource.SignatureHeader + ": " + signed("x")[eventsource.SignatureHeader] + "\r\n\r\n" + c.body
			if got := exchange(t, to.String(), text, true); got != c.want {
				t.Errorf("%s to %s: %s, want %s", c.name, to, got, c.want)
			}
		}
	}
}
