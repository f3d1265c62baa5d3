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
			Client:     announcing{cluster, Options{Watched: watched}.annotations()},
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

func TestTheLeaseSaysTheVersionOfItsLastWriter(t *testing.T) {
	cluster := fake.NewClientset().CoordinationV1()
	for i, version := range []string{"v1.2.0", "v1.3.0", ""} {
		lock := Observe(&resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: DefaultNamespace, Name: Name},
			Client:     announcing{cluster, Options{Version: version}.annotations()},
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
		})
		write := lock.Create
		if i > 0 {
			write = lock.Update
			if _, _, err := lock.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := write(t.Context(), held("me")); err != nil {
			t.Fatal(err)
		}
		lease, err := cluster.Leases(DefaultNamespace).Get(t.Context(), Name, metav1.GetOptions{})
		if err != nil || Version(lease) != version {
			t.Errorf("got the version %q, %v, want %q", Version(lease), err, version)
		}
	}
}
