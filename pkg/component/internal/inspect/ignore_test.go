package inspect

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestIgnoredFieldsAreNoDrift(t *testing.T) {
	const mark = `f:annotations: {f:shop.example.com/ignore: {}}`
	rule := map[string]string{"shop.example.com/ignore": "spec.replicas"}
	for _, c := range []struct {
		name          string
		annotations   map[string]string
		before, after string
		equal         bool
	}{
		{
			"a lost field that is ignored", rule, `{f:metadata: {` + mark + `}, f:spec: {f:replicas: {}}}`,
			`{f:metadata: {` + mark + `}}`, true,
		},
		{
			"another lost field", rule, `{f:metadata: {` + mark + `}, f:spec: {f:replicas: {}, f:paused: {}}}`,
			`{f:metadata: {` + mark + `}}`, false,
		},
		{"by a rule of another client", rule, `{f:spec: {f:replicas: {}, f:paused: {}}}`, `{f:spec: {f:paused: {}}}`, false},
		{
			"by a rule that cannot be read",
			map[string]string{"shop.example.com/ignore": "spec..x"},
			`{f:metadata: {` + mark + `}, f:spec: {f:replicas: {}}}`, `{f:metadata: {` + mark + `}}`, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			applied := func(fields string) string {
				obj := &unstructured.Unstructured{Object: map[string]any{}}
				obj.SetAnnotations(c.annotations)
				obj.SetManagedFields([]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, fields)})
				return Metadata(obj, reconciler).Applied
			}
			if got := applied(c.before) == applied(c.after); got != c.equal {
				t.Errorf("equal: %v", got)
			}
		})
	}
}

func TestIgnoredFieldsAreNotComparedWithTheManifest(t *testing.T) {
	settings, err := settingtext.Parse(reconciler, map[string]string{reconciler + "/ignore": "spec.replicas"})
	if err != nil {
		t.Fatal(err)
	}
	live := func(replicas int64) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"replicas": replicas,
			"paused":   true,
		}}}
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, `{f:spec: {f:paused: {}}}`), entry(t, "theirs", update, `{f:spec: {f:replicas: {}}}`),
		})
		return obj
	}
	manifest := manifests.Object{Settings: settings, Body: &unstructured.Unstructured{
		Object: map[string]any{"spec": map[string]any{"replicas": int64(2), "paused": true}},
	}}
	two := Compare(plan.Observed{}, live(2), manifest, metav1alpha1.UpdateSSAOverride, reconciler)
	five := Compare(plan.Observed{}, live(5), manifest, metav1alpha1.UpdateSSAOverride, reconciler)
	if two.Coverage != plan.CoverageFull || two.Values != five.Values {
		t.Errorf("got %v, %v", two, five)
	}
	if found := ConflictingManagers(live(5), manifest, metav1alpha1.UpdateSSAOverride, reconciler); found != nil {
		t.Errorf("conflicts: %v", found)
	}
	manifest.Settings = manifests.Settings{}
	if found := ConflictingManagers(live(5), manifest, metav1alpha1.UpdateSSAOverride, reconciler); len(found) != 1 {
		t.Errorf("without the rule: %v", found)
	}
}

func TestRulesOfIgnoredFieldsAreThoseThatTheReconcilerWrote(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAnnotations(map[string]string{
		reconciler + "/ignore": "spec.replicas", reconciler + "/ignored-by-option": "spec.paused",
		reconciler + "/ignored-by-spec": "spec.theirs",
	})
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry(t, reconciler, apply, `{f:metadata: {f:annotations: {f:shop.example.com/ignore: {}}}}`),
		entry(t, reconciler, update, `{f:metadata: {f:annotations: {f:shop.example.com/ignored-by-option: {}}}}`),
		entry(t, "theirs", update, `{f:metadata: {f:annotations: {f:shop.example.com/ignored-by-spec: {}}}}`),
	})
	var got []string
	for _, i := range Ignored(obj, reconciler) {
		got = append(got, i.Path.String()+" "+string(i.Source))
	}
	if want := []string{"spec.replicas annotation", "spec.paused option"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
