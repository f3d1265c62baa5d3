package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestVerdict(t *testing.T) {
	edits := func(desired, live *unstructured.Unstructured) plan.Verdict {
		desired.Object["changed"], live.Object["changed"] = true, true
		return plan.Verdict{Differs: "x"}
	}
	panics := func(_, live *unstructured.Unstructured) plan.Verdict { panic(live.Object["data"]) }
	for _, c := range []struct {
		name, kind string
		match      Matcher
		want       *plan.Verdict
	}{
		{"a matcher gets copies", "ConfigMap", edits, &plan.Verdict{Differs: "x"}},
		{"a kind without a matcher has no verdict", "ConfigMap", nil, nil},
		{"a panic is a failed comparison", "ConfigMap", panics, &plan.Verdict{Failed: "its matcher panicked: map[a:x]"}},
		{"a panic about a Secret shows no data", "Secret", panics, &plan.Verdict{Failed: "its matcher panicked"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj, body := object(t, live), object(t, live)
			obj.SetKind(c.kind)
			gk := schema.GroupKind{Kind: c.kind}
			v := View{Reconciler: reconciler}
			if c.match != nil {
				v.Matchers = map[schema.GroupKind]Matcher{gk: c.match}
			}
			if matched := v.Matched(); matched[gk] != (c.match != nil) {
				t.Errorf("the matched kinds are %v", matched)
			}
			got := v.Verdict(obj, manifests.Object{Key: manifests.Key{Kind: c.kind, Name: "settings"}, Body: body})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if obj.Object["changed"] != nil || body.Object["changed"] != nil {
				t.Error("the matcher changed an object")
			}
		})
	}
}
