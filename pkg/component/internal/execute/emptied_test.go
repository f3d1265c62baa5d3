package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutEmptied(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		name       string
		body, want object
	}{
		{"leaves an empty map out", object{"spec": object{"a": object{}, "b": "x"}}, object{"spec": object{"b": "x"}}},
		{"leaves a map out that has no other field", object{"kind": "X", "spec": object{"a": object{}}}, object{"kind": "X"}},
		{"keeps an empty map at another path", object{"spec": object{"b": object{}}}, object{"spec": object{"b": object{}}}},
		{"keeps a map that has entries", object{"spec": object{"a": object{"x": "y"}}}, object{"spec": object{"a": object{"x": "y"}}}},
		{
			"leaves an empty map of an item out",
			object{"spec": object{"items": []any{object{"name": "x", "a": object{}}}}},
			object{"spec": object{"items": []any{object{"name": "x"}}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := withoutEmptied(c.body, []string{"spec.a", "spec.items.a"})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutEmptiedDoesNotChangeTheManifest(t *testing.T) {
	body := map[string]any{"spec": map[string]any{"a": map[string]any{}, "b": "x"}}
	withoutEmptied(body, []string{"spec.a"})
	want := map[string]any{"spec": map[string]any{"a": map[string]any{}, "b": "x"}}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
