package main

import (
	"net/netip"
	"testing"
)

func TestThePolicyOfAddressesComesFromTheFlags(t *testing.T) {
	for _, c := range []struct {
		args    []string
		address string
		allowed bool
	}{
		{nil, "127.0.0.1", false},
		{nil, "10.0.0.1", true},
		{[]string{"--allow-address=::1", "--allow-address=127.0.0.2"}, "127.0.0.2", true},
		{[]string{"--allow-address=::1", "--allow-address=127.0.0.2"}, "::1", true},
		{[]string{"--allow-address=::1", "--allow-address=127.0.0.2"}, "127.0.0.1", false},
		{[]string{"--deny-address=10.0.0.0/8"}, "10.0.0.1", false},
		{[]string{"--deny-address=10.0.0.0/8", "--allow-address=10.0.0.1"}, "10.0.0.1", true},
	} {
		o, err := parseOptions(c.args)
		if err != nil {
			t.Fatal(err)
		}
		err = o.fetching().Addresses.Check(netip.MustParseAddr(c.address))
		if (err == nil) != c.allowed {
			t.Errorf("%v: %s: got %v", c.args, c.address, err)
		}
	}
}
