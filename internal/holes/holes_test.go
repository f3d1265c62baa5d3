package holes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/internal/holes"
)

var scope = expression.Scope{Variables: []string{"host", "port"}}

// filled returns a body with the values host "db" and port 5432 in its holes.
func filled(t *testing.T, body map[string]any, gk schema.GroupKind) (map[string]any, error) {
	t.Helper()
	return holes.Map(body, gk, scope, nil, func(at holes.Place, parts []holes.Part) (any, error) {
		return holes.Fill(t.Context(), parts, map[string]any{"host": "db", "port": int64(5432)}, at.IsText(gk))
	})
}

func TestMap(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		body, want map[string]any
		err        string
	}{
		{
			"a value that is a whole field keeps its type", "Widget",
			map[string]any{"spec": "${{ port }}"},
			map[string]any{"spec": int64(5432)},
			"",
		},
		{
			"parts of a text are joined", "Widget",
			map[string]any{"spec": []any{"a ${{ host }}:${{ port }}"}},
			map[string]any{"spec": []any{"a db:5432"}},
			"",
		},
		{
			"the data of a ConfigMap are texts", "ConfigMap",
			map[string]any{"data": map[string]any{"a": "${{ port }}"}},
			map[string]any{"data": map[string]any{"a": "5432"}},
			"",
		},
		{
			"the data of a Secret are decoded and encoded", "Secret",
			map[string]any{"data": map[string]any{"a": "JHt7IGhvc3QgfX0="}},
			map[string]any{"data": map[string]any{"a": "ZGI="}},
			"",
		},
		{
			"braces and quotes belong to the expression", "Widget",
			map[string]any{"spec": `${{ {"a": "}}"}["a"] }}`},
			map[string]any{"spec": "}}"},
			"",
		},
		{
			"an error has the path of the text", "Widget",
			map[string]any{"spec": []any{"a", "${{ host"}},
			nil,
			"spec.1: the hole",
		},
		{
			"an error does not quote a Secret", "Secret",
			map[string]any{"data": map[string]any{"a": "JHt7IHVua25vd24gfX0="}},
			nil, "hole 1 of the text is not valid",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := filled(t, c.body, schema.GroupKind{Kind: c.kind})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

func TestAHoleWithoutAValue(t *testing.T) {
	_, err := holes.Map(map[string]any{"spec": "${{ host.name }}"}, schema.GroupKind{}, scope, nil,
		func(_ holes.Place, parts []holes.Part) (any, error) {
			if holes.Count(parts) != 1 || fmt.Sprint(holes.Variables(parts)) != "[host]" {
				t.Errorf("the parts are %v", parts)
			}
			return holes.Fill(t.Context(), parts, map[string]any{"host": map[string]any{}}, false)
		})
	if !errors.Is(err, holes.ErrNoValue) {
		t.Errorf("got %v", err)
	}
}

func TestPathsAndNull(t *testing.T) {
	body := map[string]any{"spec": map[string]any{"hosts": []any{"a", "x${{ host }}"}, "n": int64(1)}, "data": "b"}
	if diff := cmp.Diff([][]string{{"spec", "hosts"}}, holes.Paths(body, schema.GroupKind{})); diff != "" {
		t.Error(diff)
	}
	known, partial, err := holes.Null(body)
	want := map[string]any{"spec": map[string]any{"hosts": []any{"a", nil}, "n": int64(1)}, "data": "b"}
	if diff := cmp.Diff(any(want), known); diff != "" || !partial || err != nil {
		t.Error(diff, partial, err)
	}
}
