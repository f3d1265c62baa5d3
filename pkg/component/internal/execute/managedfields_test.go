package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// managed returns an entry of managed fields.
func managed(t *testing.T, manager, operation, fields string) metav1.ManagedFieldsEntry {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	f := &metav1.FieldsV1{}
	f.SetRawBytes(data)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: f,
	}
}

func TestFieldsAreHandedOverToOneApplyEntry(t *testing.T) {
	const ours, ownerLabel = reconciler + "/Apply", "'f:" + reconciler + "/owner-id'"
	for _, c := range []struct {
		name     string
		takeOver bool
		// owner is the owner label of the live object. The manifest has the owner "us".
		owner   string
		entries []metav1.ManagedFieldsEntry
		want    map[string]string
	}{
		{
			name:    "fields of an earlier regular update are listed under Apply",
			entries: []metav1.ManagedFieldsEntry{managed(t, reconciler, "Update", `{f:data: {f:a: {}, f:old: {}}}`)},
			want:    map[string]string{ours: `{f:data: {f:a: {}, f:old: {}}}`},
		},
		{
			name: "our two entries become one",
			entries: []metav1.ManagedFieldsEntry{
				managed(t, reconciler, "Apply", `{f:data: {f:a: {}}}`),
				managed(t, reconciler, "Update", `{f:data: {.: {}, f:old: {}}}`),
			},
			want: map[string]string{ours: `{f:data: {.: {}, f:a: {}, f:old: {}}}`},
		},
		{
			name: "a takeover takes all fields of a predecessor", takeOver: true,
			entries: []metav1.ManagedFieldsEntry{
				managed(t, "kubectl-create", "Update", `{f:data: {.: {}, f:a: {}, f:left: {}}}`),
				managed(t, "somebody", "Update", `{f:data: {f:b: {}}}`),
			},
			want: map[string]string{ours: `{f:data: {.: {}, f:a: {}, f:left: {}}}`, "somebody/Update": `{f:data: {f:b: {}}}`},
		},
		{
			name: "a takeover takes the fields that a predecessor applied server-side", takeOver: true,
			entries: []metav1.ManagedFieldsEntry{managed(t, "kubectl", "Apply", `{f:data: {f:left: {}}}`)},
			want:    map[string]string{ours: `{f:data: {f:left: {}}}`},
		},
		{
			name: "without a takeover a predecessor keeps the fields that we do not set",
			entries: []metav1.ManagedFieldsEntry{
				managed(t, "kubectl-create", "Update", `{f:data: {.: {}, f:a: {}, f:left: {}}}`),
			},
			want: map[string]string{"kubectl-create/Update": `{f:data: {f:left: {}}}`},
		},
		{
			name: "without a takeover a predecessor loses the fields that we set before",
			entries: []metav1.ManagedFieldsEntry{
				managed(t, reconciler, "Apply", `{f:data: {f:old: {}}}`),
				managed(t, "kubectl-create", "Update", `{f:data: {f:old: {}, f:left: {}}}`),
			},
			want: map[string]string{ours: `{f:data: {f:old: {}}}`, "kubectl-create/Update": `{f:data: {f:left: {}}}`},
		},
		{
			name:    "an empty entry is dropped",
			entries: []metav1.ManagedFieldsEntry{managed(t, "kubectl-create", "Update", `{f:data: {.: {}, f:a: {}}}`)},
			want:    map[string]string{},
		},
		{
			name: "the entry of fields without a manager is dropped",
			entries: []metav1.ManagedFieldsEntry{
				managed(t, reconciler, "Apply", `{f:data: {f:a: {}}}`),
				managed(t, "before-first-apply", "Update", `{f:data: {f:a: {}, f:b: {}}}`),
			},
			want: map[string]string{ours: `{f:data: {f:a: {}}}`},
		},
		{
			name: "a takeover leaves an owner label with its value to the client that set it", takeOver: true, owner: "them",
			entries: []metav1.ManagedFieldsEntry{
				managed(t, reconciler, "Apply", `{f:data: {f:a: {}}}`),
				managed(t, "kubectl", "Update", `{f:data: {f:left: {}}, f:metadata: {f:labels: {`+ownerLabel+`: {}}}}`),
			},
			want: map[string]string{
				ours: `{f:data: {f:a: {}, f:left: {}}}`, "kubectl/Update": `{f:metadata: {f:labels: {` + ownerLabel + `: {}}}}`,
			},
		},
		{
			name: "a takeover takes our own owner label", takeOver: true, owner: "us",
			entries: []metav1.ManagedFieldsEntry{
				managed(t, "kubectl", "Update", `{f:data: {f:left: {}}, f:metadata: {f:labels: {`+ownerLabel+`: {}}}}`),
			},
			want: map[string]string{ours: `{f:data: {f:left: {}}, f:metadata: {f:labels: {` + ownerLabel + `: {}}}}`},
		},
		{
			name: "an owner label with its value also stays if fields are shared", owner: "them",
			entries: []metav1.ManagedFieldsEntry{
				managed(t, reconciler, "Apply", `{f:data: {f:a: {}}}`),
				managed(t, "kubectl", "Update", `{f:data: {f:a: {}}, f:metadata: {f:labels: {`+ownerLabel+`: {}}}}`),
			},
			want: map[string]string{
				ours: `{f:data: {f:a: {}}}`, "kubectl/Update": `{f:metadata: {f:labels: {` + ownerLabel + `: {}}}}`,
			},
		},
		{
			name: "the entry of a subresource stays", takeOver: true,
			entries: []metav1.ManagedFieldsEntry{func() metav1.ManagedFieldsEntry {
				e := managed(t, "kubectl", "Update", `{f:spec: {f:replicas: {}}}`)
				e.Subresource = "scale"
				return e
			}()},
			want: map[string]string{"kubectl/Update/scale": `{f:spec: {f:replicas: {}}}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			manifest := &unstructured.Unstructured{
				Object: parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: x}}`),
			}
			live := manifest.DeepCopy()
			if c.owner != "" {
				manifest.SetLabels(map[string]string{reconciler + "/owner-id": "us"})
				live.SetLabels(map[string]string{reconciler + "/owner-id": c.owner})
			}
			a := plan.Action{
				Object:           &manifests.Object{Body: manifest},
				PreviousManagers: plan.PreviousManagers,
				TakeAllFields:    c.takeOver,
			}
			got, err := handOverFields(a, reconciler)(live, c.entries)
			if err != nil {
				t.Fatal(err)
			}
			fields := map[string]any{}
			for _, e := range got {
				name := e.Manager + "/" + string(e.Operation)
				if e.Subresource != "" {
					name += "/" + e.Subresource
				}
				fields[name] = inspect.Shape([]metav1.ManagedFieldsEntry{e})
			}
			want := map[string]any{}
			for name, text := range c.want {
				want[name] = parse(t, text)
			}
			if diff := cmp.Diff(want, fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEntriesAreConvertedToAVersion(t *testing.T) {
	entry := func(apiVersion string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "m", APIVersion: apiVersion}
	}
	before := []metav1.ManagedFieldsEntry{
		entry("example.com/v1alpha1"),
		entry("example.com/v1"),
		entry("other.example.com/v1"),
	}
	got, err := convertVersions("example.com/v1")(nil, before)
	if err != nil {
		t.Fatal(err)
	}
	want := []metav1.ManagedFieldsEntry{entry("example.com/v1"), entry("example.com/v1"), entry("other.example.com/v1")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if before[0].APIVersion != "example.com/v1alpha1" {
		t.Error("the function changed the managed fields of its argument")
	}
}
