package plan

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rendered returns a desired object with a manifest.
func rendered(t *testing.T, group, kind, namespace, name, text string) manifests.Object {
	t.Helper()
	body := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &body.Object); err != nil {
		t.Fatal(err)
	}
	return manifests.Object{
		Key: manifests.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}, Body: body,
	}
}

func TestWhatAComponentNeedsItself(t *testing.T) {
	binding := func(subject string) manifests.Object {
		return rendered(t, rbacGroup, "RoleBinding", "shop", "binds", "{roleRef: {kind: Role, name: reads}, subjects: ["+
			subject+"]}")
	}
	volume := func(spec string) manifests.Object { return rendered(t, "", "PersistentVolume", "", "v", "spec: "+spec) }
	claim := func(policy metav1alpha1.DeletePolicy) manifests.Object {
		o := rendered(t, "", "PersistentVolumeClaim", "shop", "data", "spec: {volumeName: v}")
		o.Settings.DeletePolicy = policy
		return o
	}
	kept := func(o manifests.Object) manifests.Object {
		o.Settings.DeletePolicy = metav1alpha1.DeleteOrphan
		return o
	}
	class := rendered(t, "storage.k8s.io", "VolumeAttributesClass", "", "gold", "{}")
	stateful := func(whenDeleted string) manifests.Object {
		return rendered(t, "apps", "StatefulSet", "shop", "db", "spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: "+
			whenDeleted+
			"}, volumeClaimTemplates: [{spec: {}}, {spec: {volumeAttributesClassName: gold}}]}")
	}
	definition := rendered(t, CustomResourceDefinition.Group, CustomResourceDefinition.Kind, "", "shops.example.com", "{}")
	definition.Types = []manifests.ManagedType{{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Shop"}}}
	others := definition
	others.Types = []manifests.ManagedType{{GroupKind: schema.GroupKind{Group: "example.com", Kind: "*"}}}
	rights := []string{"Role.rbac.authorization.k8s.io shop/reads", "RoleBinding.rbac.authorization.k8s.io shop/binds"}
	for _, c := range []struct {
		name    string
		desired []manifests.Object
		want    []string
	}{
		{
			"the binding of its service account and the role",
			[]manifests.Object{binding("{kind: ServiceAccount, namespace: shop, name: app}")},
			rights,
		},
		{
			"a binding that names the account as a user",
			[]manifests.Object{binding("{kind: User, name: 'system:serviceaccount:shop:app'}")},
			rights,
		},
		{
			"a binding of all service accounts of its namespace",
			[]manifests.Object{binding("{kind: Group, name: 'system:serviceaccounts:shop'}")},
			rights,
		},
		{
			"no binding of another account",
			[]manifests.Object{binding("{kind: ServiceAccount, namespace: shop, name: other}")},
			nil,
		},
		{
			"no binding of an account in another namespace",
			[]manifests.Object{binding("{kind: ServiceAccount, namespace: other, name: app}")},
			nil,
		},
		{
			"the binding of its operator and the role",
			[]manifests.Object{binding("{kind: ServiceAccount, namespace: tools, name: fairlead}")},
			rights,
		},
		{
			"no binding of all accounts in the namespace of its operator",
			[]manifests.Object{binding("{kind: Group, name: 'system:serviceaccounts:tools'}")},
			nil,
		},
		{
			"the definition of its own type",
			[]manifests.Object{definition},
			[]string{"CustomResourceDefinition.apiextensions.k8s.io shops.example.com"},
		},
		{"no definition of other types", []manifests.Object{others}, nil},
		{
			"the volume of a claim that is not in the set",
			[]manifests.Object{volume("{claimRef: {namespace: shop, name: data-web-0}}")},
			[]string{"PersistentVolume v"},
		},
		{"the volume of a claim that is kept", []manifests.Object{volume("{}"), claim("")}, []string{"PersistentVolume v"}},
		{"no volume of a claim that is deleted", []manifests.Object{
			volume("{claimRef: {namespace: shop, name: data}}"),
			claim(metav1alpha1.DeleteDelete),
		}, nil},
		{"no volume without a claim", []manifests.Object{volume("{}")}, nil},
		{"the content of a snapshot that is kept", []manifests.Object{
			kept(rendered(t, "snapshot.storage.k8s.io", "VolumeSnapshot", "shop", "s",
				"spec: {source: {volumeSnapshotContentName: c}}")),
			rendered(t, "snapshot.storage.k8s.io", "VolumeSnapshotContent", "", "c", "{}"),
		}, []string{"VolumeSnapshotContent.snapshot.storage.k8s.io c"}},
		{"no content of a snapshot that is deleted", []manifests.Object{
			rendered(t, "snapshot.storage.k8s.io", "VolumeSnapshot", "shop", "s",
				"spec: {source: {volumeSnapshotContentName: c}}"),
			rendered(t, "snapshot.storage.k8s.io", "VolumeSnapshotContent", "", "c",
				"spec: {volumeSnapshotRef: {namespace: shop, name: s}}"),
		}, nil},
		{"the content of a snapshot that is not in the set", []manifests.Object{
			rendered(t, "snapshot.storage.k8s.io", "VolumeSnapshotContent", "", "c",
				"spec: {volumeSnapshotRef: {namespace: shop, name: s}}"),
		}, []string{"VolumeSnapshotContent.snapshot.storage.k8s.io c"}},
		{"the class of a Gateway that is kept", []manifests.Object{
			kept(rendered(t, "gateway.networking.k8s.io", "Gateway", "shop", "g", "spec: {gatewayClassName: c}")),
			rendered(t, "gateway.networking.k8s.io", "GatewayClass", "", "c", "{}"),
			rendered(t, "gateway.networking.k8s.io", "GatewayClass", "", "other", "{}"),
		}, []string{"GatewayClass.gateway.networking.k8s.io c"}},
		{"the claims of a workload that is kept, their volume, and its class", []manifests.Object{
			kept(rendered(t, "apps", "Deployment", "shop", "web", "spec: {template: {spec: {"+
				"volumes: [{name: a, emptyDir: {}}, {name: b, persistentVolumeClaim: {claimName: data}}], resourceClaims: "+
				"[{resourceClaimName: gpu}]}}}")),
			rendered(t, "resource.k8s.io", "ResourceClaim", "shop", "gpu", "{}"),
			claim(metav1alpha1.DeleteDelete), volume("{volumeAttributesClassName: gold}"), class,
		}, []string{
			"PersistentVolume v", "PersistentVolumeClaim shop/data", "ResourceClaim.resource.k8s.io shop/gpu",
			"VolumeAttributesClass.storage.k8s.io gold",
		}},
		{"no claim of a Job that is kept", []manifests.Object{
			kept(rendered(t, "batch", "Job", "shop", "load",
				"spec: {template: {spec: {volumes: [{name: b, persistentVolumeClaim: {claimName: data}}]}}}")),
			claim(metav1alpha1.DeleteDelete),
		}, nil},
		{
			"the class of the claims that a StatefulSet leaves",
			[]manifests.Object{stateful("Retain"), class},
			[]string{"VolumeAttributesClass.storage.k8s.io gold"},
		},
		{"no class of claims that are deleted with their StatefulSet", []manifests.Object{stateful("Delete"), class}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			self := Self{
				Kind: schema.GroupKind{Group: "example.com", Kind: "Shop"}, User: "system:serviceaccount:shop:app",
				Operator: Operator{User: "system:serviceaccount:tools:fairlead"},
			}
			needs := NewNeeds(nil, self, nil, c.desired)
			delete(needs, manifests.Key{Kind: "ServiceAccount", Namespace: "tools", Name: "fairlead"})
			var got []string
			for _, key := range slices.SortedFunc(maps.Keys(needs), manifests.Key.Compare) {
				got = append(got, key.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAnOperatorRunsOnIsNeeded(t *testing.T) {
	in := func(group, kind, namespace, name string) manifests.Key {
		return manifests.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}
	}
	for _, c := range []struct {
		name     string
		operator Operator
		want     []manifests.Key
	}{
		{"its account, namespace and Deployment", Operator{
			User: "system:serviceaccount:tools:fairlead", Namespace: "tools",
			Deployment: "op",
		}, []manifests.Key{
			in("", "Namespace", "", "tools"), in("", "ServiceAccount", "tools", "fairlead"),
			in("apps", "Deployment", "tools", "op"),
		}},
		{"nothing of a user outside the cluster", Operator{User: "jane"}, nil},
		{"nothing of an unknown operator", Operator{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			needs := NewNeeds(nil, Self{Operator: c.operator}, nil, nil)
			if len(needs) != len(c.want) {
				t.Errorf("got %v, want %v", needs, c.want)
			}
			for _, key := range c.want {
				if needs[key] != metav1alpha1.DeleteOrphan {
					t.Errorf("%s has the policy %q, want %q", key, needs[key], metav1alpha1.DeleteOrphan)
				}
			}
		})
	}
}

func TestThePolicyOfANeededObject(t *testing.T) {
	key := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "values"}
	for _, c := range []struct{ needed, own, want metav1alpha1.DeletePolicy }{
		{metav1alpha1.DeleteOrphan, "", metav1alpha1.DeleteOrphan},
		{metav1alpha1.DeleteOrphan, metav1alpha1.DeleteOrphanOnApply, metav1alpha1.DeleteOrphan},
		{metav1alpha1.DeleteOrphanOnApply, "", metav1alpha1.DeleteOrphanOnApply},
		{metav1alpha1.DeleteOrphanOnApply, metav1alpha1.DeleteOrphan, metav1alpha1.DeleteOrphan},
		{metav1alpha1.DeleteOrphanOnApply, metav1alpha1.DeleteOrphanOnDelete, metav1alpha1.DeleteOrphan},
		{"", "", ""},
	} {
		needs := Needs{}
		if c.needed != "" {
			needs[key] = c.needed
		}
		if got := needs.policy(key, c.own); got != c.want {
			t.Errorf("an object with the policy %q that needs %q has the policy %q, want %q", c.own, c.needed, got, c.want)
		}
	}
}
