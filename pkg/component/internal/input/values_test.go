package input

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// inputsOf returns inputs with the given parameters, and contents of a Secret and a ConfigMap.
func inputsOf(t *testing.T, parameters map[string]any, secret, config map[string]string) Inputs {
	t.Helper()
	in := Inputs{Declaration: Declaration{Parameters: parameters}}
	for kind, texts := range map[metav1alpha1.ReferenceKind]map[string]string{
		metav1alpha1.SecretReference: secret, metav1alpha1.ConfigMapReference: config,
	} {
		ref := NewReference("shop", metav1alpha1.Reference{Kind: kind, Name: "db"})
		data := map[string][]byte{}
		for key, text := range texts {
			data[key] = []byte(text)
		}
		if err := ref.SetData(data); err != nil {
			t.Fatal(err)
		}
		in.References = append(in.References, ref)
	}
	return in
}

func TestChangesNameTheValuesThatDiffer(t *testing.T) {
	type values = map[string]any
	type texts = map[string]string
	long := strings.Repeat("x", maxText+1)
	for _, c := range []struct {
		name            string
		before, after   values
		secret, later   texts
		config, config2 texts
		want            []string
	}{
		{name: "the same values", before: values{"a": int64(1)}, after: values{"a": int64(1)}},
		{
			name: "a number, and a text below", before: values{"replicas": int64(1), "image": values{"tag": "1.0"}},
			after: values{"replicas": int64(2), "image": values{"tag": "1.1"}},
			want:  []string{"image.tag: 1.0 → 1.1", "replicas: 1 → 2"},
		},
		{
			name: "a value that is added and a value that is removed", before: values{"a": true}, after: values{"b": false},
			want: []string{"a: removed", "b: added, false"},
		},
		{
			name: "an item of a list", before: values{"env": []any{values{"name": "A"}}},
			after: values{"env": []any{values{"name": "B"}, "x"}}, want: []string{"env[0].name: A → B", "env[1]: added, x"},
		},
		{
			name: "an empty map and an empty text", before: values{"a": values{}, "b": ""},
			after: values{"a": nil, "b": "x"}, want: []string{"a: {} → null", `b: "" → x`},
		},
		{
			name:   "long texts, texts of several lines and names of secrets are not shown",
			before: values{"long": long, "lines": "a\nb", "adminPassword": "old", "api_key": "a"},
			after:  values{"long": long + "y", "lines": "a\nc", "adminPassword": "new", "api_key": "b"},
			want:   []string{"adminPassword: changed", "api_key: changed", "lines: changed", "long: changed"},
		},
		{
			name: "values of a Secret are named only", secret: texts{"values.yaml": "login: {user: root}\nport: 1"},
			later: texts{"values.yaml": "login: {user: admin}\nport: 1\nhost: db"},
			want:  []string{"Secret db: host: added", "Secret db: login.user: changed"},
		},
		{
			name: "values of a ConfigMap are shown", config: texts{"values.yaml": "port: 1", "more": "a: b"},
			config2: texts{"values.yaml": "port: 1000000", "more": "a: b"},
			want:    []string{"ConfigMap db: values.yaml/port: 1 → 1000000"},
		},
		{
			name: "data that is no map is named by its key", secret: texts{"ca.crt": "one"}, later: texts{"ca.crt": "two"},
			want: []string{"Secret db: ca.crt: changed"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := inputsOf(t, c.before, c.secret, c.config).Values()
			got := before.ChangesTo(inputsOf(t, c.after, c.later, c.config2).Values())
			if !slices.Equal(got, c.want) {
				t.Errorf("the changed values are %q, want %q", got, c.want)
			}
		})
	}
}

func TestChangesOfTheSpec(t *testing.T) {
	of := func(path, source string, replicas int) Inputs {
		return Inputs{Declaration: Declaration{
			Parameters: map[string]any{"replicas": int64(replicas)}, SourceName: "ConfigMap " + source,
			Rendered: map[string]any{
				"path": path, "values": map[string]any{"replicas": replicas}, "source": map[string]any{"name": source},
			},
		}}
	}
	got := of("a", "one", 1).Values().ChangesTo(of("b", "two", 2).Values())
	if want := []string{"replicas: 1 → 2", "spec.path: a → b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: values are named once, and the source is not a value", got, want)
	}
}

func TestManyChangesAreShortened(t *testing.T) {
	of := func(n int, text string) Inputs {
		parameters := map[string]any{}
		for i := range n {
			parameters[fmt.Sprintf("value%04d", i)] = text
		}
		return Inputs{Declaration: Declaration{Parameters: parameters}}
	}
	got := of(maxChanges+3, "a").Values().ChangesTo(of(maxChanges+3, "b").Values())
	if len(got) != maxChanges+1 || got[0] != "value0000: a → b" || got[maxChanges] != "and 3 more" {
		t.Errorf("the list of changed values is not shortened: %q", got)
	}
	if got := of(1, "a").Values().ChangesTo(of(maxValues+1, "b").Values()); got != nil {
		t.Errorf("got the changes %q of inputs with too many values", got)
	}
}

func TestNeitherTheSourceNorCredentialsAreValues(t *testing.T) {
	for _, c := range []struct {
		name string
		ref  Reference
	}{{"source", Reference{source: true}}, {"credential", Reference{credential: true}}} {
		if err := c.ref.SetData(map[string][]byte{"values.yaml": []byte("a: b")}); err != nil {
			t.Fatal(err)
		}
		if values := (Inputs{References: []Reference{c.ref}}).Values(); len(values) > 0 {
			t.Errorf("%s: got the values %v, want none", c.name, values)
		}
	}
}

// A long path would be repeated for each value of a list.
func TestInputsWithLongPathsAreNotCompared(t *testing.T) {
	long := strings.Repeat("a", 700<<10)
	many := make([]any, 100_000)
	deep := map[string]any{}
	for range 9000 {
		deep = map[string]any{strings.Repeat("a", 100): deep}
	}
	for name, parameters := range map[string]map[string]any{
		"a long key with many values": {long: many}, "many values": {"a": many}, "long paths": deep,
	} {
		t.Run(name, func(t *testing.T) {
			if values := inputsOf(t, parameters, nil, nil).Values(); values != nil {
				t.Errorf("%d values are compared", len(values))
			}
		})
	}
	if values := inputsOf(t, map[string]any{"a": "b"}, nil, map[string]string{"c": long + ": [1, 2]"}).
		Values(); len(values) != 2 {
		t.Errorf("%d values are compared, want the parameter, and the text as a whole", len(values))
	}
}
