package yamltext_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/yamltext"
)

func TestToJSON(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		duplicates []yamltext.Duplicate
	}{
		"no key twice": {"a: 1\nb: {a: 2}\n", `{"a":1,"b":{"a":2}}`, nil},
		"a key twice": {
			"a: 1\nb: 2\na: 3\n", `{"a":3,"b":2}`,
			[]yamltext.Duplicate{{Line: 3, Key: "a"}},
		},
		"a map twice, which is not merged": {
			"a: {x: 1}\na: {z: 2}\n", `{"a":{"z":2}}`,
			[]yamltext.Duplicate{{Line: 2, Key: "a"}},
		},
		"keys twice in several maps": {
			"l:\n- a: 1\n  a: 2\n- a: 3\nm: {b: 1, b: 2, b: 3}\n", `{"l":[{"a":2},{"a":3}],"m":{"b":3}}`,
			[]yamltext.Duplicate{{Line: 3, Key: "a"}, {Line: 5, Key: "b"}, {Line: 5, Key: "b"}},
		},
		"a key that overrides a merge": {"a: &a {x: 1}\nb: {<<: *a, x: 2}\n", `{"a":{"x":1},"b":{"x":2}}`, nil},
		"a mark at the beginning":      {"\xef\xbb\xbfa: 1\n", `{"a":1}`, nil},
		"a mark after the marker": {
			"---\n\xef\xbb\xbfa: 1\na: 2\n", `{"a":2}`,
			[]yamltext.Duplicate{{Line: 3, Key: "a"}},
		},
		"marks after comments":            {"# x\n\xef\xbb\xbf# y\n--- # z\n\n\xef\xbb\xbfa: 1\n", `{"a":1}`, nil},
		"a mark in the content":           {"a: \"\xef\xbb\xbf\"\n", "{\"a\":\"\xef\xbb\xbf\"}", nil},
		"no content":                      {"# nothing\n", "null", nil},
		"a second document is not read":   {"a: 1\n---\nb: 1\nb: 2\n", `{"a":1}`, nil},
		"large numbers keep their digits": {"a: 9007199254740993\n", `{"a":9007199254740993}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, duplicates, err := yamltext.ToJSON([]byte(c.text))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v", got, err)
			}
			if difference := cmp.Diff(c.duplicates, duplicates); difference != "" {
				t.Errorf("-want +got:\n%s", difference)
			}
		})
	}
	if _, _, err := yamltext.ToJSON([]byte("a: [")); err == nil {
		t.Error("invalid YAML is accepted")
	}
}

func TestFromJSON(t *testing.T) {
	value, duplicates, err := yamltext.FromJSON([]byte(`{"a": 1, "b": {"c": 2.5, "c": 9007199254740993}, "a": 3}`))
	want := map[string]any{"a": int64(3), "b": map[string]any{"c": int64(9007199254740993)}}
	if difference := cmp.Diff(any(want), value); err != nil || difference != "" {
		t.Errorf("%v, -want +got:\n%s", err, difference)
	}
	if got := fmt.Sprint(duplicates); got != `[the key "b.c" occurs twice in a map; the last value is used `+
		`the key "a" occurs twice in a map; the last value is used]` {
		t.Errorf("got %s", got)
	}
}

func TestSingle(t *testing.T) {
	const stream = "# first\na: 1 # one\nb: {c: 2, c: 3}\na: 4\n---\nd: [{e: 5, e: 6}]\n"
	got, duplicates := yamltext.Single([]byte(stream))
	if want := "b: {c: 3}\na: 4\n---\nd: [{e: 6}]\n"; string(got) != want && string(got) != "# first\n"+want {
		t.Errorf("got %s", got)
	}
	if len(duplicates) != 3 || duplicates[1] != (yamltext.Duplicate{Line: 4, Key: "a"}) {
		t.Errorf("got %v", duplicates)
	}
	for _, text := range []string{"a: 1\nb: 2\n", "a: [", ""} {
		if got, duplicates := yamltext.Single([]byte(text)); string(got) != text || duplicates != nil {
			t.Errorf("%q becomes %q, %v", text, got, duplicates)
		}
	}
}
