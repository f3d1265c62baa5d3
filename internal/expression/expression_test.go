package expression_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/expression"
)

var self = expression.Scope{Variables: []string{"self"}}

func variables() map[string]any {
	return map[string]any{"self": map[string]any{
		"metadata": map[string]any{"name": "db", "generation": int64(2)},
		"spec":     map[string]any{"replicas": int64(3), "nothing": nil},
		"status": map[string]any{
			"phase": "Pending", "ready": false, "hosts": []any{map[string]any{"ip": "10.0.0.1"}},
			"capacity": "2Gi", "version": "1.10.2",
		},
	}}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]any{
		`self.status.hosts[0].ip`:                                       "10.0.0.1",
		`self.spec.replicas`:                                            int64(3),
		`self.spec.replicas + 0.5 > 3`:                                  "error",
		`double(self.spec.replicas) / 2.0`:                              1.5,
		`self.status.hosts`:                                             []any{map[string]any{"ip": "10.0.0.1"}},
		`{'a': [1, 'b', null]}`:                                         map[string]any{"a": []any{int64(1), "b", nil}},
		`self.spec.?replicas.orValue(1)`:                                int64(3),
		`self.status.?none.orValue('x')`:                                "x",
		`self.status.?none`:                                             nil,
		`quantity(self.status.capacity).isGreaterThan(quantity('1Gi'))`: true,
		`semver(self.status.version).isGreaterThan(semver('1.9.0'))`:    true,
		`self.status.hosts.all(h, ip(h.ip).family() == 4)`:              true,
		`self.status.version.split('.')[1]`:                             "10",
		`' A '.trim().lowerAscii()`:                                     "a",
		`self.status.version.matches('^1[.]')`:                          true,
		`self.spec.nothing`:                                             nil,
		`duration('90s')`:                                               "1m30s",
		`timestamp('2026-01-01T00:00:00Z')`:                             "2026-01-01T00:00:00Z",
		`2u`:                                                            int64(2),
		`self.status.none`:                                              "missing",
		`self.other.none`:                                               "missing",
		`self.status.hosts[1].ip`:                                       "missing",
		`self.status['none']`:                                           "missing",
		`self.status.none || true`:                                      true,
		`false && self.status.none`:                                     false,
		`has(self.status.none)`:                                         false,
		`self.status.phase + 1`:                                         "error",
		`1.0 / 0.0`:                                                     "error",
		`18446744073709551615u`:                                         "error",
		`{1: 2}`:                                                        "error",
		`1 / 0`:                                                         "error",
	} {
		p, err := expression.Compile(text, self)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := p.Value(t.Context(), variables())
		switch {
		case expression.IsMissing(err):
			got = "missing"
		case err != nil:
			got = "error"
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v (error %v), want %#v", text, got, err, want)
		}
	}
}

func TestBool(t *testing.T) {
	p, err := expression.Compile("self.status.phase", self)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Bool(t.Context(), variables())
	if want := `expression "self.status.phase": the value is a text; true or false is expected`; err == nil ||
		err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestInvalidExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "the expression is empty",
		"self.":                           "line 1, column 6: Syntax error",
		"self.status ==\n other":          "line 2, column 2: undeclared reference to 'other'",
		"'a'.replace('a', 'bb')":          "undeclared reference to 'replace'",
		"self.a.matches(self.b)":          "the pattern of matches must be a literal",
		"self.a.matches('(')":             "line 1, column 16: invalid matches argument",
		"self.a.matches('a{1000}{1000}')": "column 16: invalid matches argument",
		"served('Pod')":                   "undeclared reference to 'served'",
		strings.Repeat("(", 1000) + "1":   "",
		strings.Repeat("1+", 2000) + "1":  "the limit is 2048",
	} {
		if _, err := expression.Compile(text, self); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %q", text, err, want)
		}
	}
}

func TestTooLargeValuesAreErrors(t *testing.T) {
	wide := make([]any, 3000)
	for i := range wide {
		wide[i] = strings.Repeat("x", 100)
	}
	for name, text := range map[string]string{
		"a list that doubles":     "[1]" + strings.Repeat(".map(a, [a, a])", 60) + " == dyn([2])",
		"a concatenated list":     "[[1]]" + strings.Repeat(".map(a, a + a)", 60) + " == dyn([[2]])",
		"a text that doubles":     "['0123456789']" + strings.Repeat(".map(a, a + a)", 60) + " == dyn([''])",
		"a map that doubles":      "[{'a': 1}]" + strings.Repeat(".map(a, {'b': a, 'c': a})", 60) + " == dyn([])",
		"nested loops":            "self.wide.all(a, self.wide.all(b, self.wide.all(c, self.wide.all(d, a == b))))",
		"a product of the object": "self.wide.map(a, self.wide.map(b, self.wide)) == []",
	} {
		p, err := expression.Compile(text, self)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if value, err := p.Value(t.Context(), map[string]any{"self": map[string]any{"wide": wide}}); err == nil ||
			expression.IsMissing(err) {
			t.Errorf("%s: got %.40v, %v; want an error", name, value, err)
		}
	}
}

