package determinism_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/determinism"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	set, err := manifests.Decode("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := determinism.Plain(set)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

const (
	secretA = "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop}\n"
	mapB    = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\n"
)

func describe(d determinism.Difference) string {
	names, _ := determinism.Names(d.Values, 10)
	return strings.Join(append(names, d.Shape...), "; ")
}

func TestRenderingsDiffer(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"equal renderings", secretA + "data: {k: YQ==}", secretA + "data: {k: YQ==}", ""},
		{"not by the order of their objects", secretA + mapB, mapB + "---\n" + secretA, ""},
		{"by a value", secretA + "data: {k: YQ==, l: YQ==}", secretA + "data: {k: Yg==, l: YQ==}", "Secret shop/db: data.k"},
		{
			"by values in lists, and keys with dots", secretA + "x: [{a.b/c: 1}, 2]", secretA + "x: [{a.b/c: 2}, 3]",
			`Secret shop/db: x[0]["a.b/c"]; Secret shop/db: x[1]`,
		},
		{"by a null", secretA + "x: null", secretA + "x: 1", "Secret shop/db: x"},
		{"by a text instead of a number", secretA + "x: 1", secretA + `x: "1"`, "Secret shop/db: x"},
		{"by an object", secretA, secretA + mapB, "ConfigMap shop/b is in one rendering only"},
		{"by a repeated object", secretA + "---\n" + secretA, secretA, "Secret shop/db is in one rendering only"},
		{
			"by a name", secretA, strings.Replace(secretA, "db", "dc", 1),
			"Secret shop/db is in one rendering only; Secret shop/dc is in one rendering only",
		},
		{
			"by a field", secretA + "data: {k: YQ==}", secretA + "data: {l: YQ==}",
			"Secret shop/db: data.k is in one rendering only; Secret shop/db: data.l is in one rendering only",
		},
		{
			"by the length of a list", secretA + "x: [1]", secretA + "x: [1, 2]",
			"Secret shop/db: x has a different number of elements",
		},
		{"by a map instead of a text", secretA + "x: {}", secretA + "x: a", "Secret shop/db: x has a different type"},
		{"by a list instead of a map", secretA + "x: {}", secretA + "x: []", "Secret shop/db: x has a different type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describe(determinism.Compare(decode(t, c.a), decode(t, c.b))); got != c.want {
				t.Errorf("the difference of the two renderings is %q, want %q", got, c.want)
			}
		})
	}
}

func TestMergeRestoresAnEarlierRendering(t *testing.T) {
	field := func(path ...any) determinism.Field {
		return determinism.Field{Object: manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"}, Path: path}
	}
	for _, c := range []struct {
		name, earlier, rendered string
		fields                  []determinism.Field
		want, unknown           string
	}{
		{
			"only in the given fields", secretA + "data: {k: b2xk, l: b2xk}", secretA + "data: {k: bmV3, l: bmV3, m: bmV3}",
			[]determinism.Field{field("data", "k")},
			secretA + "data: {k: b2xk, l: bmV3, m: bmV3}", "",
		},
		{
			"in lists of the same length", secretA + "x: [{v: 1}, 2]", secretA + "x: [{v: 3}, 4]",
			[]determinism.Field{field("x", 0, "v"), field("x", 1)},
			secretA + "x: [{v: 1}, 2]", "",
		},
		{
			"not in a list with another length", secretA + "x: [{v: 1}]", secretA + "x: [{v: 2}, {v: 3}]",
			[]determinism.Field{field("x", 0, "v")},
			"", "Secret shop/db: x[0].v",
		},
		{
			"not in a new field", secretA, secretA + "data: {k: bmV3}",
			[]determinism.Field{field("data", "k")},
			"",
			"Secret shop/db: data.k",
		},
		{
			"not in a new object", mapB, secretA + "data: {k: bmV3}",
			[]determinism.Field{field("data", "k")},
			"",
			"Secret shop/db: data.k",
		},
		{
			"not in a field that was not a scalar", secretA + "data: {k: {a: b}}", secretA + "data: {k: bmV3}",
			[]determinism.Field{field("data", "k")},
			"", "Secret shop/db: data.k",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			merged, unknown := determinism.Merge(decode(t, c.earlier), decode(t, c.rendered), c.fields)
			names, _ := determinism.Names(unknown, 10)
			if got := strings.Join(names, "; "); got != c.unknown {
				t.Errorf("Merge reported the unknown fields and objects %q, want %q", got, c.unknown)
			}
			if c.want == "" {
				return
			}
			if d := determinism.Compare(merged, decode(t, c.want)); !d.Empty() {
				t.Errorf("the merged rendering differs from the expected rendering: %s", describe(d))
			}
		})
	}
}

func TestADifferenceContainsAnother(t *testing.T) {
	one := determinism.Compare(decode(t, secretA+"x: 1\ny: 1"), decode(t, secretA+"x: 2\ny: 1"))
	both := determinism.Compare(decode(t, secretA+"x: 1\ny: 1"), decode(t, secretA+"x: 2\ny: 2"))
	if !one.Within(both) || both.Within(one) || !one.Within(one) {
		t.Errorf(
			"one within both: %t, both within one: %t, one within itself: %t",
			one.Within(both),
			both.Within(one),
			one.Within(one),
		)
	}
}

func TestFillKeepsTheRenderedValuesThatEarlierObjectsLack(t *testing.T) {
	key := manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"}
	fields := []determinism.Field{{Object: key, Path: []any{"data", "k"}}, {Object: key, Path: []any{"data", "l"}}}
	filled, unknown := determinism.Fill(decode(t, secretA+"data: {k: b2xk}"),
		decode(t, secretA+"data: {k: bmV3, l: bmV3}"), fields)
	if names, _ := determinism.Names(unknown, 10); !slices.Equal(names, []string{"Secret shop/db: data.l"}) {
		t.Errorf("Fill reported the unknown fields %q", names)
	}
	if d := determinism.Compare(filled, decode(t, secretA+"data: {k: b2xk, l: bmV3}")); !d.Empty() {
		t.Errorf("the filled rendering differs from the expected rendering: %s", describe(d))
	}
}

func TestFillAlikeCopiesOnlyValuesOfTheSameType(t *testing.T) {
	key := manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"}
	fields := []determinism.Field{{Object: key, Path: []any{"data", "k"}}}
	for earlier, want := range map[string]string{
		`{k: b2xk}`: `{k: b2xk}`, `{k: null}`: `{k: bmV3}`, `{k: 1}`: `{k: bmV3}`, `{k: {l: b2xk}}`: `{k: bmV3}`,
	} {
		filled, unknown := determinism.FillAlike(
			decode(t, secretA+"data: "+earlier), decode(t, secretA+"data: {k: bmV3}"), fields)
		if copied := earlier == want; (len(unknown) == 0) != copied {
			t.Errorf("with the earlier data %s, the unknown fields are %v", earlier, unknown)
		}
		if d := determinism.Compare(filled, decode(t, secretA+"data: "+want)); !d.Empty() {
			t.Errorf("with the earlier data %s, the rendering differs: %s", earlier, describe(d))
		}
	}
}
