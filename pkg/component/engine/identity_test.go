package engine

import "testing"

func TestIdentitiesAreToldApart(t *testing.T) {
	one, same := Identity{User: "u", Groups: []string{"a", "b"}}, Identity{User: "u", Groups: []string{"b", "a"}}
	if one.String() != same.String() {
		t.Error("the order of the groups changes the text")
	}
	for _, other := range []Identity{
		{User: "u"},
		{User: "u", Groups: []string{"a"}},
		{User: "u", Groups: []string{"a b"}},
		{User: "v", Groups: one.Groups},
	} {
		if other.String() == one.String() {
			t.Errorf("%+v and %+v have the same text", other, one)
		}
	}
}
