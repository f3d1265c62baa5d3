package jsontype_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/jsontype"
)

type part struct {
	Size  int    `json:"size,omitempty"`
	Shade string `json:"colour"`
}

type Named struct {
	Hidden string `json:"hidden"`
}

type whole struct {
	part     `json:",inline"`
	Named    `json:"named"`
	Colour   bool `json:"colour"`
	Untagged string
	Left     string `json:"-"`
	private  string
}

func TestFieldsAreThoseOfJSON(t *testing.T) {
	_ = whole{}.private
	for _, c := range []struct {
		what string
		of   reflect.Type
		want []string
	}{
		{"a struct", reflect.TypeFor[whole](), []string{"Untagged", "colour", "named", "size"}},
		{"the struct of a pointer", reflect.TypeFor[*part](), []string{"colour", "size"}},
		{"no struct", reflect.TypeFor[map[string]string](), nil},
	} {
		if got := slices.Sorted(maps.Keys(jsontype.Fields(c.of))); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
	if got := jsontype.Fields(reflect.TypeFor[whole]())["colour"]; got.Kind() != reflect.Bool {
		t.Errorf("a field of the struct itself takes precedence over the one of an embedded struct, got %s", got)
	}
}
