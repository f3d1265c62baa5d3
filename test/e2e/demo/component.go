package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// reconciler is the name of the operator's reconciler, and the prefix of its labels.
const reconciler = "fairlead.io"

func (w *world) component(ctx context.Context, name string) (*v1alpha1.Component, error) {
	c := &v1alpha1.Component{}
	return c, w.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
}

// inventory reads the inventory of a component.
func (w *world) inventory(ctx context.Context, name string) ([]metav1alpha1.InventoryEntry, error) {
	c, err := w.component(ctx, name)
	if err != nil {
		return nil, err
	}
	return metav1alpha1.ParseInventory(c.Status.Inventory)
}

// isReady checks that the component is Ready for its current generation, with the given number of dependents.
func (w *world) isReady(ctx context.Context, name string, dependents int) error {
	c, err := w.component(ctx, name)
	if err != nil {
		return err
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
	switch {
	case ready == nil || ready.ObservedGeneration != c.Generation:
		return fmt.Errorf("the status of %s is not about generation %d yet", name, c.Generation)
	case ready.Status != metav1.ConditionTrue:
		return fmt.Errorf("%s is not ready: %s: %s", name, ready.Reason, ready.Message)
	case len(c.Status.Inventory) != dependents:
		return fmt.Errorf(
			"%s has %d dependents in its inventory, want %d: %v",
			name,
			len(c.Status.Inventory),
			dependents,
			c.Status.Inventory,
		)
	}
	return nil
}

// ownsItsDependents checks that each object in the inventory exists, with the recorded UID and the component's owner
// label.
func (w *world) ownsItsDependents(ctx context.Context, name string) error {
	entries, err := w.inventory(ctx, name)
	if err != nil {
		return err
	}
	owner, err := w.ownerID(ctx, name)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		live, err := w.metadata(ctx, e)
		switch {
		case err != nil:
			errs = append(errs, err)
		case live.UID != e.UID || live.Labels[reconciler+"/"+manifests.LabelOwnerID] != owner:
			errs = append(
				errs,
				fmt.Errorf(
					"%s %s: UID %s, labels %v; want %s and owner %s",
					e.Kind,
					e.Name,
					live.UID,
					live.Labels,
					e.UID,
					owner,
				),
			)
		}
	}
	return errors.Join(errs...)
}

func (w *world) ownerID(ctx context.Context, name string) (string, error) {
	system := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := w.admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return "", err
	}
	owner := manifests.Owner{
		Cluster: string(system.UID), Reconciler: reconciler,
		Group: v1alpha1.GroupVersion.Group, Kind: "Component", Namespace: namespace, Name: name,
	}
	return owner.ID(), nil
}

// metadata reads a recorded object.
func (w *world) metadata(ctx context.Context, e metav1alpha1.InventoryEntry) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
	err := w.admin.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Name}, live)
	return live, err
}

// versions returns the UID and the resource version of each dependent.
func (w *world) versions(ctx context.Context, name string) (map[string]string, error) {
	entries, err := w.inventory(ctx, name)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, e := range entries {
		live, err := w.metadata(ctx, e)
		if err != nil {
			return nil, err
		}
		versions[e.Kind+"/"+e.Name] = string(live.UID) + "@" + live.ResourceVersion
	}
	return versions, nil
}

// isAbsent checks that an object does not exist.
func (w *world) isAbsent(ctx context.Context, object client.Object) error {
	err := w.admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil {
		return fmt.Errorf("%T %s still exists", object, object.GetName())
	}
	return client.IgnoreNotFound(err)
}

// areAbsent checks that none of the recorded objects exists.
func (w *world) areAbsent(ctx context.Context, entries []metav1alpha1.InventoryEntry) error {
	for _, e := range entries {
		_, err := w.metadata(ctx, e)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		case err != nil:
			return err
		default:
			return fmt.Errorf("%s %s still exists", e.Kind, e.Name)
		}
	}
	return nil
}

// operatorEvents returns the operator's requests from the audit log.
func (w *world) operatorEvents(ctx context.Context) (testcluster.Events, error) {
	events, err := w.cluster.AuditEvents(ctx)
	return events.User(program.OperatorUser), err
}

// cameInWaves checks in the audit log that each object was created after all objects of earlier waves.
func (w *world) cameInWaves(ctx context.Context, name string) error {
	entries, err := w.inventory(ctx, name)
	if err != nil {
		return err
	}
	events, err := w.operatorEvents(ctx)
	if err != nil {
		return err
	}
	return w.inWaves(events.Code(201), entries, func(e metav1alpha1.InventoryEntry) int { return e.Order })
}

// wentInWaves checks in the audit log that each object was deleted after all objects of later waves.
func (w *world) wentInWaves(ctx context.Context, entries []metav1alpha1.InventoryEntry) error {
	events, err := w.operatorEvents(ctx)
	if err != nil {
		return err
	}
	return w.inWaves(events.Verb("delete").Code(200), entries, metav1alpha1.InventoryEntry.EffectiveDeleteOrder)
}

// inWaves checks that there is a request for each object, and that it is later than all requests for earlier waves.
func (w *world) inWaves(
	requests testcluster.Events,
	entries []metav1alpha1.InventoryEntry,
	wave func(metav1alpha1.InventoryEntry) int,
) error {
	last := map[int]int{} // maps each wave to the index of its last request
	byWave := func(a, b metav1alpha1.InventoryEntry) int { return cmp.Compare(wave(a), wave(b)) }
	for _, e := range slices.SortedFunc(slices.Values(entries), byWave) {
		at, err := w.requestFor(requests, e)
		if err != nil {
			return err
		}
		for earlier, place := range last {
			if earlier < wave(e) && place > at {
				return fmt.Errorf("%s %s of wave %d was written before wave %d was complete", e.Kind, e.Name, wave(e), earlier)
			}
		}
		last[wave(e)] = max(last[wave(e)], at)
	}
	return nil
}

// requestFor returns the index of the last request for an object.
func (w *world) requestFor(requests testcluster.Events, e metav1alpha1.InventoryEntry) (int, error) {
	mapping, err := w.admin.RESTMapper().RESTMapping(schema.GroupKind{Group: e.Group, Kind: e.Kind}, e.Version)
	if err != nil {
		return 0, err
	}
	for i, event := range slices.Backward(requests) {
		if event.Subresource == "" && event.APIGroup == e.Group && event.Resource == mapping.Resource.Resource &&
			event.Namespace == e.Namespace && event.Name == e.Name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the audit log contains no request for %s %s", e.Kind, e.Name)
}
