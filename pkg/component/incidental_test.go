package component

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
)

func TestWhatGoesWithItsNamespaceUnmissed(t *testing.T) {
	now := metav1.Now()
	known, err := incidentals([]Incidental{
		{Kind: "Secret", Name: "pull"},
		{Group: "example.com", Kind: "Report"},
		{Kind: "ConfigMap", Labels: map[string]string{"bundle": "all"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		group, kind string
		meta        metav1.ObjectMeta
		want        bool
	}{
		{"what somebody made does not", "", "ConfigMap", metav1.ObjectMeta{Name: "settings"}, false},
		{"what is being deleted", "", "ConfigMap", metav1.ObjectMeta{Name: "settings", DeletionTimestamp: &now}, true},
		{"what follows another object", "", "ConfigMap", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: new(true)}}}, true},
		{"what another object owns without control does not", "", "ConfigMap", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{}}}, false},
		{"the authority of Kubernetes", "", "ConfigMap", metav1.ObjectMeta{Name: "kube-root-ca.crt"}, true},
		{"the default service account", "", "ServiceAccount", metav1.ObjectMeta{Name: "default"}, true},
		{"a Secret of a service account", "", "Secret", metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/service-account.name": "a"}}, true},
		{"the authority of a mesh", "", "ConfigMap", metav1.ObjectMeta{Name: "istio-ca-root-cert"}, true},
		{"a binding that a distribution makes", "rbac.authorization.k8s.io", "RoleBinding", metav1.ObjectMeta{Name: "system:image-pullers"}, true},
		{"nor one of its name and another group", "example.com", "RoleBinding", metav1.ObjectMeta{Name: "system:image-pullers"}, false},
		{"what is configured by name", "", "Secret", metav1.ObjectMeta{Name: "pull"}, true},
		{"nor others of its kind", "", "Secret", metav1.ObjectMeta{Name: "pull-too"}, false},
		{"what is configured by kind", "example.com", "Report", metav1.ObjectMeta{Name: "a"}, true},
		{"what is configured by labels", "", "ConfigMap", metav1.ObjectMeta{Name: "a", Labels: map[string]string{"bundle": "all", "more": "b"}}, true},
		{"nor what carries others", "", "ConfigMap", metav1.ObjectMeta{Name: "a", Labels: map[string]string{"bundle": "some"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := discovery.Resource{Kind: c.kind}
			r.Group = c.group
			e := &Engine{connection: &connection{incidental: known}}
			if got := e.goesByItself(r, &metav1.PartialObjectMetadata{ObjectMeta: c.meta}); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if _, err := incidentals([]Incidental{{Name: "a"}}); err == nil {
		t.Error("an entry without a kind means nothing")
	}
}
