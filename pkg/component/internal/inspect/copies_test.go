package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// An earlier version wrote no annotation that names the object. Its objects are equal to their manifests nevertheless, so
// that an operator of either version takes them over without a write.
func TestAnObjectWithoutTheAnnotationThatNamesItIsNoDrift(t *testing.T) {
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, annotations: {shop.example.com/digest: d1}}, data: {a: x}}`
	obj, previous := object(t, live), object(t, manifest)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry(t, reconciler, apply, `{f:data: {f:a: {}}, f:metadata: {f:annotations: {f:shop.example.com/digest: {}}}}`),
	})
	current := previous.DeepCopy()
	current.SetAnnotations(map[string]string{
		reconciler + "/digest": "d1",
		reconciler + "/object": "ConfigMap shop/settings",
	})
	facts := func(manifest manifests.Object) plan.Observed {
		return Compare(plan.Observed{}, obj, manifest, metav1alpha1.UpdateSSAOverride, reconciler)
	}
	got, want := facts(manifests.Object{Body: current}), facts(manifests.Object{Body: previous})
	if got.Coverage != plan.CoverageFull || got.Values != want.Values || got.Response != want.Response {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if current.GetAnnotations()[reconciler+"/object"] == "" {
		t.Error("the manifest was changed")
	}

	gk, compared := schema.GroupKind{Kind: "ConfigMap"}, ""
	view := View{Reconciler: reconciler, Matchers: map[schema.GroupKind]Matcher{gk: func(m Match) plan.MatchResult {
		compared = cmp.Diff(m.Desired.GetAnnotations(), m.Live.GetAnnotations())
		return plan.MatchResult{}
	}}}
	view.MatchResult(previous, manifests.Object{Key: manifests.Key{Kind: gk.Kind, Name: "settings"}, Body: current})
	if compared != "" {
		t.Errorf("the matcher sees a difference:\n%s", compared)
	}
}
