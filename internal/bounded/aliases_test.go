package bounded_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
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
			err := bounded.CheckAliases([]byte(c.text), limit)
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func FuzzCheckAliases(f *testing.F) {
	f.Add([]byte(laughs()))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("a: &a {<<: *b}\nc: '&d *d'"))
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		const limit = 1 << 10
		if bounded.CheckAliases(text, limit) != nil {
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

func ExampleCheckAliases() {
	bomb := "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"
	fmt.Println(bounded.CheckAliases([]byte(bomb), 1<<20), bounded.CheckAliases([]byte(bomb), 10) != nil)
	// Output: <nil> true
}
