package operator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestExportedValue(t *testing.T) {
	references := generator.References{
		{Kind: metav1alpha1.ComponentReference, Namespace: "shop", Name: "db"}: {
			"host": []byte(`"10.0.0.1"`), "port": []byte(`5432`), "ratio": []byte(`0.5`), "tls": []byte(`true`),
			"all": []byte(`{"a":[1,"x"]}`), "deep": []byte(strings.Repeat("[", 2000) + strings.Repeat("]", 2000)),
		},
	}
	type values = map[string]any
	for _, c := range []struct {
		export, path string
		optional     bool
		want         values
		failure      string
	}{
		{"host", "", false, values{"host": "10.0.0.1"}, ""},
		{"port", "database.port", false, values{"database": values{"port": int64(5432)}}, ""},
		{"ratio", "r", false, values{"r": 0.5}, ""},
		{"tls", `a\.b.c\\d`, false, values{"a.b": values{`c\d`: true}}, ""},
		{"all", "x", false, values{"x": values{"a": []any{int64(1), "x"}}}, ""},
		{"missing", "x", true, nil, ""},
		{"missing", "x", false, nil, "Component shop/db has published no export missing"},
		{"deep", "x", false, nil, "Component shop/db, export deep: "},
	} {
		from := metav1alpha1.ValuesReference{
			Kind: metav1alpha1.ComponentReference, Name: "db", Export: c.export, Path: c.path, Optional: c.optional,
		}
		got, _, err := valuesFrom(from, "shop", references)
		if c.failure != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.failure) {
				t.Errorf("%s: got %v, want an error that begins with %q", c.export, err, c.failure)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, want (-) got (+):\n%s", c.export, err, diff)
		}
	}
}
