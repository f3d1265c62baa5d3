package protect

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
)

func TestIncidentalObjects(t *testing.T) {
	now := metav1.Now()
	p := New(nil, slices.Concat(WellKnown, []Incidental{
		{Kind: "Secret", Name: "pull"},
		{Group: "example.com", Kind: "Report"},
		{Kind: "ConfigMap", Labels: map[string]string{"bundle": "all"}},
	}), nil)
	for _, c := range []struct {
		name        string
		group, kind string
		meta        metav1.ObjectMeta
		want        bool
	}{
		{
			"an object that a user created blocks the deletion of a namespace",
			"", "ConfigMap",
			metav1.ObjectMeta{Name: "settings"},
			false,
		},
		{
			"an object that is being deleted",
			"", "ConfigMap",
			metav1.ObjectMeta{Name: "settings", DeletionTimestamp: &now},
			true,
		},
		{
			"an object that a controller owns", "", "ConfigMap",
			metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: new(true)}}},
			true,
		},
		{
			"an object whose owner is not a controller blocks the deletion of a namespace", "", "ConfigMap",
			metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{}}},
			false,
		},
		{"the certificate authority of Kubernetes", "", "ConfigMap", metav1.ObjectMeta{Name: "kube-root-ca.crt"}, true},
		{"the default service account", "", "ServiceAccount", metav1.ObjectMeta{Name: "default"}, true},
		{
			"a Secret of a service account", "", "Secret",
			metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/service-account.name": "a"}},
			true,
		},
		{
			"another object with the annotation of a service account blocks the deletion of a namespace", "", "ConfigMap",
			metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/service-account.name": "a"}},
			false,
		},
		{"the certificate authority of a mesh", "", "ConfigMap", metav1.ObjectMeta{Name: "istio-ca-root-cert"}, true},
		{
			"a role binding of a distribution", "rbac.authorization.k8s.io", "RoleBinding",
			metav1.ObjectMeta{Name: "system:image-pullers"},
			true,
		},
		{
			"an object of the same name in another API group blocks the deletion of a namespace", "example.com", "RoleBinding",
			metav1.ObjectMeta{Name: "system:image-pullers"},
			false,
		},
		{"an object that is configured by name", "", "Secret", metav1.ObjectMeta{Name: "pull"}, true},
		{
			"another object of the configured kind blocks the deletion of a namespace",
			"", "Secret",
			metav1.ObjectMeta{Name: "pull-too"},
			false,
		},
		{"an object that is configured by kind", "example.com", "Report", metav1.ObjectMeta{Name: "a"}, true},
		{
			"an object that is configured by labels", "", "ConfigMap",
			metav1.ObjectMeta{Name: "a", Labels: map[string]string{"bundle": "all", "more": "b"}},
			true,
		},
		{
			"an object with another value of the configured label blocks the deletion of a namespace", "", "ConfigMap",
			metav1.ObjectMeta{Name: "a", Labels: map[string]string{"bundle": "some"}},
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := discovery.Resource{Kind: c.kind}
			r.Group = c.group
			if got := p.isIncidental(r, &metav1.PartialObjectMetadata{ObjectMeta: c.meta}, nil); got != c.want {
				t.Errorf("isIncidental returned %t, want the opposite", got)
			}
		})
	}
}

func TestDeletedObjectsInAnOwnedNamespace(t *testing.T) {
	now := metav1.Now()
	p := New(nil, nil, nil)
	for _, c := range []struct {
		name       string
		finalizers []string
		owned      bool
		want       bool
	}{
		{"an object that is being deleted", nil, true, true},
		{"an object with a finalizer", []string{"example.com/backup"}, true, true},
		{
			"an object that leaves its own objects blocks the deletion of the namespace",
			[]string{metav1.FinalizerOrphanDependents},
			true, false,
		},
		{
			"an object that leaves its own objects, in a namespace that is a dependent",
			[]string{metav1.FinalizerOrphanDependents},
			false, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Name: "web", DeletionTimestamp: &now, Finalizers: c.finalizers}
			r := discovery.Resource{Kind: "ReplicaSet"}
			var listed map[schema.GroupKind]bool
			if c.owned {
				listed = map[schema.GroupKind]bool{r.GroupKind(): true}
			}
			if got := p.isIncidental(r, &metav1.PartialObjectMetadata{ObjectMeta: meta}, listed); got != c.want {
				t.Errorf("isIncidental returned %t, want the opposite", got)
			}
		})
	}
}
