package addresses

import (
	"errors"
	"fmt"
	"net/netip"
)

// Policy decides to which addresses a program connects. Of all prefixes that contain an address, the most specific one
// decides. If a prefix is in several lists, Deny has precedence over Allow, and Allow over the refusals by default. An
// address in no prefix is allowed.
//
// An IPv6 address that carries an IPv4 address, such as an address for NAT64, must be allowed as both. An IPv4 address
// that is mapped to IPv6 is the IPv4 address. The zone of an address does not matter.
//
// The zero value has the refusals by default. Invalid prefixes have no effect, so call Validate after a user wrote the
// lists. The lists must not be changed during use.
type Policy struct {
	// Allow are the allowed addresses. To allow an address that is refused by default, name its prefix, or a longer one.
	Allow []netip.Prefix
	// Deny are the refused addresses.
	Deny []netip.Prefix
}

// Rule is the rule by which an address is refused.
type Rule string

// The rules. All except Denied and Unreadable are refusals by default.
const (
	// Denied means that the address is in Policy.Deny.
	Denied Rule = "denied"
	// Unspecified means 0.0.0.0/8 and ::, at which Linux connects to the own host.
	Unspecified Rule = "unspecified"
	// Loopback means the own host.
	Loopback Rule = "loopback"
	// LinkLocal means the link of the own host.
	LinkLocal Rule = "link-local"
	// Metadata means a service of a cloud that returns credentials or settings of the own host.
	Metadata Rule = "metadata"
	// Multicast means a group of hosts.
	Multicast Rule = "multicast"
	// Broadcast means all hosts of the link.
	Broadcast Rule = "broadcast"
	// LocalNAT64 means 64:ff9b:1::/48 (RFC 8215), in which the place of the IPv4 address is unknown.
	LocalNAT64 Rule = "local NAT64"
	// Unreadable means an address that other programs can read in another way, such as 0177.0.0.1, or that is none.
	Unreadable Rule = "unreadable"
)

// Error is the error of a refused address.
type Error struct {
	// Host is the host as the user wrote it. It is empty if the error is about an address alone.
	Host string
	Rule Rule
}

// Error implements error.
func (e *Error) Error() string {
	subject, remedy := "the address", "use another host, or ask the administrator to allow the address"
	if e.Host != "" {
		subject = "the address of host " + e.Host
	}
	if e.Rule == Unreadable {
		remedy = "use a DNS name in ASCII, or an address such as 10.1.2.3 or fd00::1"
	}
	return fmt.Sprintf("%s is refused (%s): %s", subject, e.Rule, remedy)
}

// Check returns an *Error if the policy refuses an address, and nil otherwise.
func (p Policy) Check(address netip.Addr) error {
	if !address.IsValid() {
		return &Error{Rule: Unreadable}
	}
	address = address.Unmap().WithZone("")
	if rule := p.refusal(address); rule != "" {
		return &Error{Rule: rule}
	}
	if carried, ok := carriedAddress(address); ok {
		if rule := p.refusal(carried); rule != "" {
			return &Error{Rule: rule}
		}
	}
	return nil
}

// refusal returns the rule that refuses an address without zone, and an empty rule if it is allowed.
func (p Policy) refusal(address netip.Addr) Rule {
	longest, decision := -1, Rule("")
	consider := func(prefix netip.Prefix, rule Rule) {
		if prefix = unmapped(prefix); prefix.Bits() > longest && prefix.Contains(address) {
			longest, decision = prefix.Bits(), rule
		}
	}
	for _, prefix := range p.Deny {
		consider(prefix, Denied)
	}
	for _, prefix := range p.Allow {
		consider(prefix, "")
	}
	for _, refused := range refusedByDefault {
		consider(refused.prefix, refused.rule)
	}
	return decision
}

// Validate returns an error for each invalid prefix, and for each prefix that is in both lists.
func (p Policy) Validate() error {
	var errs []error
	allowed := map[netip.Prefix]bool{}
	for _, prefix := range p.Allow {
		if !prefix.IsValid() {
			errs = append(errs, errors.New("an allowed prefix is invalid"))
			continue
		}
		allowed[unmapped(prefix)] = true
	}
	for _, prefix := range p.Deny {
		switch plain := unmapped(prefix); {
		case !prefix.IsValid():
			errs = append(errs, errors.New("a denied prefix is invalid"))
		case allowed[plain]:
			errs = append(errs, fmt.Errorf("%s is both allowed and denied: remove one of the two", plain))
		}
	}
	return errors.Join(errs...)
}

// unmapped returns a prefix without the bits after it, as an IPv4 prefix if all of its addresses are IPv4 addresses
// that are mapped to IPv6.
func unmapped(prefix netip.Prefix) netip.Prefix {
	const mappedBits = 96
	if address := prefix.Addr(); address.Is4In6() && prefix.Bits() >= mappedBits {
		prefix = netip.PrefixFrom(address.Unmap(), prefix.Bits()-mappedBits)
	}
	return prefix.Masked()
}
