package leader

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestTheLeaseSaysWhichNamespacesAreWatched(t *testing.T) {
	cluster := fake.NewClientset().CoordinationV1()
	election := func(watched ...string) *Lock {
		return Observe(&resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: DefaultNamespace, Name: Name},
			Client:     announcing{cluster, watchedValue(watched)},
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
		})
	}
	stored := func() *coordinationv1.Lease {
		lease, err := cluster.Leases(DefaultNamespace).Get(t.Context(), Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	expect := func(when string, lease *coordinationv1.Lease, want map[string]bool) {
		t.Helper()
		for namespace, watched := range want {
			if Watches(lease, namespace) != watched {
				t.Errorf("%s: namespace %s is watched: %t", when, namespace, !watched)
			}
		}
	}
	if err := election("shop", "blog").Create(t.Context(), held("me")); err != nil {
		t.Fatal(err)
	}
	expect("some namespaces", stored(), map[string]bool{"shop": true, "blog": true, "other": false, "": false})
	if text := stored().Annotations[AnnotationWatched]; strings.Contains(text, "shop") {
		t.Errorf("the annotation names a namespace: %s", text)
	}
	all := election()
	if _, _, err := all.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := all.Update(t.Context(), held("me")); err != nil {
		t.Fatal(err)
	}
	expect("all namespaces", stored(), map[string]bool{"shop": true, "other": true})
}
