package templating

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// filesOf returns files. The arguments are names and texts in turn.
func filesOf(namesAndTexts ...string) []rendering.File {
	var files []rendering.File
	for i := 0; i < len(namesAndTexts); i += 2 {
		files = append(files, rendering.File{Name: namesAndTexts[i], Data: []byte(namesAndTexts[i+1])})
	}
	return files
}

// renderText renders one template.
func renderText(t *testing.T, in Input, text string) (string, error) {
	t.Helper()
	set, err := Parse(filesOf("a", text), Options{})
	if err != nil {
		return "", err
	}
	in.Budget = NewBudget(t.Context(), generator.Limits{})
	files, err := set.Render(in, []string{"a"})
	if err != nil {
		return "", err
	}
	return string(files[0].Data), nil
}

func TestAFileGetsTheNearestTemplateOfAName(t *testing.T) {
	const use = `{{ include "who" . }} {{ template "own" . }} {{ include "elsewhere" . }}`
	set, err := Parse(filesOf(
		"_helpers.tpl", `{{ define "who" }}top{{ end }}{{ define "own" }}own of {{ include "who" . }}{{ end }}`,
		"a/_helpers.tpl", `{{ define "who" }}a{{ end }}`,
		"a/b/c/use.yaml", use,
		"a/use.yaml", use,
		"d/_helpers.tpl", `{{ define "who" }}d{{ end }}{{ define "elsewhere" }}x{{ end }}`,
		"d/use.yaml", use,
		"e/use.yaml", use,
		"use.yaml", use,
	), Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"use.yaml", "a/use.yaml", "a/b/c/use.yaml", "d/use.yaml", "e/use.yaml"}
	for range 2 {
		files, err := set.Render(Input{Budget: NewBudget(t.Context(), generator.Limits{})}, names)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, file := range files {
			got = append(got, string(file.Data))
		}
		want := []string{"top own of top x", "a own of a x", "a own of a x", "d own of d x", "top own of top x"}
		if difference := cmp.Diff(want, got); difference != "" {
			t.Errorf("-want +got:\n%s", difference)
		}
	}
}

