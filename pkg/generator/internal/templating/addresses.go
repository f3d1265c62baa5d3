package templating

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/plural"
)

// addressFunctions returns the template functions that calculate with IPv4 and IPv6 addresses. As in sprig, the last
// parameter is the value that a pipeline passes.
func addressFunctions() template.FuncMap {
	return template.FuncMap{
		"isIp":         func(text string) bool { _, err := netip.ParseAddr(text); return err == nil },
		"isCidr":       func(text string) bool { _, err := netip.ParsePrefix(text); return err == nil },
		"ipFamily":     ipFamily,
		"ipAdd":        ipAdd,
		"ipNext":       func(address string) (string, error) { return ipAdd(1, address) },
		"ipPrevious":   func(address string) (string, error) { return ipAdd(-1, address) },
		"ipToInt":      ipToInt,
		"ipFromInt":    ipFromInt,
		"parseCidr":    parseCIDR,
		"cidrContains": cidrContains,
		"cidrHost":     cidrHost,
		"cidrSubnet":   cidrSubnet,
	}
}

// ipFamily returns 4 for an IPv4 address and 6 for an IPv6 address.
func ipFamily(text string) (int, error) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return 0, err
	case address.Is4():
		return 4, nil
	default:
		return 6, nil
	}
}

// ipAdd adds count, which may be negative, to an address.
func ipAdd(count any, text string) (string, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return "", err
	}
	offset, err := wholeNumber(count)
	if err != nil {
		return "", err
	}
	sum, err := addressOf(new(big.Int).Add(numberOf(address), offset), address)
	if err != nil {
		return "", fmt.Errorf("%s %+d: %w", text, offset, err)
	}
	return sum.String(), nil
}

// ipToInt converts an IPv4 address to a number. IPv6 addresses are not supported, because they do not fit into an
// int64.
func ipToInt(text string) (int64, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return 0, err
	}
	if !address.Is4() {
		return 0, fmt.Errorf("%s is not an IPv4 address", text)
	}
	return numberOf(address).Int64(), nil
}

// ipFromInt converts a number to an IPv4 address.
func ipFromInt(number any) (string, error) {
	whole, err := wholeNumber(number)
	if err != nil {
		return "", err
	}
	address, err := addressOf(whole, netip.IPv4Unspecified())
	if err != nil {
		return "", fmt.Errorf("%d: %w", whole, err)
	}
	return address.String(), nil
}

// parseCIDR returns the properties of a CIDR prefix: address, cidr, bits, family, first, last and size.
func parseCIDR(text string) (map[string]any, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, err
	}
	masked := prefix.Masked()
	family := 6
	if prefix.Addr().Is4() {
		family = 4
	}
	last, err := hostOf(masked, big.NewInt(-1))
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"address": prefix.Addr().String(), "cidr": masked.String(), "bits": prefix.Bits(), "family": family,
		"first": masked.Addr().String(), "last": last.String(), "size": sizeOf(masked).String(),
	}, nil
}

// cidrContains reports whether the prefix outer contains inner, which is an address or a prefix.
func cidrContains(inner, outer string) (bool, error) {
	prefix, err := netip.ParsePrefix(outer)
	if err != nil {
		return false, err
	}
	if address, err := netip.ParseAddr(inner); err == nil {
		return prefix.Contains(address), nil
	}
	other, err := netip.ParsePrefix(inner)
	if err != nil {
		return false, fmt.Errorf("%q is neither an address nor a prefix", inner)
	}
	return other.Bits() >= prefix.Bits() && prefix.Contains(other.Addr()), nil
}

// cidrHost returns the address with the given number in a prefix. The first address has the number 0. Negative numbers
// count from the end.
func cidrHost(number any, text string) (string, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return "", err
	}
	whole, err := wholeNumber(number)
	if err != nil {
		return "", err
	}
	address, err := hostOf(prefix.Masked(), whole)
	if err != nil {
		return "", err
	}
	return address.String(), nil
}

// cidrSubnet splits a prefix into subnets whose prefix length is longer by bits, and returns the subnet with the given
// number, counted from 0.
func cidrSubnet(bits int, number any, text string) (string, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return "", err
	}
	whole, err := wholeNumber(number)
	if err != nil {
		return "", err
	}
	length := prefix.Bits() + bits
	if bits < 0 || length > prefix.Addr().BitLen() {
		return "", fmt.Errorf("%s has no prefixes that are %s longer", text, plural.Of(bits, "bit"))
	}
	if whole.Sign() < 0 || whole.BitLen() > bits {
		return "", fmt.Errorf("%s has no prefix %d that is %s longer", text, whole, plural.Of(bits, "bit"))
	}
	offset := new(big.Int).Lsh(whole, uint(prefix.Addr().BitLen()-length))
	address, err := addressOf(offset.Add(offset, numberOf(prefix.Masked().Addr())), prefix.Addr())
	if err != nil {
		return "", err
	}
	return netip.PrefixFrom(address, length).String(), nil
}

// hostOf returns the address with the given number in a masked prefix. Negative numbers count from the end.
func hostOf(prefix netip.Prefix, number *big.Int) (netip.Addr, error) {
	size := sizeOf(prefix)
	offset := new(big.Int).Set(number)
	if number.Sign() < 0 {
		offset.Add(offset, size)
	}
	if offset.Sign() < 0 || offset.Cmp(size) >= 0 {
		return netip.Addr{}, fmt.Errorf("%s has no address number %d: the number of its addresses is %d", prefix, number, size)
	}
	return addressOf(offset.Add(offset, numberOf(prefix.Addr())), prefix.Addr())
}

// sizeOf returns the number of addresses in a prefix.
func sizeOf(prefix netip.Prefix) *big.Int {
	return new(big.Int).Exp(big.NewInt(2), big.NewInt(int64(prefix.Addr().BitLen()-prefix.Bits())), nil)
}

func numberOf(address netip.Addr) *big.Int { return new(big.Int).SetBytes(address.AsSlice()) }

// addressOf converts a number to an address of the same family as the address family.
func addressOf(number *big.Int, family netip.Addr) (netip.Addr, error) {
	if number.Sign() < 0 || number.BitLen() > family.BitLen() {
		return netip.Addr{}, fmt.Errorf("the address is out of range")
	}
	address, ok := netip.AddrFromSlice(number.FillBytes(make([]byte, family.BitLen()/8)))
	if !ok {
		return netip.Addr{}, fmt.Errorf("%d is not an address", number)
	}
	return address.WithZone(family.Zone()), nil
}

// wholeNumber converts a template value to an integer. Large numbers, such as the size of an IPv6 prefix, are strings.
func wholeNumber(value any) (*big.Int, error) {
	switch value := value.(type) {
	case int:
		return big.NewInt(int64(value)), nil
	case int64:
		return big.NewInt(value), nil
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return big.NewInt(int64(value)), nil
		}
	case string:
		if number, ok := new(big.Int).SetString(value, 10); ok {
			return number, nil
		}
	}
	return nil, fmt.Errorf("%v is not a whole number", value)
}
