package operator

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
)

// election is the state of a leader election, as a replica sees it.
type election struct {
	held  atomic.Bool
	other atomic.Pointer[netip.AddrPort]
}

func (e *election) Held() bool { return e.held.Load() }

func (e *election) Other() (address netip.AddrPort, known bool) {
	if other := e.other.Load(); other != nil {
		return *other, true
	}
	return address, false
}

// startReplica serves the calls to a replica that uses a verifier, and returns its address.
func startReplica(t *testing.T, v *verifier, e *election) (*replica, netip.AddrPort) {
	t.Helper()
	p := newReplica(e)
	p.calls = v.handler(v.accept)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, netip.MustParseAddrPort(server.Listener.Addr().String())
}

// send sends a call over the network, and returns the status and the header Retry-After.
func send(t *testing.T, to netip.AddrPort, method, path string, body io.Reader, headers map[string]string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+to.String()+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range headers {
		request.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", response.Header.Get("Retry-After")))
}

func signed(body string) map[string]string {
	return map[string]string{eventsource.SignatureHeader: eventsource.Sign([]byte("s3cret"), []byte(body))}
}

func TestAStandbyForwardsCallsToTheLeader(t *testing.T) {
	v := newVerifier()
	leads, waits := &election{}, &election{}
	leads.held.Store(true)
	leader, leaderAddress := startReplica(t, v, leads)
	_, standby := startReplica(t, newVerifier(), waits)
	call := func(path, body string) string {
		return send(t, standby, http.MethodPost, path, strings.NewReader(body), signed(body))
	}
	if got := call("/webhook/shop/a", "x"); got != "503 5" {
		t.Errorf("without a leader: %s", got)
	}
	waits.other.Store(&leaderAddress)
	if got := call("/webhook/shop/a", "x"); got != "503 5" {
		t.Errorf("before the reconciler of the leader runs: %s", got)
	}
	leader.active.Store(true)
	large := strings.Repeat("x", maxCallBytes)
	for _, c := range []struct{ path, body, want string }{
		{"/webhook/shop/a", "x", "202"},
		{"/webhook/shop/a", "", "202"},
		{"/webhook/shop/a", large, "202"},
		{"/webhook/shop/a", large + "x", "413"},
		{"/webhook/shop/none", "x", "401"},
		{"/webhook/shop/..%2Fa", "x", "401"},
		{"/metrics", "x", "404"},
	} {
		if got := call(c.path, c.body); got != c.want {
			t.Errorf("%s with %d bytes: %s, want %s", c.path, len(c.body), got, c.want)
		}
	}
	// A body of unknown length.
	headers := signed("x")
	if got := send(t, standby, http.MethodPost, "/webhook/shop/a", io.MultiReader(strings.NewReader("x")),
		headers); got != "202" {
		t.Errorf("a body of unknown length: %s", got)
	}
	if got := send(t, standby, http.MethodGet, "/webhook/shop/a", http.NoBody, headers); got != "405" {
		t.Errorf("no POST request: %s", got)
	}
	if got := send(t, standby, http.MethodPost, "/webhook/shop/a", strings.NewReader("y"), headers); got != "401" {
		t.Errorf("a wrong signature: %s", got)
	}
	if len(v.accepted) != 4 {
		t.Errorf("accepted: %v", v.accepted)
	}
	v.server.fail(context.DeadlineExceeded)
	v.probed = time.Time{}
	if got := call("/webhook/shop/a", "x"); got != "503 1" {
		t.Errorf("without the API server: %s", got)
	}
}

func TestCallsAreForwardedOnce(t *testing.T) {
	one, two := &election{}, &election{}
	_, first := startReplica(t, newVerifier(), one)
	_, second := startReplica(t, newVerifier(), two)
	// Each takes the other for the leader, and later itself.
	one.other.Store(&second)
	two.other.Store(&first)
	if got := send(t, first, http.MethodPost, "/webhook/shop/a", strings.NewReader("x"), signed("x")); got != "503 5" {
		t.Error(got)
	}
	one.other.Store(&first)
	if got := send(t, first, http.MethodPost, "/webhook/shop/a", strings.NewReader("x"), signed("x")); got != "503 5" {
		t.Error(got)
	}
}

// Whoever can write the Lease can make a standby call another server.
func TestAStandbyTrustsTheAnswerOfALeaderLittle(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "503 5"},
		{"another service", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("private")) }, "503 5"},
		{"a long text", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "a=b")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		}, "400"},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = connection.Write([]byte("ssh\r\n"))
				_ = connection.Close()
			}
		}, "503 5"},
	} {
		var headers http.Header
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			headers = r.Header
			c.answer(w, r)
		}))
		address := netip.MustParseAddrPort(server.Listener.Addr().String())
		e := &election{}
		e.other.Store(&address)
		p := newReplica(e)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook/shop/a", strings.NewReader("x"))
		request.Header.Set(eventsource.SignatureHeader, signed("x")[eventsource.SignatureHeader])
		request.Header.Set("Authorization", "Bearer of the ingress")
		request.Header.Set("Cookie", "a=b")
		answer := httptest.NewRecorder()
		p.ServeHTTP(answer, request)
		server.Close()
		if got := strings.TrimSpace(fmt.Sprint(answer.Code, " ", answer.Header().Get("Retry-After"))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if answer.Body.Len() > maxAnswerBytes || answer.Header().Get("Set-Cookie") != "" ||
			strings.Contains(answer.Body.String(), "private") {
			t.Errorf("%s: %d bytes, headers %v", c.name, answer.Body.Len(), answer.Header())
		}
		if headers.Get("Authorization") != "" || headers.Get("Cookie") != "" {
			t.Errorf("%s: forwarded headers %v", c.name, headers)
		}
	}
}

