package bounded_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// small are limits that short texts exceed.
var small = bounded.Limits{Nodes: 20, Depth: 5, AliasBytes: 100}

const (
	many  = "more than 20 maps, lists, values and keys"
	deep  = "maps and lists nest more than 5 deep"
	large = "the aliases up to here expand to more than 100 bytes"
)

func TestTextsBeyondTheLimits(t *testing.T) {
	yamlOf := func(text string, l bounded.Limits) error { return bounded.YAML([]byte(text), l) }
	jsonOf := func(text string, l bounded.Limits) error { _, err := bounded.JSON([]byte(text), l); return err }
	tomlOf := func(text string, l bounded.Limits) error { return bounded.TOML([]byte(text), l) }
	cases := map[string]struct {
		check func(string, bounded.Limits) error
		text  string
		want  string
	}{
		"a small YAML text":                {yamlOf, "a: 1\nb: [1, 2]\n", ""},
		"a list in YAML":                   {yamlOf, "x: [" + strings.Repeat("{},", 20) + "]", many},
		"a list in YAML, a node per line":  {yamlOf, strings.Repeat("- a\n", 20), "line 20: " + many},
		"keys in YAML":                     {yamlOf, strings.Repeat("k: v\n", 10), "line 10: " + many},
		"keys without values in YAML":      {yamlOf, "{" + strings.Repeat("a,", 10) + "}", many},
		"explicit keys in YAML":            {yamlOf, strings.Repeat("? a\n", 10), many},
		"several documents in YAML":        {yamlOf, strings.Repeat("---\na: [b, c]\n", 5), "line 10: " + many},
		"far too many indicators":          {yamlOf, "# line 1\n" + strings.Repeat(",", 41), "line 2: " + many},
		"many indicators in a YAML string": {yamlOf, "a: '" + strings.Repeat(",", 30) + "'", ""},
		"many indicators in a YAML block":  {yamlOf, "a: |\n  " + strings.Repeat("{},", 12), ""},
		"JSON with commas in a string":     {yamlOf, `{"a": "` + strings.Repeat(",", 500) + `"}`, ""},
		"JSON as YAML":                     {yamlOf, `{"a": [` + strings.Repeat("{},", 20) + "1]}", many},
		"brackets in YAML":                 {yamlOf, strings.Repeat("[", 6) + strings.Repeat("]", 6), "line 1: " + deep},
		"as many brackets as allowed":      {yamlOf, strings.Repeat("[", 5) + strings.Repeat("]", 5), ""},
		"a list of lists on a line":        {yamlOf, strings.Repeat("- ", 6) + "a", deep},
		"a map of maps in lines":           {yamlOf, "a:\n b:\n  c:\n   d:\n    e:\n      f: 1\n", deep},
		"aliases of aliases": {
			yamlOf, "a: &a [x]\nb: &b [*a,*a]\nc: [*b,*b]\n", "line 3: " + many,
		},
		"aliases of long texts": {yamlOf, "a: &a " + strings.Repeat("x", 60) + "\nb: [*a,*a]\n", "line 2: " + large},
		"aliases that nest":     {yamlOf, "a: &a [[x]]\nb: &b [*a]\nc: [[*b]]\n", "line 3: " + deep},
		"an alias of itself":    {yamlOf, "a: &a [*a]\n", `the anchor "a" contains an alias of itself`},
		"aliases in a string": {
			yamlOf, "k: v\na: |\n  a: &a " + strings.Repeat("x", 60) + "\n  b: [*a,*a]\n",
			"line 2: " + large,
		},
		"a merge of an alias":    {yamlOf, "a: &a {b: 1, c: 2, d: 3, e: 4}\nf: {<<: *a}\ng: {<<: *a}\n", many},
		"text that is not YAML":  {yamlOf, "a: &x *y [", ""},
		"a small JSON text":      {jsonOf, `{"a": [1, true, null, "x", -1.5e3]}`, ""},
		"a list in JSON":         {jsonOf, "[" + strings.Repeat("{},", 20) + "1]", many},
		"numbers in JSON":        {jsonOf, "[\n" + strings.Repeat("1,", 20) + "1]", "line 2: " + many},
		"JSON texts in sequence": {jsonOf, strings.Repeat("{}", 21), many},
		"brackets in JSON":       {jsonOf, strings.Repeat("[", 6), deep},
		"brackets in a string":   {jsonOf, `["` + strings.Repeat("[", 60) + `\"["]`, ""},
		"a small TOML text":      {tomlOf, "a = 1\n[b.c]\nd.e = [1.5, {f = 2}]\n", ""},
		"a list in TOML":         {tomlOf, "a = [" + strings.Repeat("{},", 20) + "]", many},
		"brackets in TOML":       {tomlOf, "a = " + strings.Repeat("[", 6), deep},
		"a dotted key":           {tomlOf, "a.b.c.d.e.f.g = 1", deep},
		"a dotted key below a table": {
			tomlOf, "[a.b.c]\nd.e.f.g = 1", deep,
		},
		"a name of a table":              {tomlOf, "[a.b.c.d.e.f.g]", deep},
		"inline tables with dotted keys": {tomlOf, "a.b = {c.d = {e.f.g = 1}}", deep},
		"strings in TOML":                {tomlOf, "a = \"[[[[[[\"\nb = '[[[[[['\nc = \"\"\"\n[[[[[[\"\"\"\n# [[[[[[[", ""},
		"a string that ends with quotes": {tomlOf, "a = \"\"\"x\"\"\"\"\nb = [[[[[[[", deep},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.check(c.text, small)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
			if _, isLimit := errors.AsType[*bounded.LimitError](err); err != nil && !isLimit {
				t.Errorf("got a %T", err)
			}
		})
	}
}

