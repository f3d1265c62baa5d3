package external

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/plural"
)

// maxShown is the maximum size of a value in the text of a difference, in bytes.
const maxShown = 80

// secretWords are the parts of names of fields whose values are not shown.
var secretWords = []string{"password", "passwd", "passphrase", "token", "secret", "credential", "key"}

// difference is the default Matcher. It returns the first path of the spec whose value the observed state does not
// have, in alphabetical order, with both values; and an empty text if it has all of them. Maps are compared by the keys
// of the spec, lists by length and element, numbers by value. A value that is empty or zero also matches a field that
// is missing, and null matches everything. Values of fields with a name such as password are not shown.
func difference(spec, observed any) string { return differenceAt("spec", spec, observed, false) }

func differenceAt(path string, want, got any, hidden bool) string {
	if want == nil || got == nil && isEmpty(want) || same(want, got) {
		return ""
	}
	switch want := want.(type) {
	case map[string]any:
		if fields, ok := got.(map[string]any); ok || got == nil {
			return differenceOfMaps(path, want, fields, hidden)
		}
	case []any:
		if elements, ok := got.([]any); ok {
			return differenceOfLists(path, want, elements, hidden)
		}
	}
	switch {
	case hidden:
		return path + ": the values differ; they are not shown"
	case got == nil:
		return fmt.Sprintf("%s: want %s, found none", path, shown(want))
	}
	return fmt.Sprintf("%s: want %s, found %s", path, shown(want), shown(got))
}

func differenceOfMaps(path string, want, got map[string]any, hidden bool) string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if differs := differenceAt(path+"."+name, want[name], got[name], hidden || isSecret(name)); differs != "" {
			return differs
		}
	}
	return ""
}

func differenceOfLists(path string, want, got []any, hidden bool) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%s: want %s, found %d", path, plural.Of(len(want), "element"), len(got))
	}
	for i := range want {
		if differs := differenceAt(fmt.Sprintf("%s[%d]", path, i), want[i], got[i], hidden); differs != "" {
			return differs
		}
	}
	return ""
}

// same reports whether two scalar values are equal.
func same(a, b any) bool {
	switch a := a.(type) {
	case string, bool:
		return a == b
	case json.Number:
		number, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(number))
	}
	return false
}

// isEmpty reports whether a value is that of a field that is not set: null, "", 0, false, an empty list, or a map with
// such values alone.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case json.Number:
		return sameNumber(string(value), "0")
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, field := range value {
			if !isEmpty(field) {
				return false
			}
		}
		return true
	}
	return false
}

// isSecret reports whether a field may hold a secret.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// shown returns the JSON of a scalar value, and the type of a map or list, which may contain secrets.
func shown(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return shortened(strconv.Quote(value), maxShown)
	}
	return shortened(fmt.Sprint(value), maxShown)
}

// changedPaths returns the paths with different values in two specs, in alphabetical order. A list is one value. A
// value that is empty or zero equals a field that is missing.
func changedPaths(path string, before, after any) []string {
	old, isMap := before.(map[string]any)
	fields, both := after.(map[string]any)
	if isMap && (both || after == nil) || both && before == nil {
		names := map[string]bool{}
		for name := range old {
			names[name] = true
		}
		for name := range fields {
			names[name] = true
		}
		var changed []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			changed = append(changed, changedPaths(path+"."+name, old[name], fields[name])...)
		}
		return changed
	}
	if equal(before, after) {
		return nil
	}
	return []string{path}
}

// Changed returns those of the given fields of a spec whose values differ, as paths such as spec.charset, for
// Immutable.ImmutableChanges. A field is named as in the manifest, and a field of a field with dots: size.disk. A value
// that is empty or zero equals a field that is missing. A field that S does not have is always returned, so that a
// wrong name is noticed.
func Changed[S any](applied, desired S, fields ...string) []string {
	before, errBefore := valueOf(applied)
	after, errAfter := valueOf(desired)
	var changed []string
	for _, field := range fields {
		names := strings.Split(field, ".")
		// A spec that cannot be converted may have changed.
		if errBefore != nil || errAfter != nil || !hasField[S](names) ||
			!equal(fieldOf(before, names), fieldOf(after, names)) {
			changed = append(changed, "spec."+field)
		}
	}
	return changed
}

// hasField reports whether the JSON form of S can have a field. The names lead to it.
func hasField[S any](names []string) bool {
	document := "null"
	for _, name := range slices.Backward(names) {
		key, err := json.Marshal(name)
		if err != nil {
			return false
		}
		document = fmt.Sprintf("{%s:%s}", key, document)
	}
	_, unknown, err := decodeSpec[S]([]byte(document))
	return err == nil && len(unknown) == 0
}

// fieldOf returns the value to which names lead, nil if there is none.
func fieldOf(value any, names []string) any {
	for _, name := range names {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}

// equal reports whether two JSON values are equal.
func equal(a, b any) bool {
	if a == nil || b == nil {
		return isEmpty(a) && isEmpty(b)
	}
	switch a := a.(type) {
	case map[string]any:
		_, ok := b.(map[string]any)
		return ok && len(changedPaths("", a, b)) == 0
	case []any:
		elements, ok := b.([]any)
		return ok && slices.EqualFunc(a, elements, equal)
	}
	return same(a, b)
}

// sameNumber reports whether two numbers in JSON form have equal values. It never computes with their exponents, which
// can be huge.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	left, ok := decimalOf(a)
	right, both := decimalOf(b)
	return ok && both && left == right
}

// decimal is a number: its digits, without zeros at both ends, times a power of ten.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf reads a number in JSON form. It returns false if its exponent is out of range.
func decimalOf(number string) (decimal, bool) {
	var d decimal
	number, d.negative = strings.CutPrefix(number, "-")
	mantissa, power := number, ""
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		mantissa, power = number[:at], number[at+1:]
		exponent, err := strconv.ParseInt(power, 10, 32)
		if err != nil {
			return d, false
		}
		d.exponent = int(exponent)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exponent -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	d.exponent += len(digits) - len(d.digits)
	return d, true
}
