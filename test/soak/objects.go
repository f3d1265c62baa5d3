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
	engine "github.com/fairlead-io/fairlead/pkg/component"
)

// reachPatience is how long a new API server may take to answer our own client.
const reachPatience = 30 * time.Second

// errNothing says that there is nothing that could be done this to.
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

// removeGuests leaves the residents alone.
func (w *world) removeGuests(ctx context.Context) error {
	for _, name := range w.names(guest) {
		if err := w.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names of components that begin so, sorted, for what is chosen from them must depend on the seed
// alone.
func (w *world) names(prefix string) []string {
	names := slices.Sorted(maps.Keys(w.population))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// emptyStatus takes a component's record away.
func (w *world) emptyStatus(ctx context.Context) error {
	c := named(pick(w.random, w.names("")))
	err := w.admin.Status().Patch(ctx, c, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/status"}]`)))
	if apierrors.IsInvalid(err) {
		return errNothing // There is none yet.
	}
	return err
}

// changeSettings changes what some components look up, and others refer to.
func (w *world) changeSettings(ctx context.Context) error {
	w.named++
	patch := fmt.Sprintf(`{"data":{"text":"settings-%[1]d","values.yaml":"read: settings-%[1]d"}}`, w.named)
	return w.admin.Patch(ctx, settingsMap(), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// editDependent changes a value that the manifest sets.
func (w *world) editDependent(ctx context.Context) error {
	return w.patchDependent(ctx, `{"metadata":{"labels":{"soak":"edited"}}}`)
}

// addToDependent sets a value that the manifest does not.
func (w *world) addToDependent(ctx context.Context) error {
	return w.patchDependent(ctx, fmt.Sprintf(`{"metadata":{"annotations":{"somebody":"was here %d"}}}`, w.random.IntN(1000)))
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

// dependent chooses one of those that are recorded.
func (w *world) dependent(ctx context.Context) (*unstructured.Unstructured, error) {
	c := named(pick(w.random, w.names("")))
	if err := w.admin.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
		return nil, err
	}
	entries, err := w.inventoryOf(ctx, c)
	if err != nil && c.Status.HasInventoryRecord() {
		return nil, errNothing // The operator has just replaced it; where it is lost, it will be when all is looked at.
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

// inventoryOf returns what is recorded of a component, by its status or by Secrets.
func (w *world) inventoryOf(ctx context.Context, c *v1alpha1.Component) ([]metav1alpha1.InventoryEntry, error) {
	entries, err := engine.Inventory(ctx, w.admin, &c.Status)
	if err != nil {
		return nil, fmt.Errorf("inventory of %s: %w", c.Name, err)
	}
	return entries, nil
}

func settingsMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: settingsName}}
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

// retry returns when the request is answered.
func retry(ctx context.Context, request func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, reachPatience, true, func(ctx context.Context) (bool, error) {
		last = request(ctx)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}
