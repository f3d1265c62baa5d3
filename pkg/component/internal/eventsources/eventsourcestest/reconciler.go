package eventsourcestest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// Reconciler notes which components were woken, and what was counted. Components are ConfigMaps here.
type Reconciler struct {
	// Set runs until End is called.
	Set     eventsources.Set
	Context context.Context
	End     context.CancelFunc

	mu     sync.Mutex
	woken  []string
	counts map[string]int
}

// New returns a Reconciler whose Set runs until the end of the test.
func New(t *testing.T) *Reconciler {
	t.Helper()
	r := &Reconciler{counts: map[string]int{}}
	r.Context, r.End = context.WithCancel(t.Context())
	t.Cleanup(r.End)
	r.Set.Start(r.Context, r.Host())
	return r
}

// Host returns the Host of the Set.
func (r *Reconciler) Host() eventsources.Host {
	return eventsources.Host{
		Wake: func(name types.NamespacedName) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.woken = append(r.woken, name.Name)
		},
		Load: func(_ context.Context, name types.NamespacedName) (client.Object, error) {
			return Named(name.Name), nil
		},
		List: func(context.Context) ([]client.Object, error) { return nil, nil },
		Counter: func(kind eventsources.Kind, name string, result eventsources.Result, n int) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.counts[fmt.Sprint(kind, " ", name, " ", result)] += n
		},
	}
}

// Add adds an event source as an input with the name rates, and waits until it runs.
func (r *Reconciler) Add(t *testing.T, source eventsources.EventSource) (remove func()) {
	t.Helper()
	remove, err := r.Set.Add("rates", source, eventsources.Use{Input: true})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return remove
}

// Wakes returns the components that were woken since the last call, sorted, and each of them once.
func (r *Reconciler) Wakes() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	woken := slices.Sorted(slices.Values(r.woken))
	r.woken = nil
	return slices.Compact(woken)
}

// Expect checks which components were woken since the last call.
func (r *Reconciler) Expect(t *testing.T, want ...string) {
	t.Helper()
	if got := r.Wakes(); !slices.Equal(got, want) {
		t.Errorf("woken: %v, want %v", got, want)
	}
}

// Counts returns what was counted, by kind, name and result.
func (r *Reconciler) Counts() map[string]int {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// Named returns a component.
func Named(name string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

// Key returns the name of a component, or of a related object.
func Key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

// ErrDown is an error of a service.
var ErrDown = errors.New("the service is down")
