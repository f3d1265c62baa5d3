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
		{
			"keeps a map that has entries",
			object{"spec": object{"a": object{"x": "y"}}},
			object{"spec": object{"a": object{"x": "y"}}},
		},
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

func TestWithoutNulls(t *testing.T) {
	type object = map[string]any
	body := object{"spec": object{"a": nil, "b": nil, "items": []any{
		object{"name": "x", "a": nil},
		object{"name": "y", "a": object{}},
	}}}
	want := object{"spec": object{"b": nil, "items": []any{object{"name": "x"}, object{"name": "y", "a": object{}}}}}
	got, removed := withoutNulls(body, []string{"spec.a", "spec.items.a"})
	if diff := cmp.Diff(want, got); diff != "" || !removed {
		t.Errorf("removed: %t (-want +got):\n%s", removed, diff)
	}
	if _, removed := withoutNulls(got, []string{"spec.a", "spec.items.a"}); removed {
		t.Error("a field is removed that is not null")
	}
}

func TestIsNullInstead(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		name               string
		manifest, response object
		want               bool
	}{
		{"null", object{"a": object{"b": object{}}}, object{"a": object{"b": nil}}, true},
		{"null in an item", object{"a": []any{object{"b": object{}}}}, object{"a": []any{object{"b": nil}}}, true},
		{"a map that is left out", object{"a": object{}}, object{}, false},
		{"an empty map", object{"a": object{}}, object{"a": object{}}, false},
		{"null in the manifest", object{"a": nil}, object{"a": nil}, false},
	} {
		if got := isNullInstead(c.manifest, c.response); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
