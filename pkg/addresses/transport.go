package addresses

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Transport returns a copy of a transport that connects only to addresses that the policy allows. It shares no
// connection with the original, and has none of its registered protocols. Without a proxy the copy dials itself, and
// ignores the functions of the original that dial. Nil means http.DefaultTransport, or an empty transport if
// http.DefaultTransport is of another type.
//
// The proxies of the original are used, and the policy does not apply to the address of a proxy, because no user chose
// it. A proxy resolves the names itself. So only addresses in URLs, names of the own host and names of metadata
// services are checked before a request is sent to a proxy, and hosts that a proxy could read as an address are
// refused.
func (p Policy) Transport(original *http.Transport) http.RoundTripper {
	if original == nil {
		original, _ = http.DefaultTransport.(*http.Transport)
	}
	if original == nil {
		original = &http.Transport{}
	}
	direct := separate(original)
	direct.Proxy, direct.DialContext = nil, p.DialContext
	direct.Dial, direct.DialTLS, direct.DialTLSContext = nil, nil, nil //nolint:staticcheck // An original can have them.
	t := &transport{policy: p, direct: direct, proxyOf: original.Proxy}
	if original.Proxy != nil {
		t.proxied = separate(original)
		t.proxied.Proxy = chosenProxy
	}
	return t
}

// separate returns a copy of a transport that shares no connection with the original.
func separate(original *http.Transport) *http.Transport {
	separated := original.Clone()
	if len(separated.TLSNextProto) > 0 {
		// Its functions can have connections of the original, and are mostly those of HTTP/2.
		separated.TLSNextProto, separated.ForceAttemptHTTP2 = nil, true
	}
	return separated
}

// transport sends requests directly, with the policy in its dialler, or through a proxy.
type transport struct {
	policy          Policy
	direct, proxied *http.Transport
	// proxyOf chooses the proxy of a request. It may be nil.
	proxyOf func(*http.Request) (*url.URL, error)
}

// proxyKey is the key of the chosen proxy in the context of a request.
type proxyKey struct{}

// chosenProxy returns the proxy that RoundTrip chose. Without a proxy the transport would dial without the policy, so
// this is an error.
func chosenProxy(r *http.Request) (*url.URL, error) {
	if chosen, ok := r.Context().Value(proxyKey{}).(*url.URL); ok {
		return chosen, nil
	}
	return nil, errors.New("no proxy was chosen for the request")
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.proxyOf == nil {
		return t.direct.RoundTrip(r)
	}
	proxy, err := t.proxyOf(r)
	if err != nil {
		return nil, errors.Join(err, closeBody(r))
	}
	if proxy == nil {
		return t.direct.RoundTrip(r)
	}
	// In a request for http to a proxy, net/http writes the host of the header in place of the host of the URL.
	for _, host := range []string{r.URL.Host, cmp.Or(r.Host, r.URL.Host)} {
		sent := url.URL{Host: host}
		if err := t.policy.checkText(sent.Hostname()); err != nil {
			return nil, errors.Join(err, closeBody(r))
		}
	}
	return t.proxied.RoundTrip(r.WithContext(context.WithValue(r.Context(), proxyKey{}, proxy)))
}

// closeBody closes the body of a request that is not sent, as http.RoundTripper demands.
func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// CloseIdleConnections closes the connections without a request. http.Client calls it.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	if t.proxied != nil {
		t.proxied.CloseIdleConnections()
	}
}

var (
	loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	metadata = netip.AddrFrom4([4]byte{169, 254, 169, 254})
)

// wellKnown are the addresses of names that need no DNS server, and of metadata services.
var wellKnown = map[string]netip.Addr{
	"localhost":                  loopback,
	"localhost.localdomain":      loopback,
	"ip6-localhost":              netip.IPv6Loopback(),
	"ip6-loopback":               netip.IPv6Loopback(),
	"metadata":                   metadata,
	"metadata.google.internal":   metadata,
	"metadata.goog":              metadata,
	"instance-data":              metadata,
	"instance-data.ec2.internal": metadata,
}

// checkText checks the host of a URL without resolving it.
func (p Policy) checkText(host string) error {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	address, err := netip.ParseAddr(name)
	known, isKnown := wellKnown[name]
	switch {
	case err == nil:
	case isKnown:
		address = known
	case strings.HasSuffix(name, ".localhost"):
		address = loopback
	case name == "":
		return &Error{Rule: Unspecified}
	case isUnreadable(name):
		return &Error{Host: host, Rule: Unreadable}
	default:
		return nil
	}
	if refused, ok := errors.AsType[*Error](p.Check(address)); ok {
		return &Error{Host: host, Rule: refused.Rule}
	}
	return nil
}

// isUnreadable reports whether a program can read a name in lower case as an IPv4 address: its last label is a number,
// or it contains characters that DNS names do not have. These can be digits of other scripts, or end an address early.
func isUnreadable(name string) bool {
	const letters, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	if strings.Trim(name, letters+digits+"-_.") != "" {
		return true
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	number, isHex := strings.CutPrefix(last, "0x")
	if isHex {
		return strings.Trim(number, digits+"abcdef") == ""
	}
	return strings.Trim(number, digits) == ""
}
