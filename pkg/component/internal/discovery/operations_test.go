package discovery

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTheVerbsOfAKindAreThoseOfItsOwnPaths(t *testing.T) {
	operation := func(action, kind string) string {
		return `{"x-kubernetes-action": "` + action +
			`", "x-kubernetes-group-version-kind": {"group": "a", "version": "v1", "kind": "` + kind + `"}}`
	}
	paths := operations{}
	if err := json.Unmarshal([]byte(`{
		"/apis/a/v1/widgets": {"get": `+operation("list", "Widget")+`, "post": `+operation("post", "Widget")+
		`, "parameters": [{"name": "a"}]},
		"/apis/a/v1/widgets/{name}": {"patch": `+operation("patch", "Widget")+`},
		"/apis/a/v1/readings": {"get": `+operation("list", "Reading")+`},
		"/apis/a/v1/readings/{name}/status": {"put": `+operation("put", "Reading")+`}
	}`), &paths); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind   string
		writes []string
		known  bool
	}{
		{"Widget", []string{"create", "patch"}, true},
		{"Reading", nil, true},
		{"Gadget", nil, false},
	} {
		writes, known := paths.writesOf(schema.GroupVersionKind{Group: "a", Version: "v1", Kind: c.kind})
		if known != c.known || !slices.Equal(writes, c.writes) {
			t.Errorf("%s: the verbs are %v (known: %t), want %v (%t)", c.kind, writes, known, c.writes, c.known)
		}
		if supports := (&Type{writes: writes, listed: known}).Supports("patch"); supports != (c.kind != "Reading") {
			t.Errorf("%s supports patch: %t", c.kind, supports)
		}
	}
	if (*Type)(nil).Supports("patch") {
		t.Error("a type without a schema is not looked up in discovery")
	}
}

func TestAKindIsASubresourceIfItsGroupHasItOnlyBelowOthers(t *testing.T) {
	gv := schema.GroupVersion{Group: "a", Version: "v1"}
	lists := &resourceLists{known: map[schema.GroupVersion]resourceList{gv: {resources: []metav1.APIResource{
		{Name: "widgets", Kind: "Widget"},
		{Name: "widgets/status", Kind: "Widget"},
		{Name: "widgets/console", Kind: "Console"},
		{Name: "widgets/scale", Kind: "Scale", Group: "autoscaling", Version: "v1"},
	}}}}
	r := &Reader{lists: lists}
	for kind, want := range map[string]bool{"Widget": false, "Console": true, "Scale": false, "Unknown": false} {
		if got := r.IsSubresource(gv.WithKind(kind)); got != want {
			t.Errorf("%s is only a subresource: %t, want %t", kind, got, want)
		}
	}
	if r.IsSubresource(schema.GroupVersionKind{Group: "b", Version: "v1", Kind: "Console"}) {
		t.Error("a group that was not read has subresources")
	}
}