func TestVariables(t *testing.T) {
	p, err := expression.Compile("b + a.map(c, c)[0] + b", expression.Scope{Variables: []string{"a", "b", "c", "d"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Variables(), []string{"a", "b", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFieldsByName(t *testing.T) {
	for text, want := range map[string]string{
		"exports.b && exports.a.c == 1 && exports.b":     "[a b]",
		"has(exports.a.c) || exports.a.?d.orValue(true)": "[a]",
		"parameters.x":   "[]",
		"has(exports.a)": "can only be read by name", "exports.?a.orValue(true)": "can only be read by name",
		"exports['a']": "can only be read by name", "size(exports) == 0": "can only be read by name",
		"exports.exists(name, name == 'a')": "can only be read by name",
	} {
		p, err := expression.Compile(text, expression.IncludeScope())
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: got %v, want %s", text, err, want)
		case err == nil && fmt.Sprint(p.Fields()) != want:
			t.Errorf("%s: got %v, want %s", text, p.Fields(), want)
		}
	}
	// A variable of the same name in another scope may be used in any way.
	if _, err := expression.Compile("has(exports.a)",
		expression.Scope{Variables: []string{"component", "exports", "parameters"}}); err != nil {
		t.Error(err)
	}
}

func TestSeen(t *testing.T) {
	for text, want := range map[string]string{
		`self.status.phase == 'Running'`:                  `self.status.phase is "Pending"`,
		`self.status.none == 1 && self.spec.replicas > 1`: `self.status.none is not set, self.spec.replicas is 3`,
		`self.status.hosts.size() > 2`:                    ``,
		`self.status.ready && self.status.ready`:          `self.status.ready is false`,
		`self.spec.nothing == 1`:                          `self.spec.nothing is null`,
		`self.status.hosts[0].ip == 'x'`:                  `self.status.hosts[0].ip is "10.0.0.1"`,
		`self.status.hosts[7].ip == 'x'`:                  `self.status.hosts[7].ip is not set`,
		`self['spec']["repli-cas"] == 1`:                  `self.spec["repli-cas"] is not set`,
		`self.spec.?replicas.orValue(1) > 3`:              `self.spec.replicas is 3`,
		`self.status[?'phase'].orValue('') == 'Running'`:  `self.status.phase is "Pending"`,
		`self.status.hosts[self.spec.replicas].ip == 'x'`: `self.spec.replicas is 3`,
		// The variables of a loop are no values of the object.
		`self.status.hosts.exists(h, h.ip == 'x') && self.status.ready`: `self.status.ready is false`,
	} {
		p, err := expression.Compile(text, self)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Seen(variables()); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestServed(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{{"served", nil, true}, {"unknown", errors.New("discovery failed"), false}} {
		scope := expression.Scope{Served: func(kind string) (bool, error) { return kind == "Pod", c.err }}
		p, err := expression.Compile("served('Pod') && !served('Rod')", scope)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Bool(context.Background(), nil)
		if got != c.want || (err != nil) != (c.err != nil) {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		`self.a == 1`, `[1].map(a, [a, a])`, `self.a.split('')`,
		`quantity('1Gi').add(quantity('1'))`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := expression.Compile(text, self)
		if err != nil {
			return
		}
		_, _ = p.Value(t.Context(), variables())
		_ = p.Seen(variables())
	})
}

// No limit interrupts a call, so there must be no function whose time grows faster than its arguments.
func TestNoFunctionForSets(t *testing.T) {
	if _, err := expression.Compile("sets.contains(self.a, self.b)", self); err == nil {
		t.Error("the function is available")
	}
}

// The time to parse a quantity grows with the square of its length: 10 seconds for 1.4 million digits.
func TestQuantitiesOfLongTextsAreNotParsed(t *testing.T) {
	long := map[string]any{"self": map[string]any{"a": []any{strings.Repeat("9", 70000)}}}
	for text, want := range map[string]string{
		"isQuantity(self.a[0])":         "has a text of more than 65536 bytes",
		"quantity(self.a[0]) == self.a": "has a text of more than 65536 bytes",
		"self.a[0].size() > 1":          "",
	} {
		p, err := expression.Compile(text, self)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Value(t.Context(), long); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
