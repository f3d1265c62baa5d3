package addresses_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/addresses"
)

// counted starts a server on an address, and counts its requests.
func counted(t *testing.T, address string, answer http.HandlerFunc) (serverURL string, requests *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the host has no address for the server: %v", err)
	}
	requests = &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, requests
}

// get requests a URL, and returns the body of the response.
func get(t *testing.T, transport http.RoundTripper, place string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, place, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// isRefused reports whether an error says that a policy refuses an address.
func isRefused(err error) bool {
	_, ok := errors.AsType[*addresses.Error](err)
	return ok
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestARedirectToARefusedAddressIsNotFollowed(t *testing.T) {
	refused, requests := counted(t, "127.0.0.1:0", says("secret"))
	entry, _ := counted(t, "127.0.0.2:0", http.RedirectHandler(refused, http.StatusFound).ServeHTTP)
	policy := addresses.Policy{Allow: prefixes("127.0.0.2/32")}
	_, err := get(t, policy.Transport(&http.Transport{}), entry)
	if !isRefused(err) || requests.Load() != 0 {
		t.Errorf("got %v, %d requests", err, requests.Load())
	}
}

func TestFunctionsAndConnectionsOfTheOriginalAreNotUsed(t *testing.T) {
	server := httptest.NewUnstartedServer(says("secret"))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	around := func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	original, ok := server.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the transport of the server has another type")
	}
	// The original has an open connection to the server, which HTTP/2 shares.
	if body, err := get(t, original, server.URL); err != nil || body != "secret" {
		t.Fatalf("the original: got %q, %v", body, err)
	}
	dials := original.Clone()
	dials.DialContext = around
	dials.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := around(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return tls.Client(connection, original.TLSClientConfig), nil
	}
	for name, transport := range map[string]*http.Transport{"connections": original, "functions": dials} {
		if _, err := get(t, addresses.Policy{}.Transport(transport), server.URL); !isRefused(err) {
			t.Errorf("%s: got %v", name, err)
		}
		allowing := addresses.Policy{Allow: prefixes("127.0.0.0/8 ::1/128")}
		limited := allowing.Transport(transport)
		if body, err := get(t, limited, server.URL); err != nil || body != "secret" {
			t.Errorf("%s, allowed: got %q, %v", name, body, err)
		}
		if closer, ok := limited.(interface{ CloseIdleConnections() }); ok {
			closer.CloseIdleConnections()
		} else {
			t.Errorf("%s: the transport cannot close its connections", name)
		}
	}
}

// tunnel is a proxy for HTTPS.
func tunnel(w http.ResponseWriter, r *http.Request) {
	target, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = target.Close() }()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = connection.Close() }()
	_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(target, connection)
		_ = target.Close()
	}()
	_, _ = io.Copy(connection, target)
}

func TestThePoolForHTTP2OfTheOriginalIsNotUsed(t *testing.T) {
	server := httptest.NewUnstartedServer(says("right"))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy, tunnels := counted(t, "127.0.0.1:0", tunnel)
	address, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	known, ok := server.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the transport of the server has another type")
	}
	var used atomic.Bool
	for name, chosen := range map[string]func(*http.Request) (*url.URL, error){
		"directly": nil, "through a proxy": http.ProxyURL(address),
	} {
		original := known.Clone()
		original.Proxy = chosen
		original.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
		original.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{
			"h2": func(string, *tls.Conn) http.RoundTripper {
				used.Store(true)
				return http.NewFileTransport(http.Dir(t.TempDir()))
			},
		}
		transport := addresses.Policy{Allow: prefixes("127.0.0.0/8 ::1/128")}.Transport(original)
		if body, err := get(t, transport, server.URL); err != nil || body != "right" || used.Load() {
			t.Errorf("%s: got %q, %v, original %t", name, body, err, used.Load())
		}
		if closer, ok := transport.(interface{ CloseIdleConnections() }); ok {
			closer.CloseIdleConnections()
		}
	}
	if n := tunnels.Load(); n != 1 {
		t.Errorf("%d requests to the proxy", n)
	}
}

func TestRegisteredProtocolsOfTheOriginalAreNotUsed(t *testing.T) {
	original := &http.Transport{}
	original.RegisterProtocol("file", http.NewFileTransport(http.Dir(t.TempDir())))
	if _, err := get(t, original, "file:///"); err != nil {
		t.Fatalf("the original: %v", err)
	}
	if _, err := get(t, addresses.Policy{}.Transport(original), "file:///"); err == nil {
		t.Error("the protocol is used")
	}
}

