package addresses

import "net/netip"

// refusedByDefault are the prefixes that a policy refuses if no prefix of its lists decides.
var refusedByDefault = []struct {
	prefix netip.Prefix
	rule   Rule
}{
	{netip.MustParsePrefix("0.0.0.0/8"), Unspecified},
	{netip.MustParsePrefix("::/128"), Unspecified},
	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("::1/128"), Loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocal},
	{netip.MustParsePrefix("fe80::/10"), LinkLocal},
	{netip.MustParsePrefix("224.0.0.0/4"), Multicast},
	{netip.MustParsePrefix("ff00::/8"), Multicast},
	{netip.MustParsePrefix("255.255.255.255/32"), Broadcast},
	{netip.MustParsePrefix("64:ff9b:1::/48"), LocalNAT64},

	// Longer than link-local prefixes, so that a policy that allows link-local addresses still refuses these.
	{netip.MustParsePrefix("169.254.169.254/32"), Metadata}, // Most clouds.
	{netip.MustParsePrefix("169.254.170.2/32"), Metadata},   // Credentials of tasks, AWS.
	{netip.MustParsePrefix("169.254.170.23/32"), Metadata},  // Credentials of pods, AWS.
	{netip.MustParsePrefix("169.254.42.42/32"), Metadata},   // Scaleway.
	{netip.MustParsePrefix("169.254.0.23/32"), Metadata},    // Tencent.

	// In private or public ranges, which are allowed.
	{netip.MustParsePrefix("fd00:ec2::/32"), Metadata},          // All local services of AWS.
	{netip.MustParsePrefix("fd20:ce::254/128"), Metadata},       // Google.
	{netip.MustParsePrefix("fd00:42::42/128"), Metadata},        // Scaleway.
	{netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"), Metadata},  // Akamai.
	{netip.MustParsePrefix("100.100.100.200/32"), Metadata},     // Alibaba.
	{netip.MustParsePrefix("fd00:100::100:200/128"), Metadata},  // Alibaba.
	{netip.MustParsePrefix("168.63.129.16/32"), Metadata},       // Azure.
	{netip.MustParsePrefix("192.0.0.192/32"), Metadata},         // Oracle.
	{netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), Metadata}, // Oracle.
}

// carriers are the IPv6 prefixes whose addresses carry an IPv4 address: the position of its first byte, and whether its
// bits are inverted.
var carriers = []struct {
	prefix   netip.Prefix
	position int
	inverted bool
}{
	{prefix: netip.MustParsePrefix("64:ff9b::/96"), position: 12},              // NAT64 (RFC 6052).
	{prefix: netip.MustParsePrefix("::/96"), position: 12},                     // IPv4-compatible (RFC 4291).
	{prefix: netip.MustParsePrefix("::ffff:0:0:0/96"), position: 12},           // IPv4-translated (RFC 2765).
	{prefix: netip.MustParsePrefix("2002::/16"), position: 2},                  // 6to4 (RFC 3056).
	{prefix: netip.MustParsePrefix("2001::/32"), position: 12, inverted: true}, // Teredo (RFC 4380).
}

// carriedAddress returns the IPv4 address that an IPv6 address carries.
func carriedAddress(address netip.Addr) (carried netip.Addr, found bool) {
	if !address.Is6() || address.IsUnspecified() || address.IsLoopback() {
		return netip.Addr{}, false
	}
	for _, carrier := range carriers {
		if !carrier.prefix.Contains(address) {
			continue
		}
		all := address.As16()
		part := [4]byte(all[carrier.position:])
		if carrier.inverted {
			for i := range part {
				part[i] = ^part[i]
			}
		}
		return netip.AddrFrom4(part), true
	}
	return netip.Addr{}, false
}
