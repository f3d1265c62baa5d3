package inspect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	apply  = metav1.ManagedFieldsOperationApply
	update = metav1.ManagedFieldsOperationUpdate
)

const live = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
  uid: u1
  resourceVersion: "7"
  generation: 2
  labels: {shop.example.com/owner-id: 5e4e05c0d30c259094021acc4c92c01a05dece06}
  annotations: {shop.example.com/owner-id: c/shop.example.com/g/K/ns/n, shop.example.com/digest: d1}
data: {a: x}
`

func TestObjectAndMetadataAgree(t *testing.T) {
	deleted := metav1.NewTime(time.Unix(1000, 0))
	for _, c := range []struct {
		name string
		edit func(*unstructured.Unstructured)
	}{
		{"an object with the reconciler's owner label", func(o *unstructured.Unstructured) {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{
				entry(t, reconciler, apply, `{f:data: {f:a: {}, f:<b>: {}}}`),
				entry(t, "kubectl", update, `{f:data: {}}`),
			})
		}},
		{"an object that a regular update wrote", func(o *unstructured.Unstructured) {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{entry(t, reconciler, update, `{f:data: {f:a: {}}}`)})
		}},
		{"an object that is being deleted", func(o *unstructured.Unstructured) {
			o.SetDeletionTimestamp(&deleted)
			o.SetFinalizers([]string{"a/b"})
		}},
		{"an object with a controller", func(o *unstructured.Unstructured) {
			o.SetLabels(nil)
			o.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Boss", Name: "b", UID: "u",
				Controller: new(true),
			}})
		}},
		{"an object without an owner", func(o *unstructured.Unstructured) { o.SetLabels(nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := object(t, live)
			c.edit(whole)
			partial := &metav1.PartialObjectMetadata{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(whole.Object, partial); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ours.Object(t.Context(), whole), Metadata(partial, reconciler)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	want := plan.Observed{
		Presence: plan.Present, UID: "u1", ResourceVersion: "7", Generation: 2,
		Owner: "5e4e05c0d30c259094021acc4c92c01a05dece06", OwnerName: "c/shop.example.com/g/K/ns/n", Digest: "d1",
		Readiness: ready.Result{State: ready.Ready},
	}
	if diff := cmp.Diff(want, Metadata(object(t, live), reconciler)); diff != "" {
		t.Error(diff)
	}
	t.Run("the controller of an object without our label is its owner", func(t *testing.T) {
		o := object(t, live)
		o.SetLabels(nil)
		o.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Boss", Name: "b", UID: "u",
			Controller: new(true),
		}})
		if got := Metadata(o, reconciler); got.Owner != "Boss b" || got.OwnerName != "Boss b" {
			t.Errorf("the object has the owner %q with the name %q, want Boss b", got.Owner, got.OwnerName)
		}
	})
	t.Run("an object with a deletion timestamp is terminating", func(t *testing.T) {
		o := object(t, live)
		o.SetDeletionTimestamp(new(metav1.NewTime(time.Unix(1000, 0))))
		if got := Metadata(o, reconciler); !got.Terminating || got.Readiness.State != ready.Terminating {
			t.Errorf("an object that is being deleted must be Terminating, got %+v", got)
		}
	})
}

func TestFinished(t *testing.T) {
	for _, c := range []struct {
		name, object string
		want         bool
	}{
		{
			"a succeeded Job with ttlSecondsAfterFinished",
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {ttlSecondsAfterFinished: 10}, status: {conditions: [{type: Complete, status: "True"}]}}`, true,
		},
		{
			"not a failed Job",
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {ttlSecondsAfterFinished: 10}, status: {conditions: [{type: Failed, status: "True"}]}}`, false,
		},
		{
			"not a running Job",
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {ttlSecondsAfterFinished: 10}, status: {conditions: [{type: Complete, status: "False"}]}}`, false,
		},
		{
			"not a succeeded Job without ttlSecondsAfterFinished",
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {}, status: {conditions: [{type: Complete, status: "True"}]}}`, false,
		},
		{
			"not a Job of another API group",
			`{apiVersion: example.com/v1, kind: Job, metadata: {name: a}, spec: {ttlSecondsAfterFinished: 10}, status: {conditions: [{type: Complete, status: "True"}]}}`, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ours.Object(t.Context(), object(t, c.object)).Finished; got != c.want {
				t.Errorf("the object is reported as finished: %v", got)
			}
		})
	}
}

func TestHashesOfManagedFields(t *testing.T) {
	base := entry(t, reconciler, apply, `{f:data: {f:a: {}, f:b: {}}}`)
	hashes := func(entries ...metav1.ManagedFieldsEntry) [2]string {
		o := object(t, live)
		o.SetManagedFields(entries)
		got := Metadata(o, reconciler)
		return [2]string{got.Applied, got.Updated}
	}
	want := hashes(base)[0]
	if want == "" {
		t.Fatal("the hash of the applied fields is empty")
	}
	edited := func(edit func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
		e := *base.DeepCopy()
		edit(&e)
		return e
	}
	for _, c := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    [2]string
	}{
		{
			"the hash does not depend on the time of the entry",
			[]metav1.ManagedFieldsEntry{edited(func(e *metav1.ManagedFieldsEntry) {
				e.Time = new(metav1.NewTime(time.Unix(5,
					0)))
			})},
			[2]string{want, ""},
		},
		{
			"the hash does not depend on the order of keys",
			[]metav1.ManagedFieldsEntry{edited(func(e *metav1.ManagedFieldsEntry) {
				e.FieldsV1.SetRawBytes([]byte(`{ "f:data" : {"f:b":{},"f:a":{}}}`))
			})},
			[2]string{want, ""},
		},
		{
			"the hash does not depend on the entries of other managers",
			[]metav1.ManagedFieldsEntry{entry(t, "kubectl", apply, `{f:x: {}}`), base},
			[2]string{want, ""},
		},
		{
			"the hash does not depend on entries of subresources",
			[]metav1.ManagedFieldsEntry{base, edited(func(e *metav1.ManagedFieldsEntry) {
				e.Subresource = "status"
				e.FieldsV1.SetRawBytes([]byte(`{"f:status":{}}`))
			})},
			[2]string{want, ""},
		},
		{
			"an Update entry of the reconciler has a separate hash",
			[]metav1.ManagedFieldsEntry{edited(func(e *metav1.ManagedFieldsEntry) { e.Operation = update })},
			[2]string{"", want},
		},
		{
			"the hash is empty if the reconciler has no entry",
			[]metav1.ManagedFieldsEntry{entry(t, "kubectl", apply, `{f:x: {}}`)},
			[2]string{"", ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := hashes(c.entries...); got != c.want {
				t.Errorf("the hashes of the managed fields are %v, want %v", got, c.want)
			}
		})
	}
	t.Run("objects without an owner that the reconciler only holds have no hash", func(t *testing.T) {
		finalizers := entry(t, reconciler, update, `{f:metadata: {f:finalizers: {"v:a": {}}}}`)
		for _, c := range []struct {
			name, label string
			entry       metav1.ManagedFieldsEntry
			held        bool
		}{
			{"a dependent that lost its label", "other", base, false},
			{"a record", reconciler + "/held", base, true},
			{"a guard", reconciler + "/guard-of", base, true},
			{"an object with our finalizer", "other", finalizers, true},
		} {
			o := object(t, live)
			o.SetLabels(map[string]string{c.label: "x"})
			o.SetManagedFields([]metav1.ManagedFieldsEntry{c.entry})
			if got := Metadata(o, reconciler); (got.Applied+got.Updated == "") != c.held {
				t.Errorf("%s has the hashes %q and %q", c.name, got.Applied, got.Updated)
			}
		}
	})
	t.Run("the hash depends on the fields and the apiVersion", func(t *testing.T) {
		lost := edited(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1.SetRawBytes([]byte(`{"f:data":{"f:a":{}}}`)) })
		converted := edited(func(e *metav1.ManagedFieldsEntry) { e.APIVersion = "v2" })
		if hashes(lost)[0] == want || hashes(converted)[0] == want {
			t.Error("the hash is equal although the fields or the apiVersion differ")
		}
	})
}

func TestCompare(t *testing.T) {
	desired := func(text string) manifests.Object { return manifests.Object{Body: object(t, text)} }
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: x}}`
	compared := func(o *unstructured.Unstructured, policy metav1alpha1.UpdatePolicy) plan.Observed {
		return Compare(plan.Observed{}, o, desired(manifest), policy, reconciler)
	}
	covering := func(operation metav1.ManagedFieldsOperationType) *unstructured.Unstructured {
		o := object(t, live)
		o.SetManagedFields([]metav1.ManagedFieldsEntry{entry(t, reconciler, operation, `{f:data: {f:a: {}}}`)})
		return o
	}
	for _, c := range []struct {
		name   string
		object *unstructured.Unstructured
		policy metav1alpha1.UpdatePolicy
		want   plan.Coverage
	}{
		{
			"an Apply entry covers the manifest with a policy of server-side apply",
			covering(apply), metav1alpha1.UpdateSSAOverride, plan.CoverageFull,
		},
		{
			"an Apply entry covers the manifest with the policy recreate",
			covering(apply), metav1alpha1.UpdateRecreate, plan.CoverageFull,
		},
		{
			"an Update entry does not cover the manifest with a policy of server-side apply",
			covering(update), metav1alpha1.UpdateSSAMerge, plan.CoveragePartial,
		},
		{
			"an Update entry covers the manifest with the policy replace",
			covering(update), metav1alpha1.UpdateReplace, plan.CoverageFull,
		},
		{
			"an Apply entry does not cover the manifest with the policy replace",
			covering(apply), metav1alpha1.UpdateReplace, plan.CoveragePartial,
		},
		{
			"without an entry of the reconciler nothing is covered",
			object(t, live), metav1alpha1.UpdateSSAOverride, plan.CoveragePartial,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := compared(c.object, c.policy).Coverage; got != c.want {
				t.Errorf("the fields of the object have the coverage %d", got)
			}
		})
	}
	t.Run("the hash of values includes only fields that the manifest sets", func(t *testing.T) {
		added, changed := object(t, live), object(t, live)
		if err := unstructured.SetNestedField(added.Object, "y", "data", "b"); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(changed.Object, "y", "data", "a"); err != nil {
			t.Fatal(err)
		}
		want := compared(object(t, live), "").Values
		if want == "" || compared(added, "").Values != want || compared(changed, "").Values == want {
			t.Errorf("got %s, %s, %s", want, compared(added, "").Values, compared(changed, "").Values)
		}
	})
}

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       bool
	}{
		{"a higher number", "10", "9", true},
		{"a lower number", "9", "10", false},
		{"the same", "9", "9", false},
		{"two different versions, of which one is not a number", "x", "9", true},
		{"two equal versions that are not numbers", "x", "x", false},
		{"a version compared with an empty version", "9", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Newer(c.a, c.b); got != c.want {
				t.Errorf("Newer returned %v, want the opposite", got)
			}
		})
	}
}

