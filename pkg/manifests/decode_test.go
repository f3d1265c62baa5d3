package manifests_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// named returns the manifest of a ConfigMap in the form that Decode returns.
func named(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}
}

func with(object map[string]any, field string, value any) map[string]any {
	object[field] = value
	return object
}

func TestDecode(t *testing.T) {
	const a = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	const b = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}"
	cases := map[string]struct {
		stream string
		want   []map[string]any
	}{
		"nothing": {stream: ""},
		"a stream of comments, directives and markers": {stream: "# a\n---\n---\n%YAML 1.1\n---\n# b\n...\n"},
		"a null document": {stream: "---\nnull\n---\n~\n"},
		"two documents": {
			stream: a + "\n---\n" + b,
			want:   []map[string]any{named("a"), named("b")},
		},
		"a marker at the top, and one at the end": {
			stream: "---\n" + a + "\n---\n",
			want:   []map[string]any{named("a")},
		},
		"a comment behind a marker": {
			stream: "--- # first\n" + a + "\n---\t# second\n" + b,
			want:   []map[string]any{named("a"), named("b")},
		},
		"a document on the line of its marker": {stream: "--- " + a, want: []map[string]any{named("a")}},
		"a document right behind its marker": {
			stream: "---apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}",
			want:   []map[string]any{named("a")},
		},
		"an end marker": {
			stream: a + "\n...\n" + b,
			want:   []map[string]any{named("a"), named("b")},
		},
		"Windows line ends and a byte order mark": {
			stream: "\xef\xbb\xbf---\r\n" + a + "\r\n---\r\n" + b + "\r\n",
			want:   []map[string]any{named("a"), named("b")},
		},
		"JSON": {
			stream: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`,
			want:   []map[string]any{named("a")},
		},
		"dashes in a block": {
			stream: strings.TrimSuffix(a, "}") + ", text: \"---\\n-----BEGIN\"}",
			want:   []map[string]any{with(named("a"), "text", "---\n-----BEGIN")},
		},
		"JSON values one after the other": {
			stream: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`,
			want:   []map[string]any{named("a"), named("b")},
		},
		"a list": {
			stream: "apiVersion: v1\nkind: List\nitems: [" + a + "," + b + "]",
			want:   []map[string]any{named("a"), named("b")},
		},
		"a list without items": {stream: "apiVersion: v1\nkind: List\nitems:\n"},
		"a list in a list": {
			stream: "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [" + a + "]}]}",
			want:   []map[string]any{named("a")},
		},
		"a list whose items do not repeat kind": {
			stream: "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}]}",
			want:   []map[string]any{named("a")},
		},
		"a kind that ends in List and has no items": {
			stream: "{apiVersion: v1, kind: AllowList, metadata: {name: a}}",
			want:   []map[string]any{with(named("a"), "kind", "AllowList")},
		},
		"labels and annotations that are null": {
			stream: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: , labels: , annotations: }}",
			want:   []map[string]any{named("a")},
		},
		"whole numbers, fractions and large ones": {
			stream: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, v: [1, 9007199254740993, 0.5, 1e3, " +
				"18446744073709551615]}",
			want: []map[string]any{
				with(
					named("a"),
					"v",
					[]any{int64(1), int64(9007199254740993), 0.5, int64(1000), 18446744073709551615.0},
				),
			},
		},
		"scalars of YAML 1.1, as kubectl decodes them": {
			stream: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, v: [yes, 0644, ~]}",
			want:   []map[string]any{with(named("a"), "v", []any{true, int64(420), nil})},
		},
		"a key twice, where the last one wins": {
			stream: "{apiVersion: v1, kind: Secret, kind: ConfigMap, metadata: {name: a}}",
			want:   []map[string]any{named("a")},
		},
		"anchors": {
			stream: "{apiVersion: v1, kind: ConfigMap, metadata: {name: &x a}, v: *x}",
			want:   []map[string]any{with(named("a"), "v", "a")},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := manifests.Decode("f.yaml", []byte(c.stream))
			if err != nil {
				t.Fatal(err)
			}
			var got []map[string]any
			for _, object := range objects {
				got = append(got, object.Object)
			}
			if difference := cmp.Diff(c.want, got); difference != "" {
				t.Errorf("-want +got:\n%s", difference)
			}
		})
	}
}

func TestDecodeMendsNullAnnotations(t *testing.T) {
	objects, err := manifests.Decode(
		"f.yaml",
		[]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {v: , w: z}}}"),
	)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(map[string]string{"v": "", "w": "z"}, objects[0].GetAnnotations()); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

