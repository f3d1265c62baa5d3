package manifests_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// laughs returns YAML with ten levels of aliases. Each level contains the previous level ten times.
func laughs() string {
	text := "l0: &l0 lol\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf(
			"l%d: &l%d [%s]\n",
			i,
			i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","),
		)
	}
	return text
}

func TestCheckAliases(t *testing.T) {
	const limit = 1000
	long := strings.Repeat("x", 400)
	cases := map[string]struct{ text, want string }{
		"a few aliases":                    {text: "a: &a {b: c}\nd: *a\ne: {<<: *a}\n"},
		"text that is not YAML":            {text: "a & b * c: [", want: ""},
		"a second anchor of the same name": {text: "a: &a [x]\nb: &a [y]\nc: *a\n"},
		"aliases of aliases": {
			text: laughs(),
			want: "line 4: the aliases up to here expand to more than 1000 bytes",
		},
		"a long text with many aliases": {
			text: "a: &a " + long + "\nb: [*a,\n*a, *a]\n",
			want: "line 3: the aliases",
		},
		"merge keys": {
			text: "a: &a {b: " + long + "}\nc: {<<: [*a, *a, *a]}\n",
			want: "line 2: the aliases",
		},
		"an anchor that contains itself": {
			text: "a: &a [*a]\n",
			want: `line 1: the anchor "a" contains an alias of itself`,
		},
		"aliases in the second document": {text: "a: 1\n---\n" + laughs(), want: "expand to more than"},
		"aliases in a string that a tool parses as YAML": {
			text: "patch: |\n  " + strings.ReplaceAll(laughs(), "\n", "\n  ") + "\n",
			want: "expand to more than",
		},
		"aliases in a string inside a string": {
			text: fmt.Sprintf("a: %q\n", fmt.Sprintf("b: %q", laughs())),
			want: "expand to more than",
		},
		"many characters that look like aliases":    {text: "schedule: '*/5 * * * *'\nurl: http://a?b&c\n"},
		"an alias of something that does not exist": {text: "a: *b\nc: '&'\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := manifests.CheckAliases([]byte(c.text), limit)
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestDecoderHasBounds(t *testing.T) {
	t.Run("the limit of objects covers all files", func(t *testing.T) {
		decoder := &manifests.Decoder{MaxObjects: 2}
		const two = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {name: a}}, {apiVersion: v1, " +
			"kind: A, metadata: {name: b}}]}"
		if objects, err := decoder.Decode("a.yaml", []byte(two)); err != nil || len(objects) != 2 {
			t.Fatalf("got %v, %v", objects, err)
		}
		_, err := decoder.Decode("b.yaml", []byte("---\n---\n{apiVersion: v1, kind: A, metadata: {name: c}}"))
		if err == nil || err.Error() != "b.yaml:2: the limit of 2 objects is exceeded here" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the limit of nodes covers expanded aliases", func(t *testing.T) {
		_, err := manifests.Decode("a.yaml", []byte("---\n# a\n---\n"+laughs()))
		if err == nil ||
			!strings.Contains(err.Error(), "a.yaml:10: more than 200000 maps, lists, values and keys") {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzCheckAliases(f *testing.F) {
	f.Add([]byte(laughs()))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("a: &a {<<: *b}\nc: '&d *d'"))
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		const limit = 1 << 10
		if manifests.CheckAliases(text, limit) != nil {
			return
		}
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return
		}
		// JSON escapes a byte with up to six bytes. Text that no alias repeats occurs in the output once.
		if bound := 12 * (limit + 2*len(text) + 10); len(asJSON) > bound {
			t.Errorf("%d bytes became %d", len(text), len(asJSON))
		}
	})
}