func TestHintsAreReadOffTheLiveObject(t *testing.T) {
	for _, c := range []struct {
		name, annotations string
		want              ready.State
	}{
		{"no hint", "{}", ready.Ready},
		{"a hint", "{shop.example.com/status-hint: has-ready-condition}", ready.InProgress},
		{"the hint of another reconciler", "{other.example.com/status-hint: has-ready-condition}", ready.Ready},
		{
			"a hint of which only a part is valid",
			"{shop.example.com/status-hint: 'has-ready-condition,rubbish'}", ready.InProgress,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			widget := object(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, annotations: "+
				c.annotations+"}}")
			if got := ours.Object(t.Context(), widget).Readiness.State; got != c.want {
				t.Errorf("the widget has the readiness %s", got)
			}
		})
	}
}

func TestManagersAndKept(t *testing.T) {
	service := object(t, `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: None}}`)
	scaled := entry(t, "kube-controller-manager", update, `{f:spec: {f:replicas: {}}}`)
	scaled.Subresource = "scale"
	service.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry(t, reconciler, apply, `{f:spec: {f:clusterIP: {}}}`), entry(t, "kubectl", apply, `{}`),
		entry(t, "kubectl", update, `{}`), scaled,
	})
	got := ours.Object(t.Context(), service)
	t.Run("other managers are listed once, without managers that write only subresources", func(t *testing.T) {
		if diff := cmp.Diff([]string{"kubectl"}, got.Managers); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an address of a Service that we set is retained", func(t *testing.T) {
		if diff := cmp.Diff([]string{"spec.clusterIP"}, got.Retained); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("fields of a Deployment that have copies are retained", func(t *testing.T) {
		deployment := object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}`)
		deployment.SetManagedFields([]metav1.ManagedFieldsEntry{
			entry(t, reconciler, apply, `{f:spec: {f:template: {f:spec: {f:serviceAccountName: {}}}}}`),
			entry(t, "kubectl", apply, `{f:spec: {f:template: {f:spec: {f:serviceAccount: {}}}}}`),
		})
		want := []string{"spec.template.spec.serviceAccountName"}
		if diff := cmp.Diff(want, ours.Object(t.Context(), deployment).Retained); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a derived default is retained with its value, unless somebody owns it", func(t *testing.T) {
		network := object(t,
			`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}, spec: {policyTypes: [Ingress, Egress]}}`)
		network.SetManagedFields([]metav1.ManagedFieldsEntry{entry(t, reconciler, apply, `{f:spec: {f:egress: {}}}`)})
		if diff := cmp.Diff([]string{"spec.policyTypes=[Ingress Egress]"},
			ours.Object(t.Context(), network).Retained); diff != "" {
			t.Error(diff)
		}
		network.SetManagedFields([]metav1.ManagedFieldsEntry{entry(t, "kubectl", update, `{f:spec: {f:policyTypes: {}}}`)})
		if retained := ours.Object(t.Context(), network).Retained; retained != nil {
			t.Errorf("the object has the retained fields %v, want none", retained)
		}
	})
	t.Run("an address of a Service that others set is not retained", func(t *testing.T) {
		other := View{Reconciler: "other.example.com"}
		if retained := other.Object(t.Context(), service).Retained; retained != nil {
			t.Errorf("the object has the retained fields %v, want none", retained)
		}
	})
}