func TestACallIsAcceptedOnlyWhileThisReplicaHoldsTheLease(t *testing.T) {
	e := &election{}
	e.held.Store(true)
	p := newReplica(e)
	v := newVerifier()
	p.calls = v.handler(func(context.Context, types.NamespacedName) error {
		e.held.Store(false) // The Lease expires during the call.
		if !p.leads() {
			return errNoLeader
		}
		return nil
	})
	p.active.Store(true)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook/shop/a", strings.NewReader("x"))
	request.Header.Set(eventsource.SignatureHeader, signed("x")[eventsource.SignatureHeader])
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, request)
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "5" {
		t.Errorf("status %d, Retry-After %s", answer.Code, answer.Header().Get("Retry-After"))
	}
}

// serveCalls runs the server of calls until the test ends, and returns its address.
func serveCalls(t *testing.T, handler http.Handler) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- webhookServer{address: address, handler: handler}.Start(ctx) }()
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
			break
		}
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return address, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// raw sends bytes, and returns the first line of the answer, "closed" if there is none.
func raw(t *testing.T, address, text string) string { return exchange(t, address, text, false) }

// exchange is like raw. If ends is set, it closes its half of the connection before it reads the answer.
func exchange(t *testing.T, address, text string, ends bool) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, text); err != nil {
		return "closed"
	}
	if tcp, ok := connection.(*net.TCPConn); ok && ends {
		if err := tcp.CloseWrite(); err != nil {
			return "closed"
		}
	}
	line, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return "closed"
	}
	return strings.TrimSpace(line)
}

func TestTheServerOfCallsRefusesWhatIsNoCall(t *testing.T) {
	v := newVerifier()
	p := newReplica(nil)
	p.calls = v.handler(v.accept)
	p.active.Store(true)
	address, stop := serveCalls(t, p)
	defer stop()
	signature := "\r\n" + eventsource.SignatureHeader + ": " + signed("x")[eventsource.SignatureHeader] + "\r\nHost: a\r\n"
	for _, c := range []struct{ name, text, want string }{
		{"a call", "POST /webhook/shop/a HTTP/1.1" + signature + "Content-Length: 1\r\n\r\nx", "HTTP/1.1 202 Accepted"},
		{"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 404 Not Found"},
		{
			"an upgrade to HTTP/2", "POST /webhook/shop/a HTTP/1.1" + signature +
				"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n" +
				"Content-Length: 1\r\n\r\nx",
			"HTTP/1.1 202 Accepted",
		},
		{
			"two lengths", "POST /webhook/shop/a HTTP/1.1" + signature + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
			"HTTP/1.1 400 Bad Request",
		},
		{"a length and chunks", "POST /webhook/shop/a HTTP/1.1" + signature +
			"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "HTTP/1.1 202 Accepted"},
		{
			"another encoding", "POST /webhook/shop/a HTTP/1.1" + signature + "Transfer-Encoding: gzip\r\n\r\nx",
			"HTTP/1.1 501 Not Implemented",
		},
		{
			"an absolute address", "POST http://other/webhook/shop/a HTTP/1.1" + signature + "Content-Length: 1\r\n\r\nx",
			"HTTP/1.1 202 Accepted",
		},
		{"CONNECT", "CONNECT other:443 HTTP/1.1\r\nHost: other\r\n\r\n", "HTTP/1.1 404 Not Found"},
		{
			"a long header", "POST /webhook/shop/a HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
			"HTTP/1.1 431 Request Header Fields Too Large",
		},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"a declared size that is too large", "POST /webhook/shop/a HTTP/1.1" + signature +
			"Content-Length: 9999999999\r\n\r\nx", "HTTP/1.1 413 Request Entity Too Large"},
	} {
		if got := raw(t, address, c.text); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSlowAndIdleCallersAreDisconnected(t *testing.T) {
	if testing.Short() {
		t.Skip("this test waits for time-outs")
	}
	v := newVerifier()
	p := newReplica(nil)
	p.calls = v.handler(v.accept)
	p.active.Store(true)
	address, stop := serveCalls(t, p)
	var slow []net.Conn
	for n := range maxConnections {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		text := []string{
			"", "POST /webhook/shop/a HTTP/1.1\r\n",
			"POST /webhook/shop/a HTTP/1.1\r\nHost: a\r\n" + eventsource.SignatureHeader + ": " +
				signed("x")[eventsource.SignatureHeader] + "\r\nContent-Length: 100\r\n\r\nx",
		}[n%3]
		if _, err := io.WriteString(connection, text); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, connection)
	}
	// The connections of slow callers are all in use. This call waits until they are closed.
	if got := send(t, netip.MustParseAddrPort(address), http.MethodPost, "/webhook/shop/a", strings.NewReader("x"),
		signed("x")); got != "202" {
		t.Errorf("a call beside slow callers: %s", got)
	}
	for _, connection := range slow {
		_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, connection); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatal("a slow caller is still connected")
		}
	}
	stop()
}

func TestARunningCallEndsBeforeTheServerOfCalls(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	address, stop := serveCalls(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-end
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	answers := make(chan string, 1)
	go func() { answers <- raw(t, address, "POST /webhook/shop/a HTTP/1.1\r\nHost: a\r\n\r\n") }()
	<-begun
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	for {
		if connection, err := net.Dial("tcp", address); err != nil {
			break
		} else if err := connection.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(end)
	if got := <-answers; got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	<-stopped
}

func TestAReplicaIsActiveWhileTheReconcilerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newReplica(nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Start(ctx) }()
		synctest.Wait()
		before := p.leads()
		cancel()
		if err := <-done; err != nil || !before || p.leads() {
			t.Errorf("active before %t, after %t, %v", before, p.leads(), err)
		}
	})
}
