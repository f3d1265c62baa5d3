package inspect

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestVerdict(t *testing.T) {
	edits := func(m Match) plan.MatchResult {
		m.Desired.Object["changed"], m.Live.Object["changed"] = true, true
		return plan.MatchResult{Differs: "x"}
	}
	panics := func(m Match) plan.MatchResult { panic(m.Live.Object["data"]) }
	sees := func(m Match) plan.MatchResult {
		return plan.MatchResult{Differs: fmt.Sprintf("%s %t", m.Component.GetName(), m.Changed)}
	}
	for _, c := range []struct {
		name, kind string
		match      Matcher
		want       *plan.MatchResult
	}{
		{"a matcher gets copies", "ConfigMap", edits, &plan.MatchResult{Differs: "x"}},
		{
			"a matcher sees the component, and that the manifest changed", "ConfigMap", sees,
			&plan.MatchResult{Differs: "shop true"},
		},
		{"a kind without a matcher has no result", "ConfigMap", nil, nil},
		{"a panic is a failed comparison", "ConfigMap", panics, &plan.MatchResult{Failed: "its matcher panicked: map[a:x]"}},
		{"a panic about a Secret shows no data", "Secret", panics, &plan.MatchResult{Failed: "its matcher panicked"}},
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
			shop := &metav1.ObjectMeta{Name: "shop"}
			got := v.For(shop).MatchResult(obj, manifests.Object{
				Key: manifests.Key{Kind: c.kind, Name: "settings"}, Body: body, Digest: "another",
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if obj.Object["changed"] != nil || body.Object["changed"] != nil {
				t.Error("the matcher changed an object")
			}
		})
	}
}
