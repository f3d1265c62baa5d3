package main

import (
	"slices"
	"strings"
	"testing"
)

func rendered(t *testing.T, stream string) output {
	t.Helper()
	objects, err := parse([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	return output{objects: objects}
}

const (
	header = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	other  = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n"
)

func TestJudge(t *testing.T) {
	cases := map[string]struct {
		before, ours, after string
		masked, differences []string
	}{
		"equal objects in another order": {before: header + other, ours: other + "---\n" + header, after: header + other},
		"an equal number in another notation": {
			before: header + "data: {m: 1e+06}", ours: header + "data: {m: 1000000}", after: header + "data: {m: 1e+06}",
		},
		"a list and its items": {
			before: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}", ours: header,
			after: header,
		},
		"values that the API server treats as equal": {
			before: "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: null, labels: null, annotations: {x: null}}",
			ours:   "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {x: ''}}",
			after:  "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {x: ''}}",
		},
		"another value": {
			before: header + "data: {l: [x, {k: 1}]}", ours: header + "data: {l: [x, {k: 2}]}",
			after:       header + "data: {l: [x, {k: 1}]}",
			differences: []string{"Secret.v1 a: data.l[1].k: want 1, got 2"},
		},
		"another type": {
			before: header + "data: {k: '1'}", ours: header + "data: {k: 1}", after: header + "data: {k: '1'}",
			differences: []string{`Secret.v1 a: data.k: want "1", got 1`},
		},
		"a list that is longer": {
			before: header + "l: [1]", ours: header + "l: [1, 2]", after: header + "l: [1]",
			differences: []string{"Secret.v1 a: l: want []interface {}{1}, got []interface {}{1, 2}"},
		},
		"an additional field and a missing field": {
			before: header + "data: {k: null}", ours: header + "data: {l: 1}", after: header + "data: {k: null}",
			differences: []string{"Secret.v1 a: data.k: want <nil>, got nothing", "Secret.v1 a: data.l: want nothing, got 1"},
		},
		"a missing object": {
			before: header + other, ours: header, after: header + other,
			differences: []string{"Secret.v1 b: Fairlead does not render this object"},
		},
		"an additional object": {
			before: header, ours: header + other, after: header,
			differences: []string{"Secret.v1 b: only Fairlead renders this object"},
		},
		"an object that the rival renders twice": {
			before: header + "---\n" + header, ours: header, after: header + "---\n" + header,
			differences: []string{"Secret.v1 a (copy 2): Fairlead does not render this object"},
		},
		"a random value": {
			before: header + "data: {k: x, m: 1}", ours: header + "data: {k: y, m: 1}", after: header + "data: {k: z, m: 1}",
			masked: []string{"Secret.v1 a data.k"},
		},
		"a value from the clock, and another different value": {
			before: header + "data: {k: x, m: 1}", ours: header + "data: {k: x, m: 2}", after: header + "data: {k: y, m: 1}",
			masked: []string{"Secret.v1 a data.k"}, differences: []string{"Secret.v1 a: data.m: want 1, got 2"},
		},
		"an object with a random name": {
			before: header + other, ours: header + strings.ReplaceAll(other, "b}", "c}"),
			after:  header + strings.ReplaceAll(other, "b}", "d}"),
			masked: []string{"Secret.v1 b"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := judge(rendered(t, c.before), rendered(t, c.ours), rendered(t, c.after))
			if !slices.Equal(got.masked, c.masked) {
				t.Errorf("the random fields, which are not compared: want %q, got %q", c.masked, got.masked)
			}
			if !slices.Equal(got.differences, c.differences) {
				t.Errorf("the differences between Fairlead and the rival: want %q, got %q", c.differences, got.differences)
			}
		})
	}
}

func TestJudgeFailures(t *testing.T) {
	some, none := rendered(t, header), output{failure: "no"}
	if got := judge(none, none, none); got.refused == "" || len(got.differences) > 0 {
		t.Errorf("a case that neither program renders must not be a difference: %+v", got)
	}
	if got := judge(some, none, some); len(got.differences) != 1 {
		t.Errorf("a case that only the rival renders must be a difference: %+v", got)
	}
	if got := judge(none, some, none); len(got.differences) != 1 {
		t.Errorf("a case that only Fairlead renders must be a difference: %+v", got)
	}
}

func TestReportAnswersOneOnADifference(t *testing.T) {
	var out strings.Builder
	equal := result{testCase: testCase{name: "shop", rival: rivalHelm}}
	if code := report(&out, []result{equal}); code != 0 {
		t.Errorf("exit code for equal renderings: want 0, got %d", code)
	}
	different := result{
		testCase: testCase{name: "shop", variant: "upgrade"},
		verdict:  verdict{differences: []string{"Secret.v1 a: data.k: want 1, got 2"}},
	}
	if code := report(&out, []result{equal, different}); code != 1 {
		t.Errorf("exit code for different renderings: want 1, got %d", code)
	}
	if !strings.Contains(out.String(), "shop upgrade: DIFFERENT\n  Secret.v1 a: data.k") {
		t.Errorf("the report does not contain the difference:\n%s", &out)
	}
}
