package operator

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// PollHosts are the hosts that components may poll: names or addresses, names that begin with "*." for all hosts of a
// domain, or "*" for all hosts. A tenant sees the responses of polled addresses, also those of services that only the
// operator can reach, so the default is none.
type PollHosts []string

// ParsePollHosts parses hosts that are separated by commas. An empty text contains no hosts. All ports of a host are
// allowed, so a host with a scheme, a port or a path is an error.
func ParsePollHosts(text string) (PollHosts, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var hosts PollHosts
	for host := range strings.SplitSeq(text, ",") {
		host = strings.ToLower(strings.TrimSpace(host))
		address, err := netip.ParseAddr(host)
		name, isDomain := strings.CutPrefix(host, "*.")
		_, ipErr := netip.ParseAddr(name)
		switch {
		case err == nil:
			host = address.String()
		case host != "*" && (isDomain && ipErr == nil || name == "" || strings.ContainsAny(name, " \t:/?#@*[]")):
			return nil, fmt.Errorf("host %q: want a name such as rates.example.com, a domain such as *.example.org, "+
				"an address, or *, without scheme, port and path", host)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// allows reports whether a host may be polled.
func (h PollHosts) allows(host string) bool {
	host = strings.ToLower(host)
	for _, pattern := range h {
		pattern = strings.ToLower(pattern)
		suffix, wild := strings.CutPrefix(pattern, "*")
		if pattern == host || wild && strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// hostCheck refuses requests to other hosts, also after redirects.
type hostCheck struct {
	hosts PollHosts
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g hostCheck) RoundTrip(r *http.Request) (*http.Response, error) {
	if host := r.URL.Hostname(); !g.hosts.allows(host) {
		return nil, &hostError{host}
	}
	return g.next.RoundTrip(r)
}

// hostError is the error of a poll to a host that is not allowed.
type hostError struct{ host string }

// Error implements error.
func (e *hostError) Error() string {
	return fmt.Sprintf("components may not poll host %s; an administrator can allow it with --poll-hosts", e.host)
}
