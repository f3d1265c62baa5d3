package fieldset_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

func TestAnItemIsTheOneThatAnElementNames(t *testing.T) {
	for _, c := range []struct {
		name    string
		item    any
		element string
		want    bool
	}{
		{"an item by its key", map[string]any{"name": "a", "x": "y"}, `k:{"name":"a"}`, true},
		{"not another item", map[string]any{"name": "b"}, `k:{"name":"a"}`, false},
		{
			"a number by its value",
			map[string]any{"port": int64(80), "protocol": "TCP"},
			`k:{"port":80,"protocol":"TCP"}`,
			true,
		},
		{"a port without protocol is TCP", map[string]any{"port": int64(80)}, `k:{"port":80,"protocol":"TCP"}`, true},
		{"a port without protocol is not UDP", map[string]any{"port": int64(80)}, `k:{"port":80,"protocol":"UDP"}`, false},
		{"a scalar by its value", "a", `v:"a"`, true},
		{"not another scalar", "a", `v:"b"`, false},
		{"a scalar is not an item with keys", "a", `k:{"name":"a"}`, false},
		{"an item with keys is not a scalar", map[string]any{"name": "a"}, `v:"a"`, false},
		{"no item by an invalid key", map[string]any{"name": "a"}, `k:{`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fieldset.Matches(c.item, c.element); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
