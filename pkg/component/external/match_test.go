package external_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// differs compares a spec with an observed state, both as JSON, by the default Matcher.
func differs(t *testing.T, spec, observed string) string {
	t.Helper()
	d := external.Of("Any", kindFunc[json.RawMessage, json.RawMessage](
		func(context.Context, external.Ref[json.RawMessage]) (json.RawMessage, error) {
			return json.RawMessage(observed), nil
		},
	), external.Options[json.RawMessage]{})
	r := requestFor("1", spec, "")
	r.References = nil
	answer, err := d.Observe(t.Context(), r)
	if err != nil {
		t.Fatalf("%s %s: %v", spec, observed, err)
	}
	return answer.Differs
}

func TestTheDefaultMatcher(t *testing.T) {
	long := strings.Repeat("a", 100)
	for _, c := range []struct{ spec, observed, want string }{
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":1}`, `{"a":2}`, "spec.a: want 1, found 2"},
		{`{"a":1}`, `{"b":1}`, "spec.a: want 1, found none"},
		{`{"a":1}`, `{"a":null}`, "spec.a: want 1, found none"},
		{`{"b":1,"a":1}`, `{}`, "spec.a: want 1, found none"},
		{`{"a":{"b":{"c":"x"}}}`, `{"a":{"b":{"c":"y"}}}`, `spec.a.b.c: want "x", found "y"`},
		{`{"a":{"b":1}}`, `{"a":7}`, "spec.a: want a map, found 7"},
		{`{"a":{"b":1}}`, `{}`, "spec.a.b: want 1, found none"},
		{`{"a":7}`, `{"a":{"b":1}}`, "spec.a: want 7, found a map"},
		{`{"a":7}`, `{"a":[7]}`, "spec.a: want 7, found a list"},
		{`{"a":true}`, `{"a":"true"}`, `spec.a: want true, found "true"`},

		{`{"a":1}`, `{"a":1.0}`, ""},
		{`{"a":100}`, `{"a":1e2}`, ""},
		{`{"a":0.001}`, `{"a":1E-3}`, ""},
		{`{"a":0}`, `{"a":-0.0}`, ""},
		{`{"a":1e2147483647}`, `{"a":1e2147483646}`, "spec.a: want 1e2147483647, found 1e2147483646"},
		{`{"a":1e99999999999}`, `{"a":1e99999999998}`, "spec.a: want 1e99999999999, found 1e99999999998"},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, "spec.a: want 9007199254740993, found 9007199254740992"},
		{`{"a":-1}`, `{"a":1}`, "spec.a: want -1, found 1"},

		{`{"a":null}`, `{"a":5}`, ""},
		{`{"a":null,"b":"","c":[],"d":{},"e":0,"f":false,"g":{"h":""}}`, `{}`, ""},
		{`{"a":""}`, `{"a":null}`, ""},
		{`{"a":""}`, `{"a":"x"}`, `spec.a: want "", found "x"`},
		{`{"a":false}`, `{"a":true}`, "spec.a: want false, found true"},
		{`{"a":[]}`, `{"a":[1]}`, "spec.a: want 0 elements, found 1"},
		{`{"a":{}}`, `{"a":{"b":1}}`, ""},
		{`{"a":[null]}`, `{}`, "spec.a: want a list, found none"},

		{`{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2,"c":3}]}`, ""},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, "spec.a[0]: want 1, found 2"},
		{`{"a":[1,2]}`, `{"a":[1]}`, "spec.a: want 2 elements, found 1"},
		{`{"a":[1]}`, `{"a":"1"}`, `spec.a: want a list, found "1"`},
		{`{"a":[{"b":1}]}`, `{"a":[{"b":2}]}`, "spec.a[0].b: want 1, found 2"},

		{`{"password":"abc"}`, `{"password":"abd"}`, "spec.password: the values differ; they are not shown"},
		{`{"apiToken":"abc"}`, `{}`, "spec.apiToken: the values differ; they are not shown"},
		{
			`{"secretRef":{"value":"abc"}}`, `{"secretRef":{"value":1}}`,
			"spec.secretRef.value: the values differ; they are not shown",
		},
		{`{"keys":["abc"]}`, `{"keys":["abd"]}`, "spec.keys[0]: the values differ; they are not shown"},
		{`{"keys":["abc"]}`, `{"keys":[]}`, "spec.keys: want 1 element, found 0"},

		{`{"a":"` + long + `"}`, `{"a":"\n"}`, `spec.a: want "` + long[:76] + `…, found "\n"`},
		{`"a"`, `"a"`, ""},
		{`"a"`, `"b"`, `spec: want "a", found "b"`},
		{`{"a":1}`, `"b"`, `spec: want a map, found "b"`},
		{``, `{"a":1}`, ""},
	} {
		if got := differs(t, c.spec, c.observed); got != c.want {
			t.Errorf("%s against %s: want %q, got %q", c.spec, c.observed, c.want, got)
		}
	}
}

