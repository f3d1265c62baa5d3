package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	structured "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestTheFieldsOfConflictsAreAcceptedByTheAnnotationIgnore(t *testing.T) {
	for path, want := range map[string]structured.Path{
		"spec.replicas": structured.MakePathOrDie("spec", "replicas"),
		`metadata.annotations["deployment.kubernetes.io/revision"]`: structured.MakePathOrDie(
			"metadata", "annotations", "deployment.kubernetes.io/revision"),
		`data["a.yaml"]`: structured.MakePathOrDie("data", "a.yaml"),
		`spec.ports[port=80,protocol="TCP"].name`: structured.MakePathOrDie(
			"spec", "ports", structured.KeyByFields("port", 80, "protocol", "TCP"), "name"),
		"metadata.finalizers": structured.MakePathOrDie("metadata", "finalizers", value.NewValueInterface("example.com/a")),
		"spec.args":           structured.MakePathOrDie("spec", "args", 3),
	} {
		got := pathText(want)
		if _, err := fieldpath.Parse(got); err != nil || got != path {
			t.Errorf("the field is %q, want %q; %v", got, path, err)
		}
	}
}

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
		{
			"no manager if the reconciler owns all fields of the manifest",
			"",
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply, all),
				entry(t, "kubectl", update, `{f:spec: {f:paused: {}}}`),
			},
			nil, nil,
		},
		{
			"no manager that owns a field together with the reconciler",
			"",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, all), entry(t, "flux", apply, `{f:spec: {f:replicas: {}}}`)},
			nil, nil,
		},
		{
			"the manager that set the replicas through the subresource scale", "",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, withoutReplicas), scaled},
			nil,
			[]plan.ConflictingManager{{
				Field: "spec.replicas", Manager: "kube-controller-manager", Operation: "Update",
				Subresource: "scale",
			}},
		},
		{
			"the manager that set an image", "",
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply,
					`{f:metadata: {f:labels: {f:team: {}, f:shop.example.com/owner-id: {}}}, f:spec: {f:replicas: {}, f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}}}}}}}`),
				entry(t, "kubectl-set", update,
					`{f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {f:image: {}}}}}}}`),
			},
			nil,
			[]plan.ConflictingManager{{
				Field: `spec.template.spec.containers[name="main"].image`, Manager: "kubectl-set",
				Operation: "Update",
			}},
		},
		{
			"several managers, sorted by field and name", "",
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply,
					`{f:metadata: {f:labels: {f:shop.example.com/owner-id: {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}, f:image: {}}}}}}}`),
				entry(t, "kubectl", update, `{f:spec: {f:replicas: {}}}`),
				entry(t, "flux", apply, `{f:metadata: {f:labels: {f:team: {}}}, f:spec: {f:replicas: {}}}`),
			},
			nil,
			[]plan.ConflictingManager{
				{Field: "metadata.labels.team", Manager: "flux", Operation: "Apply"},
				{Field: "spec.replicas", Manager: "flux", Operation: "Apply"},
				{Field: "spec.replicas", Manager: "kubectl", Operation: "Update"},
			},
		},
		{
			"with the update policy replace, the manager that updated a field", metav1alpha1.UpdateReplace,
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, update, withoutReplicas),
				entry(t, "kubectl", update, `{f:spec: {f:replicas: {}}}`),
			},
			nil,
			[]plan.ConflictingManager{{Field: "spec.replicas", Manager: "kubectl", Operation: "Update"}},
		},
		{
			"a client that uses the reconciler's manager name with another operation, if no other manager owns the field", "",
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply, withoutReplicas),
				entry(t, reconciler, update, `{f:spec: {f:replicas: {}}}`),
			},
			nil,
			[]plan.ConflictingManager{{Field: "spec.replicas", Manager: reconciler, Operation: "Update"}},
		},
		{
			"the reconciler's own label that was removed", "",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply,
				`{f:metadata: {f:labels: {f:team: {}}}, f:spec: {f:replicas: {}}}`)},
			func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "blue"}) },
			[]plan.ConflictingManager{{Field: `metadata.labels["shop.example.com/owner-id"]`, Mark: true}},
		},
		{
			"a field that was removed, without a manager", "",
			[]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, `{f:spec: {f:replicas: {}}}`)},
			func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"shop.example.com/owner-id": "o"}) },
			[]plan.ConflictingManager{{Field: "metadata.labels.team"}},
		},
		{
			"no manager if the managed fields are invalid",
			"",
			[]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply, `{x: 1}`), entry(t, "kubectl", update, `{"k:{": {}}`),
				{Manager: "empty"},
			},
			nil, nil,
		},
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