func TestValue(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["a"] = []any{cyclic}
	cases := map[string]struct {
		data  any
		nodes int
		want  string
	}{
		"a scalar":                     {"x", 1, ""},
		"a map":                        {map[string]any{"a": []any{int64(1), nil}}, 5, ""},
		"a long list":                  {make([]any, 20), 21, many},
		"a map that contains itself":   {cyclic, 0, deep},
		"a list of lists":              {[]any{[]any{[]any{[]any{[]any{}}}}}, 5, ""},
		"a list of lists that is deep": {[]any{[]any{[]any{[]any{[]any{[]any{}}}}}}, 0, deep},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			nodes, err := bounded.Value(c.data, small)
			if c.want == "" && (err != nil || nodes != c.nodes) {
				t.Errorf("got %d, %v", nodes, err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestPattern(t *testing.T) {
	for expression, tooLarge := range map[string]bool{
		"":                 false,
		"^[a-z]{1,63}$":    false,
		`(a|b{1000}){,3}[`: false,
		"(" + strings.Repeat("a", 60) + "){1000}":                          true,
		"(" + strings.Repeat("[a-c]{100}", 6) + "){10}" + "[a-z]{1000}{2}": false,
		strings.Repeat("(ab){1000}", 20):                                   true,
	} {
		if _, err := bounded.Pattern(expression); (err != nil) != tooLarge {
			t.Errorf("%s: got %v", expression, err)
		}
	}
}

// A text that YAML accepts must have no more nodes and no more levels than the limits when it is decoded.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"a: [b, {c: d}]\n", "- - - a\n", "? a\n: b\n", "{a, b, ? c}", "a: &a [1]\nb: *a\n", "[a: b, c: d]", "{\"a\":1}",
		"a: |\n  [[[\nb: 'x'\n", "a:\n- b\n-\n  - c\n", "!!map {a: !!seq [b]}", "&a ? *a : b", "{\"a\":{\"b\":[]}}\n{}",
		"x: {<<: [{a: 1}]}",
	} {
		f.Add([]byte(seed))
	}
	limits := bounded.Limits{Nodes: 30, Depth: 6, AliasBytes: 1000}
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		if bounded.YAML(text, limits) != nil {
			return
		}
		var decoded any
		if yaml.Unmarshal(text, &decoded) != nil {
			return
		}
		// A decoder that the scan does not know may stop at another end of the first document.
		if _, err := bounded.Value(decoded, limits); err != nil {
			t.Errorf("accepted, but: %v", err)
		}
	})
}

// A text that JSON accepts must have exactly the counted nodes.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x\"",true,null,{}]}`, `[[[[]]]]`, `"\\"`, `-1.5e3`, `{"a":{},"b":""}`} {
		f.Add([]byte(seed))
	}
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		var decoded any
		if json.Unmarshal(text, &decoded) != nil {
			return
		}
		counted, err := bounded.JSON(text, bounded.Limits{})
		if err != nil {
			return
		}
		// Duplicate keys are counted, and decoded once.
		if nodes, err := bounded.Value(decoded, bounded.Limits{}); err != nil || nodes > counted {
			t.Errorf("counted %d, decoded %d, %v", counted, nodes, err)
		}
	})
}

// A text that TOML accepts must have no more levels than the limit when it is decoded.
func FuzzTOML(f *testing.F) {
	for _, seed := range []string{
		"a = 1\n", "[a.b]\nc.d = [[1], {e = 2}]\n", "[[a]]\n[[a.b]]\n", "a = '''x'''''\n", `a = """\""""`,
		"'a.b'.\"c\" = 1.5",
		"a = [\n[ # ]\n1]\n]", "a={b.c={d.e=1}}",
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		if bounded.TOML([]byte(text), bounded.Limits{Depth: 8}) != nil {
			return
		}
		decoded := map[string]any{}
		if _, err := toml.Decode(text, &decoded); err != nil {
			return
		}
		// Each array of tables is a list and a map.
		if deepest := depthOf(decoded); deepest > 2*8+2 {
			t.Errorf("%q nests %d deep", text, deepest)
		}
	})
}

// A regular expression that is accepted must compile within the bounds.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{
		"a{3}", "(a{10}){10}", `\pL*?(?i)[^a-z]{2,}`, "(", "((a|b){0,1000}){1000}",
		"(?P<a>.)$",
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, expression string) {
		size, err := bounded.Pattern(expression)
		if err != nil {
			return
		}
		if _, err := regexp.Compile(expression); err == nil && size > bounded.MaxPattern {
			t.Errorf("accepted with %d instructions", size)
		}
	})
}

func depthOf(data any) int {
	deepest := 0
	switch data := data.(type) {
	case map[string]any:
		for _, value := range data {
			deepest = max(deepest, depthOf(value))
		}
	case []map[string]any:
		for _, value := range data {
			deepest = max(deepest, depthOf(value))
		}
	case []any:
		for _, value := range data {
			deepest = max(deepest, depthOf(value))
		}
	default:
		return 0
	}
	return deepest + 1
}

func Example() {
	text := []byte("x: [" + strings.Repeat("{},", 5_000_000) + "]")
	fmt.Println(bounded.YAML(text, bounded.Limits{}))
	// Output: line 1: more than 200000 maps, lists, values and keys: the limit protects the memory of the operator
}
