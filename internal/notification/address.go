package notification

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/pkg/addresses"
)

const (
	// requestTimeout is the timeout of a request.
	requestTimeout = 10 * time.Second
	// maxHeaderBytes is the maximum size of the header of a response.
	maxHeaderBytes = 64 << 10
	maxPort        = 1<<16 - 1
)

// ParseAddress parses the URL to which Events are posted. The error contains all that is wrong, and nothing of the URL,
// because a URL can contain a password.
func ParseAddress(text string) (*url.URL, error) {
	const want = "want a URL such as http://notification-controller.flux-system.svc.cluster.local"
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Hostname() == "" {
		return nil, errors.New(want)
	}
	var errs []error
	if port := address.Port(); port != "" {
		if number, err := strconv.Atoi(port); err != nil || number < 1 || number > maxPort {
			errs = append(errs, errors.New("want a port from 1 to 65535"))
		}
	}
	if address.User != nil {
		errs = append(errs, errors.New("want a URL without user and password"))
	}
	if address.Fragment != "" {
		errs = append(errs, errors.New("want a URL without a fragment (#)"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return address, nil
}

// newClient returns a client for the receiver with a host. Redirects are not followed.
func newClient(host string) *http.Client {
	original := &http.Transport{}
	if known, ok := http.DefaultTransport.(*http.Transport); ok {
		original = known.Clone()
	}
	original.MaxResponseHeaderBytes = maxHeaderBytes
	return &http.Client{
		Transport: policyFor(host).Transport(original), Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// policyFor returns the policy for connections to a host that the administrator chose. The administrator may name an
// address that is refused by default, such as one of the own host. A DNS name must not lead to such an address.
func policyFor(host string) addresses.Policy {
	if host == "localhost" {
		return addresses.Policy{Allow: []netip.Prefix{
			netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
		}}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return addresses.Policy{}
	}
	address = address.WithZone("").Unmap()
	return addresses.Policy{Allow: []netip.Prefix{netip.PrefixFrom(address, address.BitLen())}}
}
