package ready

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBeingDeletedNamesTheFinalizersOfControllers(t *testing.T) {
	for _, c := range []struct {
		name       string
		finalizers []string
		want       string
	}{
		{"without a finalizer", nil, "it is being deleted"},
		{"with the finalizer that keeps the objects that it owns", []string{"orphan"}, "it is being deleted"},
		{
			"with the finalizer that deletes the objects that it owns before it",
			[]string{"foregroundDeletion", "orphan"},
			"it is being deleted; the objects that it owns, such as pods, are deleted before it",
		},
		{
			"with a finalizer of Kubernetes",
			[]string{"kubernetes.io/pvc-protection"},
			"it is being deleted; the deletion ends when other controllers have removed their finalizers: " +
				"kubernetes.io/pvc-protection " +
				"(a pod uses the claim)",
		},
		{
			"with finalizers of controllers",
			[]string{"b.example.com/x", "a.example.com/y"},
			"it is being deleted; the deletion ends when other controllers have removed their finalizers: a.example.com/y, " +
				"b.example.com/x",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := BeingDeleted(&metav1.ObjectMeta{Finalizers: c.finalizers})
			if got.State != Terminating || got.Message != c.want {
				t.Errorf("got %+v, want the message %q", got, c.want)
			}
		})
	}
}