func TestDecodeErrors(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	cases := map[string]struct {
		stream string
		want   string
	}{
		"a document that is not YAML": {
			stream: "\n\na: [\n",
			want:   "f.yaml:3: invalid YAML: did not find expected node content",
		},
		"a second document that is not YAML": {
			stream: "# x\n---\n# y\n---\na: 1\nb: c: d\n",
			want:   "f.yaml:6: invalid YAML: mapping values are not allowed in this context",
		},
		"a tab": {
			stream: "---\na:\n\tb: 1\n",
			want:   "f.yaml:3: invalid YAML: found character that cannot start any token",
		},
		"a list at the top": {
			stream: "- a\n",
			want:   "f.yaml:1: this is a list, not a manifest: write apiVersion, kind and metadata",
		},
		"a text at the top": {
			stream: "\nhello\n",
			want:   "f.yaml:2: this is a string, not a manifest: write apiVersion, kind and metadata",
		},
		"an empty map": {
			stream: "{}",
			want: "f.yaml:1: no apiVersion: write one, such as apps/v1\nf.yaml:1: no kind: write one, such as ConfigMap\n" +
				"f.yaml:1: no metadata.name: give the object a name",
		},
		"an apiVersion with too many parts": {
			stream: "{apiVersion: a/b/c, kind: A, metadata: {name: a}}",
			want:   "f.yaml:1: unexpected GroupVersion string: a/b/c",
		},
		"an apiVersion that is a number": {
			stream: "{apiVersion: 1, kind: A, metadata: {name: a}}",
			want:   "f.yaml:1: apiVersion is a number: quote it",
		},
		"an empty name": {
			stream: head + "metadata: {name: ''}",
			want:   "f.yaml:1: metadata.name is empty: give the object a name",
		},
		"a name that is a number": {
			stream: head + "metadata: {name: 1}",
			want:   "f.yaml:1: metadata.name is a number: quote it",
		},
		"a generated name": {
			stream: head + "metadata: {generateName: a-}",
			want: "f.yaml:1: metadata.generateName is not supported, because the object must be found again: write " +
				"metadata.name",
		},
		"metadata that is a list": {
			stream: head + "metadata: []",
			want:   "f.yaml:1: metadata is a list: write a map with a name",
		},
		"a namespace that is a number": {
			stream: head + "metadata: {name: a, namespace: 1}",
			want:   "f.yaml:1: metadata.namespace is a number: quote it",
		},
		"labels that are a list": {
			stream: head + "metadata: {name: a, labels: []}",
			want:   "f.yaml:1: metadata.labels is a list: write a map",
		},
		"annotations that are not strings": {
			stream: head + "metadata: {name: a, annotations: {b: 1, a: true}}",
			want: "f.yaml:1: metadata.annotations[a] is a boolean: quote it\nf.yaml:1: metadata.annotations[b] is a number: " +
				"quote it",
		},
		"an item of a list": {
			stream: "\napiVersion: v1\nkind: List\nitems: [{kind: List, apiVersion: v1, items: [{}]}, 3]",
			want: "f.yaml:2: items[0].items[0]: no apiVersion: write one, such as apps/v1\nf.yaml:2: items[0].items[0]: no " +
				"kind: write one, such as ConfigMap\nf.yaml:2: items[0].items[0]: no metadata.name: give the object a " +
				"name\nf.yaml:2: items[1]: this is a number, not a manifest: write apiVersion, kind and metadata",
		},
		"the second of several JSON values": {
			stream: "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}\n\n" +
				"{\"apiVersion\":\"v1\",\"kind\":\"A\"}",
			want: "f.yaml:3: no metadata.name: give the object a name",
		},
		"mistakes in several documents": {
			stream: head + "---\nkind: A\nmetadata: {name: a}\n---\na: [",
			want: "f.yaml:1: no metadata.name: give the object a name\nf.yaml:4: no apiVersion: write one, such as " +
				"apps/v1\nf.yaml:7: invalid YAML: did not find expected node content",
		},
		"infinity": {
			stream: head + "metadata: {name: a}\nn: .inf",
			want:   "f.yaml:1: invalid YAML: json: unsupported value: +Inf",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := manifests.Decode("f.yaml", []byte(c.stream))
			if err == nil || objects != nil {
				t.Fatalf("want an error and no objects, got %v", objects)
			}
			if difference := cmp.Diff(c.want, err.Error()); difference != "" {
				t.Errorf("-want +got:\n%s", difference)
			}
		})
	}
}

// FuzzDecode checks that decoded manifests are plain data, and that they are equal after they are encoded and decoded
// again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "---\n", "a: [", "{}", "- 1", "{apiVersion: v1, kind: List, items: [{}]}", "---apiVersion: v1\n...\n%YAML\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {x: }\ndata: {a: 1.5, b: 0x10, c: .nan}\n---\n",
		`{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}} {"apiVersion": 1}`, "&a [*a]", "? [a]\n: b",
		"!!binary x", "<<: {a: b}",
	} {
		f.Add([]byte(seed))
	}
	fuzzing.Run(f, func(t *testing.T, stream []byte) {
		objects, err := manifests.Decode("f.yaml", stream)
		if err != nil {
			if objects != nil {
				t.Error("Decode returned objects together with an error")
			}
			return
		}
		for _, object := range objects {
			if object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
				t.Errorf("the object has no apiVersion, kind or name: %v", object)
			}
			copied := runtime.DeepCopyJSON(object.Object)
			text, err := json.Marshal(copied)
			if err != nil {
				t.Fatal(err)
			}
			again, err := manifests.Decode("f.json", text)
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if difference := cmp.Diff(object.Object, again[0].Object); len(again) != 1 || difference != "" {
				t.Errorf("-first +again:\n%s", difference)
			}
		}
	})
}

func TestDecodeWarnsOfKeysThatOccurTwice(t *testing.T) {
	var warnings []string
	decoder := manifests.Decoder{Warn: func(e *manifests.FileError) { warnings = append(warnings, e.Error()) }}
	const stream = "\xef\xbb\xbf# first\n---\n\xef\xbb\xbfapiVersion: v1\nkind: Pod\nmetadata: {name: a, name: b}\n" +
		"\xef\xbb\xbf---\n{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"c\", \"name\": \"d\"}}\n"
	objects, err := decoder.Decode("a.yaml", []byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 || objects[0].GetName() != "b" || objects[1].GetName() != "d" {
		t.Errorf("got %v", objects)
	}
	want := []string{
		`a.yaml:5: the key "name" occurs twice in a map; the last value is used`,
		`a.yaml:7: the key "metadata.name" occurs twice in a map; the last value is used`,
	}
	if !slices.Equal(warnings, want) {
		t.Errorf("got %q", warnings)
	}
	if _, err := manifests.Decode("a.yaml", []byte(stream)); err != nil {
		t.Errorf("without Warn: %v", err)
	}
}
