package notification

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"http://notification-controller.flux-system.svc.cluster.local":  "",
		"http://notification-controller.flux-system.svc.cluster.local/": "",
		"https://events.example.com:8443/flux?cluster=a":                "",
		"http://[fd00::1]:9292/":                                        "",
		"":                                                              "want a URL such as",
		"notification-controller":                                       "want a URL such as",
		"notification-controller:80":                                    "want a URL such as",
		"ftp://events.example.com":                                      "want a URL such as",
		"http://":                                                       "want a URL such as",
		"http://:80":                                                    "want a URL such as",
		"http:events.example.com":                                       "want a URL such as",
		"http://events.example.com:hidden":                              "want a URL such as",
		"http://ev ents.example.com":                                    "want a URL such as",
		"http://events.example.com:0":                                   "want a port from 1 to 65535",
		"http://events.example.com:70000":                               "want a port from 1 to 65535",
		"http://me:hidden@events.example.com":                           "want a URL without user and password",
		"http://events.example.com/#hidden":                             "want a URL without a fragment (#)",
		"http://me:hidden@events.example.com:0/?hidden#hidden": "want a port from 1 to 65535\n" +
			"want a URL without user and password\nwant a URL without a fragment (#)",
	} {
		address, err := ParseAddress(text)
		switch {
		case want == "" && (err != nil || address.String() != text):
			t.Errorf("%s: got %v, %v", text, address, err)
		case want == "":
		case err == nil || !strings.HasPrefix(err.Error(), want):
			t.Errorf("%s: got %v, want %s", text, err, want)
		case strings.Contains(err.Error(), "hidden"):
			t.Errorf("%s: the error contains a secret: %v", text, err)
		}
	}
}

func TestOnlyTheAddressInTheURLIsAllowedInAddition(t *testing.T) {
	for _, c := range []struct {
		host    string
		allowed []string
		refused []string
	}{
		{"events.example.com", []string{"10.1.2.3"}, []string{"127.0.0.1", "169.254.169.254", "::1"}},
		{"localhost", []string{"127.0.0.1", "::1"}, []string{"169.254.169.254"}},
		{"127.0.0.1", []string{"127.0.0.1"}, []string{"127.0.0.2", "169.254.169.254"}},
		{"::ffff:127.0.0.1", []string{"127.0.0.1"}, []string{"127.0.0.2"}},
		{"fe80::1%eth0", []string{"fe80::1"}, []string{"fe80::2"}},
	} {
		policy := policyFor(c.host)
		for _, address := range c.allowed {
			if err := policy.Check(netip.MustParseAddr(address)); err != nil {
				t.Errorf("%s: %s: %v", c.host, address, err)
			}
		}
		for _, address := range c.refused {
			if policy.Check(netip.MustParseAddr(address)) == nil {
				t.Errorf("%s: %s is allowed", c.host, address)
			}
		}
	}
}
