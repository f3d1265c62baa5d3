package fetch_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/addresses"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// serveAt is serve on an address of the host.
func serveAt(t *testing.T, address string, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the host has no address for the server: %v", err)
	}
	server := httptest.NewUnstartedServer(answer)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// only returns a policy that allows an address, beside those that are allowed by default.
func only(address string) *addresses.Policy {
	return &addresses.Policy{Allow: []netip.Prefix{netip.MustParsePrefix(address + "/32")}}
}

func TestAnArchiveIsFetchedFromAllowedAddressesOnly(t *testing.T) {
	const remedy = ": use another host, or ask the administrator to allow the address"
	archive, digest := pack(t, "a: b")
	s := serve(t, gives(archive))
	entry := serveAt(t, "127.0.0.2:0", http.RedirectHandler(s.URL+"/secret", http.StatusFound).ServeHTTP)
	for name, c := range map[string]struct {
		options   fetch.Options
		url, want string
		requests  int
	}{
		"a refused address": {
			options: fetch.Options{Addresses: &addresses.Policy{}}, url: s.URL + "/a.tgz?token=hidden",
			want: s.URL + "/a.tgz: the address of host 127.0.0.1 is refused (loopback)" + remedy,
		},
		"a redirect to a refused address": {
			options: fetch.Options{Addresses: only("127.0.0.2")}, url: entry.URL,
			want: entry.URL + ": redirect refused: the address is refused (loopback)" + remedy,
		},
		"a transport that dials by itself": {
			options: fetch.Options{Addresses: only("127.0.0.1"), Transport: struct{ http.RoundTripper }{http.DefaultTransport}},
			url:     s.URL, want: s.URL + ": the addresses of the transport cannot be limited: Options.Addresses needs a " +
				"Transport that is nil or a *http.Transport",
		},
		"an allowed address": {options: fetch.Options{Addresses: only("127.0.0.1")}, url: s.URL, requests: 1},
		"an allowed address with a transport": {
			options: fetch.Options{Addresses: only("127.0.0.1"), Transport: &http.Transport{}}, url: s.URL, requests: 1,
		},
		"a redirect without a policy": {url: entry.URL, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s.requests = nil
			h := fetch.NewHTTP(c.options)
			_, err := h.Fetch(t.Context(), metav1alpha1.SourceReference{URL: c.url, SHA256: digest})
			if got := textOf(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if _, passing := isPassing(err); passing {
				t.Error("the error is temporary")
			}
			if _, err := h.Get(t.Context(), c.url, 1<<20); textOf(err) != c.want {
				t.Errorf("Get: got %v, want %q", err, c.want)
			}
			if len(s.requests) != 2*c.requests {
				t.Errorf("%d requests", len(s.requests))
			}
		})
	}
}

// textOf returns the text of an error, and an empty text for nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTheErrorOfARefusedAddressHasAType(t *testing.T) {
	s := serve(t, http.NotFound)
	_, err := fetch.NewHTTP(fetch.Options{Addresses: &addresses.Policy{}}).
		Fetch(t.Context(), metav1alpha1.SourceReference{URL: s.URL})
	refused, ok := errors.AsType[*addresses.Error](err)
	if !ok || *refused != (addresses.Error{Host: "127.0.0.1", Rule: addresses.Loopback}) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsQuoteNoResponseOfALimitedAddress(t *testing.T) {
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, text)
			_ = connection.Close()
		}
	}
	protected := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(protected.Close)
	down := serve(t, http.NotFound)
	down.Close()
	for name, c := range map[string]struct{ url, want string }{
		"a banner": {
			url:  serve(t, raw("SSH-2.0-secret\r\n")).URL,
			want: "the response of the server cannot be read",
		},
		"a status text": {
			url:  serve(t, raw("HTTP/1.1 404 secret\r\nContent-Length: 0\r\n\r\n")).URL,
			want: "the server answered 404 Not Found; check the URL",
		},
		"a status without a name": {
			url:  serve(t, raw("HTTP/1.1 499 secret\r\nContent-Length: 0\r\n\r\n")).URL,
			want: "the server answered 499",
		},
		"a location": {
			url:  serve(t, raw("HTTP/1.1 302 Found\r\nLocation: secret://secret/\r\nContent-Length: 0\r\n\r\n")).URL,
			want: "the response of the server cannot be read",
		},
		"the host of a redirect": {
			url:  serve(t, http.RedirectHandler("http://127.0.0.1:99999/secret", http.StatusFound).ServeHTTP).URL,
			want: "the host of the redirect cannot be reached",
		},
		"the host of a redirect that is down": {
			url:  serve(t, http.RedirectHandler(down.URL, http.StatusFound).ServeHTTP).URL,
			want: "the host of the redirect cannot be reached: connection refused",
		},
		"a certificate": {
			url:  protected.URL,
			want: "the server is not trusted: the certificate is signed by an unknown authority",
		},
		"a server without TLS": {
			url:  strings.Replace(serve(t, http.NotFound).URL, "http:", "https:", 1),
			want: "the server does not use TLS",
		},
		"no response": {url: serve(t, raw("")).URL, want: "EOF"},
	} {
		_, err := fetch.NewHTTP(fetch.Options{Addresses: only("127.0.0.1")}).
			Fetch(t.Context(), metav1alpha1.SourceReference{URL: c.url})
		if got := textOf(err); got != c.url+": "+c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestTheStatusCodeOfAProxyIsShown(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	place, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(place)}
	_, err = fetch.NewHTTP(fetch.Options{Addresses: &addresses.Policy{}, Transport: transport}).
		Fetch(t.Context(), metav1alpha1.SourceReference{URL: "https://archives.example.com/a.tgz"})
	const want = "https://archives.example.com/a.tgz: the proxy answered 407 Proxy Authentication Required"
	if _, passing := isPassing(err); textOf(err) != want || !passing {
		t.Errorf("got %v", err)
	}
}

func TestErrorsQuoteNoSchemeOfARedirect(t *testing.T) {
	server := httptest.NewTLSServer(http.RedirectHandler("secret://secret/", http.StatusFound))
	t.Cleanup(server.Close)
	_, err := fetch.NewHTTP(fetch.Options{Transport: server.Client().Transport}).
		Fetch(t.Context(), metav1alpha1.SourceReference{URL: server.URL})
	want := server.URL + ": redirect refused: the server redirects from https to another scheme"
	if got := textOf(err); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
