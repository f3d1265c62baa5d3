package templating

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern       string
		matches, does string
	}{
		{"a", "a", "b aa a/a"},
		{"*.yaml", "a.yaml .yaml", "a/b.yaml a.yml"},
		{"**.yaml", "a.yaml a/b.yaml", "a.yml"},
		{"files/**/*.conf", "files/a/b.conf files/a/b/c.conf", "files/b.conf"},
		{"?.txt", "a.txt é.txt", "ab.txt /.txt .txt"},
		{"[ab]", "a b", "c ab"},
		{"[a-c]", "a b c", "d -"},
		{"[!a-c]", "d /", "a"},
		{"[!ab]", "c", "a b"},
		{"[ab-]", "a b -", "c"},
		{"{a,b*}/{c,d}", "a/c b/d bb/c", "a/e c/c"},
		{"{a,{b,c}}", "a b c", "d"},
		{"a{b", "ab", "a a{b"},
		{"a}b,c", "a}b,c", "ab"},
		{`\*\{a`, "*{a", "b{a"},
		{`[\]a]`, "] a", `\`},
		{"a.b+(c)", "a.b+(c)", "aXb+(c)"},
	} {
		matches, err := Glob(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for name := range strings.FieldsSeq(c.matches) {
			if !matches(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(c.does) {
			if matches(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
}

func TestGlobRefusesPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"[a":                           "a bracket is not closed",
		"[":                            "brackets without characters",
		"[]":                           "brackets without characters",
		"[!]":                          "brackets without characters",
		"[a-cx]":                       "must be a single one",
		"[c-a]":                        "must be a single one",
		"\xff":                         "is not valid UTF-8",
		strings.Repeat("a", 1001):      "is longer than 1000 bytes",
		strings.Repeat("{a,", 334):     "is longer than 1000 bytes",
		strings.Repeat("{", 999) + "a": "",
	} {
		_, err := Glob(pattern)
		switch {
		case want == "" && err != nil:
			t.Errorf("%.20s: %v", pattern, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.20s: want %q, got %v", pattern, want, err)
		}
	}
}

// A match that tries all ways in which the stars can share the name would not end.
func TestGlobMatchesManyStars(t *testing.T) {
	matches, err := Glob(strings.Repeat("*a", 250) + "b")
	if err != nil {
		t.Fatal(err)
	}
	if matches(strings.Repeat("a", 512)) {
		t.Error("the name does not end in b")
	}
}