func TestThroughAProxyOnlyHostsInURLsAreChecked(t *testing.T) {
	proxy, requests := counted(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "proxied "+r.URL.Host)
	})
	address, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	transport := addresses.Policy{Deny: prefixes("10.0.0.0/8")}.Transport(&http.Transport{Proxy: http.ProxyURL(address)})
	for _, host := range []string{
		"archives.example.com", "192.0.2.1", "[2001:db8::1]", "12.example.com", "0xa.example.com", "a_b-c.example.com",
	} {
		if body, err := get(t, transport, "http://"+host+"/"); err != nil || body != "proxied "+host {
			t.Errorf("%s: got %q, %v", host, body, err)
		}
	}
	sent := requests.Load()
	for host, want := range map[string]addresses.Rule{
		"127.0.0.1": addresses.Loopback, "[::ffff:127.0.0.1]": addresses.Loopback, "localhost": addresses.Loopback,
		"LOCALHOST.": addresses.Loopback, "a.localhost": addresses.Loopback, "ip6-localhost": addresses.Loopback,
		"169.254.169.254": addresses.Metadata, "metadata.google.internal": addresses.Metadata,
		"10.1.2.3": addresses.Denied, "[fe80::1%25eth0]": addresses.LinkLocal, "0.0.0.0": addresses.Unspecified,
		"0177.0.0.1": addresses.Unreadable, "2130706433": addresses.Unreadable, "0x7f.1": addresses.Unreadable,
		"0X7F000001": addresses.Unreadable, "127.1": addresses.Unreadable, "127.0.0.1.": addresses.Loopback,
		"１２７.0.0.１": addresses.Unreadable, ":80": addresses.Unspecified, "a.0x": addresses.Unreadable,
		"127.0.0.1%25a": addresses.Unreadable, "127.0.0.1,a": addresses.Unreadable, "localhost..": addresses.Unreadable,
		"metadata.goog": addresses.Metadata, "instance-data.ec2.internal": addresses.Metadata,
	} {
		_, err := get(t, transport, "http://"+host+"/")
		refused, ok := errors.AsType[*addresses.Error](err)
		if !ok || refused.Rule != want {
			t.Errorf("%s: got %v, want %s", host, err, want)
		}
		if ok && host != ":80" && !strings.Contains(err.Error(), refused.Host) {
			t.Errorf("%s: the error %q lacks the host", host, err)
		}
	}
	if n := requests.Load(); n != sent {
		t.Errorf("%d requests for refused hosts", n-sent)
	}
}

func TestThroughAProxyTheHostOfTheHeaderIsCheckedToo(t *testing.T) {
	proxy, requests := counted(t, "127.0.0.1:0", says("proxied"))
	address, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	transport := addresses.Policy{}.Transport(&http.Transport{Proxy: http.ProxyURL(address)})
	for host, want := range map[string]addresses.Rule{
		"169.254.169.254": addresses.Metadata, "[::1]:80": addresses.Loopback, "other.example.com": "", "": "",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example.com/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := transport.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
		var rule addresses.Rule
		if refused, ok := errors.AsType[*addresses.Error](err); ok {
			rule = refused.Rule
		}
		if rule != want || (err == nil) != (want == "") {
			t.Errorf("%q: got %v, want %q", host, err, want)
		}
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestARequestWithoutAProxyIsCheckedInTheDialler(t *testing.T) {
	server, requests := counted(t, "127.0.0.1:0", says("secret"))
	none := func(*http.Request) (*url.URL, error) { return nil, nil }
	for name, original := range map[string]*http.Transport{
		"no proxy for the request":       {Proxy: none},
		"no proxies":                     {},
		"the default transport":          nil,
		"the proxies of the environment": {Proxy: http.ProxyFromEnvironment},
	} {
		if _, err := get(t, addresses.Policy{}.Transport(original), server); !isRefused(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
	unclear := errors.New("unclear")
	failing := addresses.Policy{}.Transport(&http.Transport{
		Proxy: func(*http.Request) (*url.URL, error) { return nil, unclear },
	})
	if _, err := get(t, failing, server); !errors.Is(err, unclear) {
		t.Errorf("got %v", err)
	}
}

func TestTheProxyOfARequestIsChosenOnce(t *testing.T) {
	target, requests := counted(t, "127.0.0.1:0", says("secret"))
	proxy, _ := counted(t, "127.0.0.1:0", says("proxied"))
	resolveWith(t, func(string) []string { return []string{"127.0.0.1"} })
	asked := 0
	transport := addresses.Policy{}.Transport(&http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		if asked++; asked > 1 {
			return nil, nil
		}
		return url.Parse(proxy)
	}})
	place := strings.Replace(target, "127.0.0.1", "loop.example.com", 1)
	if body, err := get(t, transport, place); body != "proxied" || err != nil || asked != 1 {
		t.Errorf("got %q, %v after %d questions", body, err, asked)
	}
	if _, err := get(t, transport, place); !isRefused(err) || requests.Load() != 0 {
		t.Errorf("without a proxy: got %v, %d requests", err, requests.Load())
	}
}
