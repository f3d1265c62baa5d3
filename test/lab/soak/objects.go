package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
)

// reachTimeout is the maximum time until a new API server responds to this program's client.
const reachTimeout = 30 * time.Second

// errNothing is returned if no object is suitable for an operation.
var errNothing = apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, "suitable")

func (w *world) createGuest(ctx context.Context) error {
	if len(w.population) >= maxGuests+len(shapes) {
		return errNothing
	}
	w.named++
	return w.create(ctx, fmt.Sprintf("%s%d", guest, w.named), pick(w.random, shapes))
}

func (w *world) changeAny(ctx context.Context) error {
	return w.change(ctx, pick(w.random, w.names("")))
}

func (w *world) removeGuest(ctx context.Context) error {
	guests := w.names(guest)
	if len(guests) == 0 {
		return errNothing
	}
	return w.remove(ctx, pick(w.random, guests))
}

// removeGuests deletes all components except the residents.
func (w *world) removeGuests(ctx context.Context) error {
	for _, name := range w.names(guest) {
		if err := w.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// names returns the sorted names of components with the given prefix. They are sorted, because the choice among them
// must depend only on the seed.
func (w *world) names(prefix string) []string {
	names := slices.Sorted(maps.Keys(w.population))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// emptyStatus removes the status of a component, including the inventory.
func (w *world) emptyStatus(ctx context.Context) error {
	c := named(pick(w.random, w.names("")))
	err := w.admin.Status().Patch(
		ctx,
		c,
		client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/status"}]`)),
	)
	if apierrors.IsInvalid(err) {
		return errNothing // The component has no status yet.
	}
	return err
}

// changeSettings changes the ConfigMap that some components look up or reference.
func (w *world) changeSettings(ctx context.Context) error {
	w.named++
	patch := fmt.Sprintf(`{"data":{"text":"settings-%[1]d","values.yaml":"read: settings-%[1]d"}}`, w.named)
	return w.admin.Patch(ctx, settingsMap(), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// editDependent changes a field that the manifest sets.
func (w *world) editDependent(ctx context.Context) error {
	return w.patchDependent(ctx, `{"metadata":{"labels":{"soak":"edited"}}}`)
}

// addToDependent sets a field that the manifest does not set.
func (w *world) addToDependent(ctx context.Context) error {
	return w.patchDependent(
		ctx,
		fmt.Sprintf(`{"metadata":{"annotations":{"somebody":"was here %d"}}}`, w.random.IntN(1000)),
	)
}

func (w *world) unlabelDependent(ctx context.Context) error {
	return w.patchDependent(ctx, `{"metadata":{"labels":{"`+reconciler+`/owner-id":null}}}`)
}

func (w *world) deleteDependent(ctx context.Context) error {
	o, err := w.dependent(ctx)
	if err != nil {
		return err
	}
	return w.admin.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func (w *world) patchDependent(ctx context.Context, patch string) error {
	o, err := w.dependent(ctx)
	if err != nil {
		return err
	}
	return w.admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// dependent selects a recorded dependent.
func (w *world) dependent(ctx context.Context) (*unstructured.Unstructured, error) {
	c := named(pick(w.random, w.names("")))
	if err := w.admin.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
		return nil, err
	}
	entries, err := w.inventoryOf(ctx, c)
	if err != nil && c.Status.HasInventoryRecord() {
		// The operator may have just replaced this dependent. A lost dependent is found by the check at the end of the
		// round.
		return nil, errNothing
	}
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e metav1alpha1.InventoryEntry) bool { return e.UID == "" })
	if len(entries) == 0 {
		return nil, errNothing
	}
	e := pick(w.random, entries)
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
	o.SetNamespace(e.Namespace)
	o.SetName(e.Name)
	return o, nil
}

// inventoryOf returns the inventory of a component, from its status or from Secrets.
func (w *world) inventoryOf(ctx context.Context, c *v1alpha1.Component) ([]metav1alpha1.InventoryEntry, error) {
	entries, err := tree.Inventory(ctx, w.admin, &c.Status)
	if err != nil {
		return nil, fmt.Errorf("inventory of %s: %w", c.Name, err)
	}
	return entries, nil
}

func settingsMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: settingsName}}
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

// retry repeats a request until it succeeds.
func retry(ctx context.Context, request func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(
		ctx,
		100*time.Millisecond,
		reachTimeout,
		true,
		func(ctx context.Context) (bool, error) {
			last = request(ctx)
			return last == nil, nil
		},
	)
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}
