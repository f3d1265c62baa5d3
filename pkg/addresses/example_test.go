package addresses_test

import (
	"fmt"
	"net/netip"

	"github.com/fairlead-io/fairlead/pkg/addresses"
)

func ExampleParsePrefix() {
	internal, err := addresses.ParsePrefix("10.0.0.0/8")
	if err != nil {
		panic(err)
	}
	policy := addresses.Policy{Deny: []netip.Prefix{internal}}
	fmt.Println(policy.Check(netip.MustParseAddr("10.1.2.3")))
	fmt.Println(policy.Check(netip.MustParseAddr("192.0.2.1")))
	// Output:
	// the address is refused (denied): use another host, or ask the administrator to allow the address
	// <nil>
}
