package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestConflictingManagers(t *testing.T) {
	const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: blue, shop.example.com/owner-id: o}}
spec: {replicas: 1, template: {spec: {containers: [{name: main, image: "nginx:1"}]}}}
`
	const all = `{f:metadata: {f:labels: {f:team: {}, f:shop.example.com/owner-id: {}}}, f:spec: {f:replicas: {}, f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}, f:image: {}}}}}}}`
	const withoutReplicas = `{f:metadata: {f:labels: {f:team: {}, f:shop.example.com/owner-id: {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}, f:image: {}}}}}}}`
	scaled := entry(t, "kube-controller-manager", update, `{f:spec: {f:replicas: {}}}`)
	scaled.Subresource = "scale"
	for _, c := range []struct {
		name    string
		policy  metav1alpha1.UpdatePolicy
		managed []metav1.ManagedFieldsEntry
		edit    func(*unstructured.Unstructured)
		want    []plan.ConflictingManager
	}{
		{"none where all is ours", "", []metav1.ManagedFieldsEntry{entry(t, reconciler, apply, all), entry(t, "kubectl", update, `{f:spec: {f:paused: {}}}`)}, nil, nil},
		{"none that owns a field with us", "", []metav1.ManagedFieldsEntry{entry(t, reconciler, apply, all), entry(t, "flux", apply, `{f:spec: {f:replicas: {}}}`)}, nil, nil},
		{
			"who scaled it", "",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, withoutReplicas), scaled},
			nil,
			[]plan.ConflictingManager{{Field: "spec.replicas", Manager: "kube-controller-manager", Operation: "Update", Subresource: "scale"}},
		},
		{
			"who set an image", "",
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply, `{f:metadata: {f:labels: {f:team: {}, f:shop.example.com/owner-id: {}}}, f:spec: {f:replicas: {}, f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}}}}}}}`),
				entry(t, "kubectl-set", update, `{f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {f:image: {}}}}}}}`),
			},
			nil,
			[]plan.ConflictingManager{{Field: `spec.template.spec.containers[name="main"].image`, Manager: "kubectl-set", Operation: "Update"}},
		},
		{
			"several, in order", "",
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply, `{f:metadata: {f:labels: {f:shop.example.com/owner-id: {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}, f:image: {}}}}}}}`),
				entry(t, "kubectl", update, `{f:spec: {f:replicas: {}}}`), entry(t, "flux", apply, `{f:metadata: {f:labels: {f:team: {}}}, f:spec: {f:replicas: {}}}`),
			},
			nil,
			[]plan.ConflictingManager{
				{Field: "metadata.labels.team", Manager: "flux", Operation: "Apply"},
				{Field: "spec.replicas", Manager: "flux", Operation: "Apply"},
				{Field: "spec.replicas", Manager: "kubectl", Operation: "Update"},
			},
		},
		{
			"under replace, who updated it", metav1alpha1.UpdateReplace,
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, update, withoutReplicas), entry(t, "kubectl", update, `{f:spec: {f:replicas: {}}}`)},
			nil,
			[]plan.ConflictingManager{{Field: "spec.replicas", Manager: "kubectl", Operation: "Update"}},
		},
		{
			"who writes under our name in another way, where it is nobody else", "",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, withoutReplicas), entry(t, reconciler, update, `{f:spec: {f:replicas: {}}}`)},
			nil,
			[]plan.ConflictingManager{{Field: "spec.replicas", Manager: reconciler, Operation: "Update"}},
		},
		{
			"a mark of ours that was removed", "",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, `{f:metadata: {f:labels: {f:team: {}}}, f:spec: {f:replicas: {}}}`)},
			func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "blue"}) },
			[]plan.ConflictingManager{{Field: "metadata.labels.shop.example.com/owner-id", Mark: true}},
		},
		{
			"fields that were removed", "",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, `{f:spec: {f:replicas: {}}}`)},
			func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"shop.example.com/owner-id": "o"}) },
			[]plan.ConflictingManager{{Field: "metadata.labels.team"}},
		},
		{"nothing where the managed fields make no sense", "", []metav1.ManagedFieldsEntry{entry(t, reconciler, apply, `{x: 1}`), entry(t, "kubectl", update, `{"k:{": {}}`), {Manager: "empty"}}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := object(t, manifest)
			live.SetManagedFields(c.managed)
			if c.edit != nil {
				c.edit(live)
			}
			got := ConflictingManagers(live, manifests.Object{Body: object(t, manifest)}, c.policy, reconciler)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