func TestWhatTplDefinesStaysWithIt(t *testing.T) {
	const text = "{{ tpl `{{ define \"x\" }}1{{ end }}{{ include \"x\" . }}` . }}{{ include \"x\" . }}"
	if _, err := renderText(t, Input{}, text); err == nil || !strings.Contains(err.Error(), `no template "x"`) {
		t.Errorf("got %v", err)
	}
	got, err := renderText(t, Input{}, "{{ define \"x\" }}2{{ end }}"+text)
	if err != nil || got != "12" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestFilesAreThoseOfTheSource(t *testing.T) {
	in := Input{Files: NewFiles(filesOf("top.txt", "1", "a/b/in.txt", "2", "a/c.yaml", "3")).In("a/b")}
	cases := map[string]struct{ template, want, wantError string }{
		"a file":                  {template: `{{ readFile "in.txt" }}`, want: "2"},
		"a file above the folder": {template: `{{ readFile "../../top.txt" }}`, want: "1"},
		"a file that does not exist": {
			template:  `{{ readFile "top.txt" }}`,
			wantError: `the source has no file "top.txt"`,
		},
		"a file outside of the source": {
			template:  `{{ readFile "../../../etc/passwd" }}`,
			wantError: `"../../../etc/passwd" leaves the source`,
		},
		"a file by an absolute path": {
			template:  `{{ readFile "/etc/passwd" }}`,
			wantError: `"/etc/passwd" is absolute`,
		},
		"the existence of a file outside of the source": {
			template:  `{{ existsFile "../../../etc/passwd" }}`,
			wantError: "leaves the source",
		},
		"a list of files outside of the source": {template: `{{ listFiles "../../../*" }}`, wantError: "leaves the source"},
		"no files":                              {template: `{{ listFiles "*.json" | len }}`, want: "0"},
		"files above the folder":                {template: `{{ listFiles "../**" | join " " }}`, want: "in.txt ../c.yaml"},
		"an invalid pattern":                    {template: `{{ listFiles "[" }}`, wantError: `"[" is not a valid pattern`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { expect(t, in, c.template, c.want, c.wantError) })
	}
}

// expect renders a template, and compares the output with want or the error with wantError.
func expect(t *testing.T, in Input, text, want, wantError string) {
	t.Helper()
	got, err := renderText(t, in, text)
	switch {
	case wantError == "" && err != nil:
		t.Error(err)
	case wantError != "" && (err == nil || !strings.Contains(err.Error(), wantError)):
		t.Errorf("want %q, got %v", wantError, err)
	case got != want:
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestLookUps(t *testing.T) {
	object := func(namespace, name string, labels map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
				"namespace": namespace, "name": name,
				"labels": labels,
			},
		}}
	}
	here := generatortest.Lookup{
		object(
			"b",
			"2",
			map[string]any{"app": "x"},
		), object("b", "1", map[string]any{"app": "x"}), object("a", "3", map[string]any{"app": "y"}),
	}
	both := generator.Request{Target: here, Local: generatortest.Lookup{object("l", "local", nil)}}
	unserved := generator.Request{Target: failing{&meta.NoKindMatchError{}}}
	forbidden := generator.Request{
		Target: failing{apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "1", errors.New("no"))},
	}
	offline := generator.Request{}
	cases := map[string]struct {
		request                   generator.Request
		template, want, wantError string
	}{
		"an object": {both, `{{ (lookup "v1" "Secret" "b" "1").metadata.name }}`, "1", ""},
		"nothing":   {both, `{{ lookup "v1" "Secret" "b" "3" | toJson }}`, "{}", ""},
		"all objects": {
			both,
			`{{ range (lookup "v1" "Secret" "" "").items }}{{ .metadata.name }}{{ end }}`,
			"213",
			"",
		},
		"a required object that does not exist": {
			both,
			`{{ mustLookup "v1" "Secret" "b" "3" }}`,
			"",
			`Secret 3: Secret "3" not found`,
		},
		"a required object without a name": {
			both,
			`{{ mustLookup "v1" "Secret" "b" "" }}`,
			"",
			"use lookupList for lists",
		},
		"a list, in order": {
			both,
			`{{ range lookupList "v1" "Secret" "" "" }}{{ .metadata.name }}{{ end }}`,
			"312",
			"",
		},
		"a list by labels": {
			both,
			`{{ range lookupList "v1" "Secret" "" "app in (y)" }}{{ .metadata.name }}{{ end }}`,
			"3",
			"",
		},
		"a list by an invalid selector": {both, `{{ lookupList "v1" "Secret" "" "a in" }}`, "", "Secret: "},
		"a local object": {
			both,
			`{{ (localLookup "v1" "Secret" "l" "local").metadata.name }}{{ lookup "v1" "Secret" "l" "local" | len }}`,
			"local0",
			"",
		},
		"a required local object that does not exist": {both, `{{ mustLocalLookup "v1" "Secret" "b" "1" }}`, "", "not found"},
		"a local list": {both, `{{ localLookupList "v1" "Secret" "" "" | len }}`, "1", ""},
		"a kind that is not served": {
			unserved,
			`{{ lookup "a/v1" "A" "" "a" | len }}{{ lookup "a/v1" "A" "" "" | len }}{{ lookupList "a/v1" "A" "" "" | len }}`,
			"000",
			"",
		},
		"a required object of a kind that is not served": {unserved, `{{ mustLookup "a/v1" "A" "" "a" }}`, "", "A.a a: "},
		"an object that is forbidden":                    {forbidden, `{{ lookup "v1" "Secret" "a" "1" }}`, "", "forbidden"},
		"a list that is forbidden": {
			forbidden, `{{ lookupList "v1" "Secret" "a" "" }}`,
			"", "forbidden",
		},
		"without a cluster": {
			offline,
			`{{ lookup "v1" "A" "" "a" | len }}{{ localLookup "v1" "A" "" "" | len }}{{ lookupList "v1" "A" "" "" | len }}`,
			"000",
			"",
		},
		"a required object without a cluster": {
			offline,
			`{{ mustLookup "v1" "Secret" "a" "1" }}`,
			"",
			"there is no cluster to read from",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { expect(t, Input{Request: c.request}, c.template, c.want, c.wantError) })
	}
}

