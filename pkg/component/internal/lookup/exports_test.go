package lookup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
)

func TestAskedExportsAreRecordedWithTheirValues(t *testing.T) {
	status := &metav1alpha1.Status{AskedExports: []string{`host="a"`, "zone", `unused="x"`, "broken=("}}
	for _, c := range []struct {
		name string
		lost bool
		want []string
	}{
		{"with a recorded status", false, []string{"broken?", `host="a"`, "new", "zone"}},
		{"after the status was lost", true, []string{"broken?", `host="a"`, "new?", "zone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := lookup.ExportsOf(status)
			exports, asked := lookup.NoteExports(known, c.lost)
			for _, name := range []string{"zone", "new", "host", "host", "broken"} {
				if value, ok := exports.Value(name); ok != (name == "host") || ok && value != "a" {
					t.Errorf("the value of %s is %v, %t", name, value, ok)
				}
			}
			l := lookup.Lookups{Exports: asked.Results()}
			if got := l.ExportLines(); !slices.Equal(got, c.want) || asked.Check() != nil {
				t.Errorf("recorded %q, %v, want %q", got, asked.Check(), c.want)
			}
			if !lookup.GetsSameValues(l.Exports, known) {
				t.Error("the same values count as different")
			}
			for _, other := range [][]metav1alpha1.AskedExport{nil, {{Name: "host", Value: `"b"`}}} {
				if lookup.GetsSameValues(l.Exports, other) {
					t.Errorf("%v counts as equal", other)
				}
			}
		})
	}
}

func TestARenderingCannotAskForEverything(t *testing.T) {
	many := make([]string, 0, 257)
	for i := range 257 {
		many = append(many, fmt.Sprint("e", i))
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{many[:256], ""},
		{many, "more than 256 exports"},
		{[]string{"a-b"}, `export "a-b"; the names of exports`},
		{[]string{""}, `export ""`},
		{[]string{strings.Repeat("x", 64)}, "at most 63 characters"},
	} {
		exports, asked := lookup.NoteExports(nil, false)
		for _, name := range c.names {
			exports.Value(name)
		}
		err := asked.Check()
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) && c.want != "" {
			t.Errorf("%.3q: %s", c.names, got)
		}
	}
}
