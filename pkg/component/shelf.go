package component

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// shelved is an inventory that is in Secrets, or is to be.
type shelved struct {
	secrets    metav1alpha1.InventoryRecord
	id, digest string
	lines      []string
	// parts are what is to be written, and former the Secrets that are of no use from then on. Both are nil of what was read.
	parts  [][]byte
	former []metav1.PartialObjectMetadata
}

// shelf is what is remembered of the Secrets with a component's inventory: what the status names, as far as it is known, and what it is going to
// name with the next write. So Secrets are read once after a start.
type shelf struct {
	current, next *shelved
}

// shelve remembers what is set of a shelf, beside what was remembered before.
func (r *Reconciler[T]) shelve(name types.NamespacedName, s shelf) {
	r.shelves.change(name, func(known shelf) (shelf, bool) {
		if s.current != nil {
			known.current = s.current
		}
		if s.next != nil {
			known.next = s.next
		}
		return known, true
	})
}

// shelvedAs returns the inventory that a status names, nil where it is not known.
func (r *Reconciler[T]) shelvedAs(name types.NamespacedName, status *metav1alpha1.Status) *shelved {
	if !status.HasInventoryRecord() {
		return nil
	}
	known := r.shelves.of(name)
	for _, s := range []*shelved{known.current, known.next} {
		if s != nil && s.secrets == *status.InventoryRecord && s.digest == status.InventoryDigest {
			return s
		}
	}
	return nil
}

// named notes that a status was written: what it names counts from now on, and what was there before is left over.
func (r *Reconciler[T]) named(name types.NamespacedName, status *metav1alpha1.Status) {
	r.shelves.change(name, func(known shelf) (shelf, bool) {
		if known.next == nil || known.next.secrets != components.RefOf(status).Secrets() {
			return known, known.current != nil || known.next != nil
		}
		if len(known.next.former) > 0 {
			r.secrets.of(name).SetStale(known.next.former)
		}
		next := *known.next
		next.parts, next.former = nil, nil
		return shelf{current: &next}, status.HasInventoryRecord()
	})
}

// mislaid says of a component that it names other Secrets than this process wrote or read.
func (r *Reconciler[T]) mislaid(obj client.Object) bool {
	component, ok := obj.(T)
	if !ok || !component.GetStatus().HasInventoryRecord() {
		return false
	}
	name := client.ObjectKeyFromObject(component)
	_, known := r.shelves.lookup(name)
	return known && r.shelvedAs(name, component.GetStatus()) == nil
}

// recordedLines returns the lines of the inventory: those of the status, or of the Secrets that it names. Where these are lost, the error
// says so; with one that was edited come the lines that it has.
func (r *Reconciler[T]) recordedLines(ctx context.Context, component T, owner manifests.Owner) ([]string, error) {
	status, name := component.GetStatus(), client.ObjectKeyFromObject(component)
	if !status.HasInventoryRecord() {
		return status.Inventory, nil
	}
	if s := r.shelvedAs(name, status); s != nil {
		return s.lines, nil
	}
	secrets := *status.InventoryRecord
	id, ours := strings.CutPrefix(secrets.Name, records.NamePrefix(records.Inventory, owner.ID(), ""))
	if !ours || secrets.Namespace != r.records.NamespaceOf(owner) {
		return nil, &records.LostError{Cause: fmt.Sprintf("Secret %s/%s-0, which the status names, is no record of this component", secrets.Namespace, secrets.Name)}
	}
	lines, err := records.ReadInventory(ctx, r.records.Get, secrets)
	if r.records.Unreachable(ctx, owner, err) {
		return nil, &records.LostError{Cause: err.Error()}
	}
	if err == nil && components.InventoryDigest(lines) != status.InventoryDigest {
		err = &records.LostError{Cause: fmt.Sprintf("the inventory in Secret %s/%s-0 is not the one that was recorded", secrets.Namespace, secrets.Name)}
	}
	if err == nil {
		r.shelve(name, shelf{current: &shelved{secrets: secrets, id: id, digest: status.InventoryDigest, lines: lines}})
	}
	return lines, err
}

// Inventory returns what is recorded of the dependents of a component: by its status, or by the Secrets that the status names, in the cluster
// of the component. The error joins those of entries that cannot be read; the others are returned with it.
func Inventory(ctx context.Context, reader TreeReader, status *metav1alpha1.Status) ([]metav1alpha1.InventoryEntry, error) {
	if !status.HasInventoryRecord() {
		return metav1alpha1.ParseInventory(status.Inventory)
	}
	get := func(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
		secret := &unstructured.Unstructured{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		return secret, reader.Get(ctx, name, secret)
	}
	lines, err := records.ReadInventory(ctx, get, *status.InventoryRecord)
	if err != nil {
		return nil, fmt.Errorf("read the inventory from Secret %s/%s-0: %w", status.InventoryRecord.Namespace, status.InventoryRecord.Name, err)
	}
	return metav1alpha1.ParseInventory(lines)
}
