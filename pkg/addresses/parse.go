package addresses

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParsePrefix parses an address, such as 10.1.2.3 or fd00::1, or a range of addresses in CIDR notation, such as
// 10.0.0.0/8. A range must begin with its first address, because other bits are mostly typing errors. Zones and IPv4
// addresses in the form of IPv6 are errors.
func ParsePrefix(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if !strings.Contains(text, "/") {
		var address netip.Addr
		address, err = netip.ParseAddr(text)
		prefix = netip.PrefixFrom(address.WithZone(""), address.BitLen())
		if address.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q: write the address without its zone: %s", text, prefix.Addr())
		}
	}
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q: want an address such as 10.1.2.3 or fd00::1, or a range such as 10.0.0.0/8",
			text)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q: write it as IPv4: %s", text, plainIPv4(prefix))
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("%q: the range begins at another address: write %s, or the address alone", text,
			prefix.Masked())
	}
	return prefix, nil
}

// plainIPv4 returns what a user should write for a prefix of IPv4 addresses that are mapped to IPv6.
func plainIPv4(prefix netip.Prefix) string {
	plain := unmapped(prefix)
	if !plain.Addr().Is4() {
		return "0.0.0.0/0" // The prefix contains all of them.
	}
	if plain.IsSingleIP() {
		return plain.Addr().String()
	}
	return plain.String()
}
