package sources

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reconciler records which components were woken. Components are ConfigMaps here.
type reconciler struct {
	mu    sync.Mutex
	woken []string
	run   context.Context
	end   context.CancelFunc
	set   Set
}

// newReconciler returns a reconciler whose Set runs until the end of the test.
func newReconciler(t *testing.T) *reconciler {
	t.Helper()
	r := &reconciler{}
	r.run, r.end = context.WithCancel(t.Context())
	t.Cleanup(r.end)
	r.set.Start(r.run, r.host())
	return r
}

func (r *reconciler) host() Host {
	return Host{
		Wake: func(name types.NamespacedName) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.woken = append(r.woken, name.Name)
		},
		Load: func(_ context.Context, name types.NamespacedName) (client.Object, error) {
			return named(name.Name), nil
		},
		List: func(context.Context) ([]client.Object, error) { return nil, nil },
	}
}

// wakes returns the components that were woken since the last call, sorted, and each of them once.
func (r *reconciler) wakes() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	woken := slices.Sorted(slices.Values(r.woken))
	r.woken = nil
	return slices.Compact(woken)
}

func (r *reconciler) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := r.wakes(); !slices.Equal(got, want) {
		t.Errorf("woken: %v, want %v", got, want)
	}
}

func named(name string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

var errDown = errors.New("the service is down")
