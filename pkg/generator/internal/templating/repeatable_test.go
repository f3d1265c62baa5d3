package templating

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Each function of templates is in the file, with a mark if its results vary. So a new function, for instance of a new
// version of sprig, is judged by a person.
func TestEachFunctionIsKnownAsVaryingOrNot(t *testing.T) {
	const file = "testdata/functions.golden"
	all := tableOf(Options{}, nil)
	maps.Copy(all, tableOf(Options{Chart: true}, nil))
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		note := ""
		if varying[name] {
			note = " varies"
		}
		fmt.Fprintf(&text, "%s%s\n", name, note)
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(string(want), text.String()); difference != "" {
		t.Errorf("judge whether the functions vary, and update the file with -update (-want +got):\n%s", difference)
	}
	for name := range varying {
		if all[name] == nil {
			t.Errorf("there is no function %s", name)
		}
	}
}

func TestARenderingIsRepeatable(t *testing.T) {
	type pointed struct{ Name *string }
	name := "a"
	values := map[string]any{
		"text": "a", "map": map[string]any{"b": int64(1), "a": []any{"x", 1.5, true, nil}},
		"pointer": &name, "struct": pointed{&name}, "nested": []any{map[string]any{"deep": pointed{&name}}},
		"time": time.Unix(0, 0),
	}
	author := map[string]any{"own": func() string { return "a" }}
	for _, c := range []struct {
		text string
		want bool
	}{
		{`{{ .Values.text }}`, true},
		{`{{ .Values.map }} {{ printf "%v %s-http" .Values.map .Values.text }} {{ toString .Values.map }}`, true},
		{`{{ toYaml .Values.map | nindent 2 }} {{ .Values.map | toJson | sha256sum }}`, true},
		{`{{ keys .Values.map | sortAlpha | join "," }}`, true},
		{`{{ range $k, $v := .Values.map }}{{ $k }}{{ end }}`, true},
		{`{{ merge (dict "a" 1) .Values.map | toYaml }} {{ deepCopy .Values.map | toJson }}`, true},
		{`{{ kubernetesVersion.Major }} {{ revision }} {{ name }} {{ export "x" }}`, true},
		{`{{ derivePassword 1 "long" "p" "u" "s" }} {{ dateModify "1h" (toDate "2006" "2026") | unixEpoch }}`, true},
		{`{{ date "2006" 0 }}`, true},
		{`{{ if false }}{{ now }}{{ end }}`, true},
		{`{{ date "2006" "no date" }}`, false},
		{`{{ now }}`, false},
		{`{{ ago 0 }}`, false},
		{`{{ htmlDate nil }}`, false},
		{`{{ durationRound (toDate "2006" "2020") }}`, false},
		{`{{ randAlphaNum 5 }}`, false},
		{`{{ uuidv4 }}`, false},
		{`{{ tpl "{{ randInt 0 9 }}" . }}`, false},
		{`{{ define "x" }}{{ shuffle "ab" }}{{ end }}{{ include "x" . | len }}`, false},
		{`{{ (genCA "a" 1).Cert | len }}`, false},
		{`{{ htpasswd "a" "b" }}`, false},
		{`{{ lookup "v1" "Secret" "a" "b" }}`, false},
		{`{{ localLookupList "v1" "Secret" "a" "" }}`, false},
		{`{{ own }}`, false},
		{`{{ printf "%p" .Values.map }}`, false},
		{`{{ printf "%-10p" .Values.map }}`, false},
		{`{{ .Values.pointer }}`, true},
		{`{{ .Values.struct }}`, false},
		{`{{ .Values.nested }}`, false},
		{`{{ list .Values.pointer | print }}`, false},
		{`{{ toString .Values.struct }}`, false},
		{`{{ quote .Values.nested }}`, false},
		{`{{ .Values.nested | html }}`, false},
		{`{{ list .Values.struct | sortAlpha }}`, false},
	} {
		t.Run(c.text, func(t *testing.T) {
			set, err := Parse(filesOf("a", c.text), Options{Functions: author})
			if err != nil {
				t.Fatal(err)
			}
			budget := NewBudget(t.Context(), generator.Limits{})
			if _, err := set.Render(Input{Values: values, Budget: budget}, []string{"a"}); err != nil {
				t.Fatal(err)
			}
			if got := budget.Repeatable(); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// A map under two keys has the same merged values each time.
func TestAMergeDoesNotDependOnTheOrderOfAMap(t *testing.T) {
	const text = `{{ $m := dict }}{{ $into := dict "a" $m "b" $m "c" $m "d" $m }}` +
		`{{ merge $into (dict "d" (dict "x" 4) "c" (dict "x" 3) "b" (dict "x" 2) "a" (dict "x" 1)) | toJson }}`
	for range 20 {
		got, err := renderText(t, Input{}, text)
		if want := `{"a":{"x":1},"b":{"x":1},"c":{"x":1},"d":{"x":1}}`; err != nil || got != want {
			t.Fatalf("got %s, %v", got, err)
		}
	}
}
