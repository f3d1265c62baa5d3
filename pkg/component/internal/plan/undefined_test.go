package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestTypesThatNothingDefines(t *testing.T) {
	scaler := manifests.Object{
		Key: manifests.Key{Group: "keda.sh", Kind: "ScaledObject", Namespace: "shop", Name: "web"}, Version: "v1alpha1",
		Scope: manifests.ScopeUnknown,
	}
	managed := func(group, kind string) manifests.ManagedType {
		return manifests.ManagedType{GroupKind: schema.GroupKind{Group: group, Kind: kind}}
	}
	defining := func(types ...manifests.ManagedType) manifests.Object {
		return manifests.Object{
			Key: manifests.Key{Kind: "Definition", Name: "a"}, Types: types,
			Scope: manifests.ScopeCluster,
		}
	}
	const undefined = "ScaledObject.keda.sh is not served, and nothing here defines it; install what defines " +
		"version v1alpha1"
	const defined = "ScaledObject.keda.sh is not served yet, although it is defined here"
	for _, c := range []struct {
		name    string
		facts   Facts
		message string
	}{
		{"nothing defines it", Facts{Desired: []manifests.Object{scaler}}, undefined},
		{
			"a definition of another type does not count",
			Facts{Desired: []manifests.Object{defining(managed("keda.sh", "ScaledJob")), scaler}},
			undefined,
		},
		{
			"a definition in the set counts",
			Facts{Desired: []manifests.Object{defining(managed("keda.sh", "ScaledObject")), scaler}},
			defined,
		},
		{
			"an aggregated API in the set counts for all its types",
			Facts{Desired: []manifests.Object{scaler, defining(managed("keda.sh", "*"))}},
			defined,
		},
		{
			"a declared pattern of other types does not count",
			Facts{Desired: []manifests.Object{scaler}, Managed: []manifests.ManagedType{managed("*.example.com", "*")}},
			undefined,
		},
		{
			"a pattern that the component declares counts",
			Facts{Desired: []manifests.Object{scaler}, Managed: []manifests.ManagedType{managed("*", "ScaledObject")}},
			defined,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got *Waiting
			for _, w := range ForApply(c.facts).Waiting {
				if w.Key == scaler.Key {
					got = &w
				}
			}
			want := &Waiting{Key: scaler.Key, Reason: WaitNotServed, Message: c.message, Undefined: c.message == undefined}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			listed := Undefined(c.facts.Desired, c.facts.Managed)
			if len(listed) > 0 != want.Undefined {
				t.Errorf("the plan lists the undefined types %v, want the opposite", listed)
			}
		})
	}
}

func TestAFailedRequestIsNoMissingDefinition(t *testing.T) {
	object := manifests.Object{
		Key: manifests.Key{Group: "keda.sh", Kind: "ScaledObject", Name: "web"}, Scope: manifests.ScopeNamespaced,
	}
	failure := &Failure{Class: Transient, Reason: WaitNotServed, Message: "the API server does not serve its type"}
	waiting := ForApply(Facts{
		Desired: []manifests.Object{object}, Results: map[manifests.Key]Result{object.Key: {Failure: failure}},
	}).Waiting
	if len(waiting) != 1 || waiting[0].Undefined || waiting[0].Message != failure.Message {
		t.Errorf("the failed look-up of a type must not report the type as undefined, got %v", waiting)
	}
}

func TestAVersionOfKubernetesThatIsNotServed(t *testing.T) {
	class := manifests.Object{
		Key: manifests.Key{Group: "networking.k8s.io", Kind: "IngressClass", Name: "nginx"}, Version: "v1beta1",
		Scope: manifests.ScopeUnknown,
	}
	const want = "IngressClass.networking.k8s.io is not served in version v1beta1; " +
		"write an apiVersion and a kind that this Kubernetes serves"
	waiting := ForApply(Facts{Desired: []manifests.Object{class}}).Waiting
	if len(waiting) != 1 || !waiting[0].Undefined || waiting[0].Message != want {
		t.Errorf("got %v, want %s", waiting, want)
	}
}
