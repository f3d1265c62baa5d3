package main

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"

	"github.com/fairlead-io/fairlead/pkg/addresses"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// addressOptions limit the addresses to which the operator connects for components.
type addressOptions struct {
	// allow and deny are the texts of the flags, and policy is parsed from them.
	allow, deny []string
	policy      addresses.Policy
}

// bind binds the flags of addresses.
func (o *addressOptions) bind(flags *flag.FlagSet) {
	flags.Func("allow-address",
		"address or range, such as 10.1.2.3 or 10.0.0.0/8, from which components may fetch archives although it is refused\n"+
			"by default or by a wider --deny-address; can be repeated; by default loopback, link-local, metadata, multicast,\n"+
			"broadcast, unspecified and local NAT64 addresses are refused; the most specific range decides",
		func(text string) error {
			o.allow = append(o.allow, text)
			return nil
		})
	flags.Func("deny-address",
		"address or range from which components may not fetch archives; can be repeated; the most specific range decides",
		func(text string) error {
			o.deny = append(o.deny, text)
			return nil
		})
}

// parse sets the policy. The error describes all invalid addresses.
func (o *addressOptions) parse() error {
	var allowErr, denyErr error
	o.policy.Allow, allowErr = parsePrefixes("allow-address", o.allow)
	o.policy.Deny, denyErr = parsePrefixes("deny-address", o.deny)
	if err := errors.Join(allowErr, denyErr); err != nil {
		return err
	}
	return o.policy.Validate()
}

// parsePrefixes parses the values of a flag.
func parsePrefixes(flagName string, texts []string) ([]netip.Prefix, error) {
	var (
		prefixes []netip.Prefix
		errs     []error
	)
	for _, text := range texts {
		prefix, err := addresses.ParsePrefix(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flagName, err))
			continue
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, errors.Join(errs...)
}

// fetching returns the options for fetches, with the policy of addresses.
func (o options) fetching() fetch.Options {
	fetching := o.fetch
	fetching.Addresses = &o.addresses.policy
	return fetching
}
