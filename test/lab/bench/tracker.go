package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// standing is the state of a component, from its status.
type standing struct {
	generation int64
	ready      bool
	// stalled is set if the component cannot become ready without a change.
	stalled bool
	message string
}

// tracker watches all components of the cluster.
type tracker struct {
	mutex   sync.Mutex
	known   map[client.ObjectKey]standing
	changed chan struct{} // closed and replaced at every change
}

func newTracker() *tracker {
	return &tracker{known: map[client.ObjectKey]standing{}, changed: make(chan struct{})}
}

// track starts a watch and returns when it has received all components. The watch ends with the context.
func track(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*tracker, error) {
	components, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: dropInventory})
	if err != nil {
		return nil, err
	}
	informer, err := components.GetInformer(ctx, &v1alpha1.Component{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	t := newTracker()
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    t.see,
		UpdateFunc: func(_, object any) { t.see(object) },
		DeleteFunc: t.lose,
	})
	if err != nil {
		return nil, err
	}
	go func() { _ = components.Start(ctx) }() // The watch ends with the context.
	if !components.WaitForCacheSync(ctx) {
		return nil, errors.New("watch the components: the watch does not begin")
	}
	return t, nil
}

// dropInventory removes the inventory to save memory. The benchmark does not read it.
func dropInventory(object any) (any, error) {
	if c, ok := object.(*v1alpha1.Component); ok {
		c.Status.Inventory, c.ManagedFields = nil, nil
	}
	return object, nil
}

func (t *tracker) see(object any) {
	c, ok := object.(*v1alpha1.Component)
	if !ok {
		return
	}
	now := standing{generation: c.Generation}
	if ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady); ready != nil {
		now.message = ready.Reason + ": " + ready.Message
		now.ready = ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == c.Generation
	}
	stalled := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionStalled)
	now.stalled = stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.ObservedGeneration == c.Generation
	t.update(func() { t.known[client.ObjectKeyFromObject(c)] = now })
}

func (t *tracker) lose(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if c, ok := object.(*v1alpha1.Component); ok {
		t.update(func() { delete(t.known, client.ObjectKeyFromObject(c)) })
	}
}

func (t *tracker) update(change func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	change()
	close(t.changed)
	t.changed = make(chan struct{})
}

// in returns the components in a namespace, and a channel that is closed at the next change.
func (t *tracker) in(namespace string) (map[string]standing, <-chan struct{}) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found := map[string]standing{}
	for key, s := range t.known {
		if key.Namespace == namespace {
			found[key.Name] = s
		}
	}
	return found, t.changed
}

// await waits until the components in a namespace are as wanted. It returns an error if a component is stalled, or if
// the context ends. The error contains the last state of the components.
func (s *stage) await(ctx context.Context, namespace string, wanted func(map[string]standing) bool) error {
	for {
		found, changed := s.components.in(namespace)
		if wanted(found) {
			return nil
		}
		if anyStalled(found) {
			return errors.New(summarise(found))
		}
		select {
		case <-changed:
		case err := <-s.operator.died:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), summarise(found))
		}
	}
}

// awaitReady waits until count components are Ready, each for the given generation or a later one.
func (s *stage) awaitReady(ctx context.Context, namespace string, count int, generation int64) error {
	return s.await(ctx, namespace, func(found map[string]standing) bool {
		return len(found) == count && countReady(found, generation) == count
	})
}

func (s *stage) awaitDeletion(ctx context.Context, namespace string) error {
	return s.await(ctx, namespace, func(found map[string]standing) bool { return len(found) == 0 })
}

func anyStalled(found map[string]standing) bool {
	for _, c := range found {
		if c.stalled {
			return true
		}
	}
	return false
}

func countReady(found map[string]standing, generation int64) int {
	n := 0
	for _, c := range found {
		if c.ready && c.generation >= generation {
			n++
		}
	}
	return n
}

// summarise returns the number of ready components, and the reason why one of the others is not ready. Stalled
// components are preferred.
func summarise(found map[string]standing) string {
	why, stalled := "", anyStalled(found)
	for name, c := range found {
		if !c.ready && c.stalled == stalled && (why == "" || name < why) {
			why = name + " is not: " + c.message
		}
	}
	return fmt.Sprintf("%d of %d components are Ready; %s", countReady(found, 0), len(found), why)
}
