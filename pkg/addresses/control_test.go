package addresses

import (
	"errors"
	"testing"
)

func TestWhatIsNotAnAddressOfTCPOrUDPIsRefused(t *testing.T) {
	for _, c := range []struct{ network, address string }{
		{"unix", "10.0.0.1:80"},
		{"ip4", "10.0.0.1"},
		{"", "10.0.0.1:80"},
		{"tcp4", "10.0.0.1"},
		{"tcp4", ":80"},
		{"tcp4", ""},
		{"tcp4", "a.example.com:80"},
		{"tcp6", "[fe80::1%a]b]:80"},
	} {
		if _, ok := errors.AsType[*Error](Policy{}.control(c.network, c.address, nil)); !ok {
			t.Errorf("%s of network %q is not refused", c.address, c.network)
		}
	}
	for _, network := range []string{"tcp4", "udp4"} {
		if err := (Policy{}).control(network, "10.0.0.1:80", nil); err != nil {
			t.Errorf("network %q: %v", network, err)
		}
	}
}