// failing is a Lookup whose methods return an error.
type failing struct{ err error }

func (f failing) Get(context.Context, schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
	return nil, f.err
}

func (f failing) List(context.Context, schema.GroupVersionKind, string) (*unstructured.UnstructuredList, error) {
	return nil, f.err
}

func TestTheClockIsThatOfTheRequest(t *testing.T) {
	zone := time.FixedZone("elsewhere", 3600)
	request := generator.Request{Now: time.Date(2031, 2, 3, 4, 5, 6, 0, zone)}
	for template, want := range map[string]string{
		`{{ now }}`:                                          "2031-02-03 03:05:06 +0000 UTC",
		`{{ date "2006-01-02" "whatever" }}`:                 "2031-02-03",
		`{{ dateInZone "2006" nil "UTC" }}`:                  "2031",
		`{{ date_in_zone "2006" nil "UTC" }}`:                "2031",
		`{{ htmlDate nil }}`:                                 "2031-02-03",
		`{{ htmlDateInZone nil "UTC" }}`:                     "2031-02-03",
		`{{ ago 1927850706 }}`:                               "1h0m0s",
		`{{ toDate "2006" "2030" | durationRound }}`:         "1y",
		`{{ toDate "2006-01-02 15:04" "2030-01-01 10:00" }}`: "2030-01-01 10:00:00 +0000 UTC",
	} {
		t.Run(template, func(t *testing.T) { expect(t, Input{Request: request}, template, want, "") })
	}
}

// Templates stop when the context of their request ends.
func TestTemplatesStopWhenTheirContextIsDone(t *testing.T) {
	const look = `{{ $_ := lookup "v1" "Secret" "a" "b" }}`
	set, err := Parse(filesOf("a", look+"output"+look, "b", look), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	target := &counting{cancel: cancel}
	in := Input{Request: generator.Request{Target: target}, Budget: NewBudget(ctx, generator.Limits{})}
	if _, err := set.Render(in, []string{"a", "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if target.count != 1 {
		t.Errorf("the templates continue after their context ended: %d look-ups", target.count)
	}
}

// counting is a Lookup that ends the context at the first look-up, and counts the look-ups.
type counting struct {
	generator.Lookup
	cancel func()
	count  int
}

func (l *counting) Get(context.Context, schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
	l.cancel()
	l.count++
	return &unstructured.Unstructured{}, nil
}

func TestValuesLieOverDefaults(t *testing.T) {
	defaults := map[string]any{
		"a": int64(1),
		"b": map[string]any{"c": "d", "e": []any{"f"}},
		"g": map[string]any{"h": "i"},
		"j": "k",
	}
	parameters := map[string]any{"b": map[string]any{"e": []any{"x"}, "n": nil}, "g": "text", "j": nil, "m": nil}
	want := map[string]any{
		"a": int64(1),
		"b": map[string]any{"c": "d", "e": []any{"x"}, "n": nil},
		"g": "text",
		"m": nil,
	}
	got := ValuesOf(parameters, defaults)
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
	delete(got, "a")
	if _, found := defaults["a"]; !found {
		t.Error("the defaults are not copied")
	}
}

// The results of the address functions for random addresses and prefixes must be consistent with each other.
func FuzzAddresses(f *testing.F) {
	f.Add("10.0.0.0/24", int64(5))
	f.Add("fd00::/64", int64(-1))
	f.Add("::ffff:10.0.0.1/120", int64(3))
	fuzzing.Run(f, func(t *testing.T, cidr string, number int64) {
		host, err := cidrHost(number, cidr)
		if err != nil {
			return
		}
		if contained, err := cidrContains(host, cidr); err != nil || !contained {
			t.Errorf("%s is not in %s: %v", host, cidr, err)
		}
		next, err := ipAdd(1, host)
		if err != nil {
			return
		}
		if back, err := ipAdd(-1, next); err != nil || back != host {
			t.Errorf("%s, %s, %s, %v", host, next, back, err)
		}
	})
}
