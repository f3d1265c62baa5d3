package addresses_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/addresses"
)

// ruleOf returns the rule by which a policy refuses an address, empty if the policy allows it.
func ruleOf(t *testing.T, policy addresses.Policy, address netip.Addr) addresses.Rule {
	t.Helper()
	err := policy.Check(address)
	refused, ok := errors.AsType[*addresses.Error](err)
	if err != nil && !ok {
		t.Fatalf("want an *Error, got %T", err)
	}
	if err == nil {
		return ""
	}
	return refused.Rule
}

// prefixes parses prefixes that are separated by spaces.
func prefixes(text string) []netip.Prefix {
	var parsed []netip.Prefix
	for field := range strings.FieldsSeq(text) {
		parsed = append(parsed, netip.MustParsePrefix(field))
	}
	return parsed
}

func TestTheZeroPolicyRefusesAddressesThatLeadToTheHostItsLinkAndItsCloud(t *testing.T) {
	for address, want := range map[string]addresses.Rule{
		"0.0.0.0": addresses.Unspecified, "0.1.2.3": addresses.Unspecified, "::": addresses.Unspecified,
		"127.0.0.1": addresses.Loopback, "127.255.255.254": addresses.Loopback, "::1": addresses.Loopback,
		"169.254.1.1": addresses.LinkLocal, "fe80::1": addresses.LinkLocal, "febf::1": addresses.LinkLocal,
		"169.254.169.254": addresses.Metadata, "169.254.170.2": addresses.Metadata, "fd00:ec2::254": addresses.Metadata,
		"fd20:ce::254": addresses.Metadata, "100.100.100.200": addresses.Metadata, "168.63.129.16": addresses.Metadata,
		"fd00:c1::a9fe:a9fe": addresses.Metadata, "fd00:a9fe:a9fe::1": addresses.Metadata,
		"fd00:100::100:200": addresses.Metadata,
		"224.0.0.1":         addresses.Multicast, "ff02::1": addresses.Multicast, "255.255.255.255": addresses.Broadcast,
		"64:ff9b:1::a01:203": addresses.LocalNAT64,

		// A prefix of package netip contains neither mapped addresses nor addresses with a zone.
		"::ffff:127.0.0.1": addresses.Loopback, "::ffff:169.254.169.254": addresses.Metadata,
		"::ffff:0.0.0.0": addresses.Unspecified,
		"fe80::1%eth0":   addresses.LinkLocal, "::1%lo": addresses.Loopback, "fd00:ec2::254%eth0": addresses.Metadata,

		// IPv6 addresses that carry an IPv4 address.
		"64:ff9b::127.0.0.1": addresses.Loopback, "64:ff9b::a9fe:a9fe": addresses.Metadata,
		"::127.0.0.1": addresses.Loopback, "::ffff:0:127.0.0.1": addresses.Loopback,
		"2002:7f00:1::": addresses.Loopback, "2002:a9fe:a9fe::1": addresses.Metadata,
		"2001:0:a00:1::80ff:fffe": addresses.Loopback, // 127.0.0.1, inverted.

		// Public and private addresses.
		"192.0.2.1": "", "10.0.0.1": "", "172.16.0.1": "", "192.168.0.1": "", "100.64.0.1": "", "128.0.0.1": "",
		"2001:db8::1": "", "fd00::1": "", "fd00:ec1::254": "", "fd00:c1::1": "", "fec0::1": "", "::2:0:0:1": "",
		"64:ff9b::10.0.0.1": "", "::ffff:10.0.0.1": "", "2002:a00:1::": "", "::10.0.0.1": "",
	} {
		if got := ruleOf(t, addresses.Policy{}, netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
	if got := ruleOf(t, addresses.Policy{}, netip.Addr{}); got != addresses.Unreadable {
		t.Errorf("no address: got %q", got)
	}
}

func TestTheMostSpecificPrefixDecides(t *testing.T) {
	for name, c := range map[string]struct {
		allow, deny, address string
		want                 addresses.Rule
	}{
		"an allowed default":                  {allow: "127.0.0.0/8", address: "127.0.0.1"},
		"an allowed address within a default": {allow: "127.0.0.2/32", address: "127.0.0.2"},
		"its neighbour":                       {allow: "127.0.0.2/32", address: "127.0.0.1", want: addresses.Loopback},
		"the mapped form of an allowed one":   {allow: "127.0.0.2/32", address: "::ffff:127.0.0.2"},
		"all addresses, without the defaults": {allow: "0.0.0.0/0", address: "127.0.0.1", want: addresses.Loopback},
		"link-local, without metadata": {
			allow: "169.254.0.0/16", address: "169.254.169.254", want: addresses.Metadata,
		},
		"a private range, without metadata": {
			allow: "fd00::/8", deny: "::/0", address: "fd00:c1::a9fe:a9fe", want: addresses.Metadata,
		},
		"allowed metadata":                     {allow: "169.254.169.254/32", address: "169.254.169.254"},
		"a denied range":                       {deny: "10.0.0.0/8", address: "10.0.0.1", want: addresses.Denied},
		"the mapped form of a denied one":      {deny: "10.0.0.0/8", address: "::ffff:10.0.0.1", want: addresses.Denied},
		"a denied address in NAT64":            {deny: "10.0.0.0/8", address: "64:ff9b::10.0.0.1", want: addresses.Denied},
		"a denied address with a zone":         {deny: "fd00::/8", address: "fd00::1%eth0", want: addresses.Denied},
		"an allowed one within a denied range": {allow: "10.0.0.1/32", deny: "10.0.0.0/8", address: "10.0.0.1"},
		"a denied one within an allowed range": {
			allow: "10.0.0.0/8", deny: "10.0.0.1/32", address: "10.0.0.1", want: addresses.Denied,
		},
		"all others are denied": {
			allow: "10.0.0.1/32", deny: "0.0.0.0/0", address: "192.0.2.1", want: addresses.Denied,
		},
		"an allowed default within a denied range": {allow: "127.0.0.0/8", deny: "0.0.0.0/0", address: "127.0.0.1"},
		"denied and allowed alike": {
			allow: "10.0.0.0/8", deny: "10.0.0.0/8", address: "10.0.0.1", want: addresses.Denied,
		},
		"an allowed carrier of a refused one": {
			allow: "64:ff9b::/96", address: "64:ff9b::127.0.0.1", want: addresses.Loopback,
		},
		"an allowed loopback address of IPv6":     {allow: "::1/128", address: "::1"},
		"an allowed prefix in the form of IPv6":   {allow: "::ffff:127.0.0.0/104", address: "127.0.0.1"},
		"a prefix that begins at another address": {deny: "10.1.2.3/8", address: "10.0.0.1", want: addresses.Denied},
	} {
		policy := addresses.Policy{Allow: prefixes(c.allow), Deny: prefixes(c.deny)}
		if got := ruleOf(t, policy, netip.MustParseAddr(c.address)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	invalid := addresses.Policy{Allow: []netip.Prefix{{}}, Deny: []netip.Prefix{{}}}
	if got := ruleOf(t, invalid, netip.MustParseAddr("127.0.0.1")); got != addresses.Loopback {
		t.Errorf("invalid prefixes: got %q", got)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for want, refused := range map[string]addresses.Error{
		"the address is refused (loopback): use another host, or ask the administrator to allow the address": {
			Rule: addresses.Loopback,
		},
		"the address of host a.example.com is refused (denied): use another host, or ask the administrator to allow the " +
			"address": {Host: "a.example.com", Rule: addresses.Denied},
		"the address of host 0177.0.0.1 is refused (unreadable): use a DNS name in ASCII, or an address such as 10.1.2.3 " +
			"or fd00::1": {Host: "0177.0.0.1", Rule: addresses.Unreadable},
	} {
		if got := refused.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAPolicyThatContradictsItselfIsInvalid(t *testing.T) {
	for name, c := range map[string]struct {
		policy addresses.Policy
		want   string
	}{
		"the zero value": {},
		"prefixes of different lengths": {
			policy: addresses.Policy{Allow: prefixes("10.0.0.0/8"), Deny: prefixes("10.0.0.0/16")},
		},
		"the same prefix": {
			policy: addresses.Policy{Allow: prefixes("10.0.0.0/8 fd00::/8"), Deny: prefixes("fd00::1/8 ::ffff:10.0.0.0/104")},
			want: "fd00::/8 is both allowed and denied: remove one of the two\n" +
				"10.0.0.0/8 is both allowed and denied: remove one of the two",
		},
		"invalid prefixes": {
			policy: addresses.Policy{Allow: []netip.Prefix{{}}, Deny: []netip.Prefix{{}}},
			want:   "an allowed prefix is invalid\na denied prefix is invalid",
		},
	} {
		got := ""
		if err := c.policy.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestPrefixesAreParsed(t *testing.T) {
	const usage = "want an address such as 10.1.2.3 or fd00::1, or a range such as 10.0.0.0/8"
	for text, want := range map[string]string{
		"10.1.2.3": "10.1.2.3/32", "fd00::1": "fd00::1/128", "10.0.0.0/8": "10.0.0.0/8", "fd00::/8": "fd00::/8",
		"0.0.0.0/0": "0.0.0.0/0", "::/0": "::/0", "FD00::1/128": "fd00::1/128",

		"": usage, "example.com": usage, "10.0.0.0/33": usage, "10.0.0.0/": usage, "10.0.0": usage, "010.0.0.1": usage,
		"10.0.0.0/8,fd00::/8": usage, " 10.0.0.1": usage, "[::1]": usage, "10.0.0.1:80": usage, "0x7f.1": usage,
		"2130706433": usage, "fe80::%eth0/10": usage,

		"10.1.2.3/8":           "the range begins at another address: write 10.0.0.0/8, or the address alone",
		"fe80::1%eth0":         "write the address without its zone: fe80::1",
		"::ffff:10.0.0.1":      "write it as IPv4: 10.0.0.1",
		"::ffff:10.0.0.0/104":  "write it as IPv4: 10.0.0.0/8",
		"::ffff:0:0/96":        "write it as IPv4: 0.0.0.0/0",
		"::ffff:127.0.0.1/128": "write it as IPv4: 127.0.0.1",
	} {
		prefix, err := addresses.ParsePrefix(text)
		got := prefix.String()
		if err != nil {
			_, got, _ = strings.Cut(err.Error(), ": ")
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzParsePrefix(f *testing.F) {
	for _, text := range []string{
		"10.0.0.0/8", "fd00::1", "::ffff:10.0.0.1/104", "fe80::1%eth0", "0177.0.0.1", "::/0", "1/",
	} {
		f.Add(text)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		prefix, err := addresses.ParsePrefix(text)
		if err != nil {
			if prefix.IsValid() || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: got %s, %q", text, prefix, err)
			}
			return
		}
		if again, err := addresses.ParsePrefix(prefix.String()); err != nil || again != prefix || prefix != prefix.Masked() {
			t.Errorf("%q: got %s, and from this %s, %v", text, prefix, again, err)
		}
		denied := addresses.Policy{Deny: []netip.Prefix{prefix}}
		if ruleOf(t, denied, prefix.Addr()) == "" {
			t.Errorf("%q: the policy allows a denied address", text)
		}
		if err := (addresses.Policy{Allow: denied.Deny, Deny: denied.Deny}).Validate(); err == nil {
			t.Errorf("%q: the contradiction was not found", text)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add(netip.MustParseAddr("64:ff9b::a9fe:a9fe").AsSlice())
	fuzzing.Run(f, func(t *testing.T, bytes []byte) {
		address, ok := netip.AddrFromSlice(bytes)
		if !ok {
			return
		}
		rule := ruleOf(t, addresses.Policy{}, address)
		if only := []netip.Prefix{netip.PrefixFrom(address, address.BitLen())}; address.Is4() {
			if got := ruleOf(t, addresses.Policy{Allow: only}, address); got != "" {
				t.Errorf("%s: refused (%s), although it is allowed", address, got)
			}
			for _, form := range []string{"::ffff:", "64:ff9b::", "::ffff:0:"} {
				if got := ruleOf(t, addresses.Policy{}, netip.MustParseAddr(form+address.String())); got != rule {
					t.Errorf("%s%s: got %q, want %q", form, address, got, rule)
				}
			}
			return
		}
		if got := ruleOf(t, addresses.Policy{}, address.WithZone("eth0")); got != rule {
			t.Errorf("%s with a zone: got %q, want %q", address, got, rule)
		}
	})
}