func TestTheDefaultMatcherComparesValuesInTheFormOfTheirType(t *testing.T) {
	type spec struct {
		Every metav1.Duration `json:"every"`
		Size  int             `json:"size"`
	}
	d := external.Of("Any", kindFunc[spec, spec](
		func(context.Context, external.Ref[spec]) (spec, error) {
			return spec{Every: metav1.Duration{Duration: time.Hour}, Size: 3}, nil
		},
	), external.Options[spec]{})
	for text, want := range map[string]string{
		`{"every":"60m"}`:          "", // size is not set
		`{"every":"61m"}`:          `spec.every: want "1h1m0s", found "1h0m0s"`,
		`{"every":"60m","size":0}`: "spec.size: want 0, found 3",
	} {
		if answer, err := d.Observe(t.Context(), requestFor("1", text, "")); err != nil || answer.Differs != want {
			t.Errorf("%s: want %q, got %q, %v", text, want, answer.Differs, err)
		}
	}
}

func FuzzDefaultMatcher(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,{"b":2.50}],"c":"d"}`, `{"password":"marker"}`, `[[[[]]]]`, `1e5`, `{"a":{"a":{"a":null}}}`, `-0.0e-7`,
	} {
		f.Add(seed, seed)
	}
	fuzzing.Run(f, func(t *testing.T, spec, observed string) {
		if !json.Valid([]byte(spec)) || !json.Valid([]byte(observed)) || strings.TrimSpace(observed) == "null" ||
			len(spec)+len(observed) > 10_000 {
			return
		}
		if strings.TrimSpace(spec) != "null" && len(spec) < 5000 {
			if text := differs(t, spec, spec); text != "" {
				t.Errorf("%s differs from itself: %s", spec, text)
			}
		}
		if text := differs(t, spec, observed); len(text) > 1<<10 {
			t.Errorf("the text has %d bytes", len(text))
		}
		quoted, err := json.Marshal(observed)
		if err != nil {
			return
		}
		text := differs(t, fmt.Sprintf(`{"password":{"a":%s}}`, spec), fmt.Sprintf(`{"password":{"a":%s}}`, quoted))
		if text != "" && !strings.HasSuffix(text, "they are not shown") {
			t.Errorf("got %q", text)
		}
	})
}

func TestChangedNamesTheFieldsThatDiffer(t *testing.T) {
	type disk struct {
		Size int    `json:"size,omitempty"`
		Type string `json:"type"`
	}
	type spec struct {
		disk   `json:",inline"`
		Zone   string            `json:"zone,omitempty"`
		Disk   *disk             `json:"disk,omitempty"`
		Labels map[string]string `json:"labels,omitempty"`
		Lists  []int             `json:"lists,omitempty"`
		TTL    int               `json:"ttl,omitempty"`
	}
	before := spec{Zone: "a", Labels: map[string]string{"x": "1"}, disk: disk{Type: "ssd"}}
	for name, c := range map[string]struct {
		change func(*spec)
		fields []string
		want   string
	}{
		"nothing":                  {func(*spec) {}, []string{"zone", "disk", "labels"}, ""},
		"a field that may change":  {func(s *spec) { s.TTL = 3 }, []string{"zone"}, ""},
		"in the order of the call": {func(s *spec) { s.Zone, s.TTL = "b", 3 }, []string{"ttl", "zone"}, "spec.ttl spec.zone"},
		"an embedded field":        {func(s *spec) { s.Type = "hdd" }, []string{"size", "type"}, "spec.type"},
		"a field of a field": {
			func(s *spec) { s.Disk = &disk{Size: 1} },
			[]string{"disk.size", "disk.type"},
			"spec.disk.size",
		},
		"a field that is set": {func(s *spec) { s.Disk = &disk{Size: 1} }, []string{"disk"}, "spec.disk"},
		"an empty value":      {func(s *spec) { s.Disk, s.Lists = &disk{}, []int{} }, []string{"disk", "lists"}, ""},
		"a key of a map":      {func(s *spec) { s.Labels = nil }, []string{"labels.x", "labels.y"}, "spec.labels.x"},
		"a list":              {func(s *spec) { s.Lists = []int{1} }, []string{"lists"}, "spec.lists"},
		"a wrong name": {
			func(*spec) {},
			[]string{"zoen", "zone", "disk.sise", ""},
			"spec.zoen spec.disk.sise spec.",
		},
	} {
		after := before
		c.change(&after)
		if got := strings.Join(external.Changed(before, after, c.fields...), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
