package records

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Inventories stores the inventory of each owner in one Secret, for owners without a status that could name a record.
// The Secret is changed with each inventory, so the resource version that a process loaded is the precondition of its
// next write: of two processes that loaded the same inventory, only one can write. The Secret lacks the label by which
// the Collector finds Secrets, because the Collector knows the components of a reconciler only.
type Inventories struct{ Store *Store }

// StoredInventory is the inventory of an owner, as a process read or wrote it last. The zero value is that of an owner
// without a Secret.
type StoredInventory struct {
	Lines []string

	secret *unstructured.Unstructured
}

// Exists reports whether the Secret existed.
func (i StoredInventory) Exists() bool { return i.secret != nil }

// engineID takes the place of the id in the name of the Secret. A Secret that is changed needs no other.
const engineID = "engine"

// maxInventoryBytes is the maximum compressed size of an inventory in one Secret. The API server refuses Secrets with
// more than 1 MiB.
const maxInventoryBytes = 900 << 10

// SecretOf returns the name of the Secret with the inventory of an owner.
func (i Inventories) SecretOf(owner manifests.Owner) types.NamespacedName {
	return types.NamespacedName{
		Namespace: i.Store.NamespaceOf(owner), Name: secretName(Inventory, owner.ID(), engineID, 0),
	}
}

// Load reads the inventory of an owner. Without a Secret it returns the zero value and no error. The error is a
// LostError if somebody damaged the Secret; then Save with the returned value replaces the content, and Lines has the
// lines that can still be read. If another client created the Secret, the error satisfies IsForeign, and the Secret
// must not be changed.
func (i Inventories) Load(ctx context.Context, owner manifests.Owner) (StoredInventory, error) {
	name := i.SecretOf(owner)
	secret, err := i.Store.Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return StoredInventory{}, nil
	}
	if err != nil {
		return StoredInventory{}, fmt.Errorf("read the inventory in Secret %s: %w", name, err)
	}
	intact := i.Store.Marks.IsIntact(secret)
	if !intact && !i.wrote(secret) {
		return StoredInventory{}, &foreignError{fmt.Sprintf("another client created Secret %s, in which the dependents of "+
			"%s have to be stored; nothing was changed; move its data to a Secret of another name", name, owner)}
	}
	found := StoredInventory{secret: secret}
	data, err := dataOf(secret, Inventory)
	if err == nil {
		err = decode(ctx, Inventory, data, &found.Lines)
	}
	if err == nil && !intact {
		err = &LostError{"another client edited it"}
	}
	return found, err
}

// foreignError is the error for a Secret of another client.
type foreignError struct{ text string }

func (e *foreignError) Error() string { return e.text }

// IsForeign reports whether err says that another client created the Secret for an inventory.
func IsForeign(err error) bool {
	_, ok := errors.AsType[*foreignError](err)
	return ok
}

// wrote reports whether the managed fields of a Secret show that the reconciler wrote it.
func (i Inventories) wrote(secret *unstructured.Unstructured) bool {
	return slices.ContainsFunc(secret.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return i.Store.Marks.wroteRecord(e, Inventory)
	})
}

// Save writes an inventory, and returns it as the next call needs it. before is what Load or Save returned. spare is
// the number of bytes by which the inventory will grow at most. The error satisfies apierrors.IsConflict if another
// process wrote the inventory since then; nothing is written in this case.
func (i Inventories) Save(
	ctx context.Context, owner manifests.Owner, before StoredInventory, lines []string, spare int,
) (StoredInventory, error) {
	parts, err := Encode(Inventory, lines)
	if err != nil {
		return before, err
	}
	data := slices.Concat(parts...)
	if len(data)+spare > maxInventoryBytes {
		return before, fmt.Errorf("the inventory of %d dependents takes %d bytes, but the maximum is %d bytes; "+
			"split the set into several sets", len(lines), len(data)+spare, maxInventoryBytes)
	}
	secret := i.next(ctx, owner, before, data)
	client := i.Store.Dynamic.Resource(secretResource).Namespace(secret.GetNamespace())
	if before.secret == nil {
		secret, err = client.Create(ctx, secret, metav1.CreateOptions{FieldManager: i.Store.Reconciler})
	} else {
		secret, err = client.Update(ctx, secret, metav1.UpdateOptions{FieldManager: i.Store.Reconciler})
	}
	changed := apierrors.IsAlreadyExists(err) || before.secret != nil && apierrors.IsNotFound(err)
	switch {
	case changed || apierrors.IsConflict(err):
		return before, i.conflict(owner, err)
	case err != nil:
		return before, fmt.Errorf("write the inventory of %s to Secret %s: %w", owner, i.SecretOf(owner), err)
	}
	return StoredInventory{Lines: lines, secret: secret}, nil
}

// next returns the Secret with new data. It keeps the labels, annotations and finalizers of other clients.
func (i Inventories) next(
	ctx context.Context, owner manifests.Owner, before StoredInventory, data []byte,
) *unstructured.Unstructured {
	rec := Record{Kind: Inventory, ID: engineID}
	annotations := i.Store.Marks.annotations(owner, rec, 1, i.Store.Clock.Now().UTC().Format(timeFormat))
	secret := i.Store.secret(owner, rec, 0, annotations, data)
	labels := secret.GetLabels()
	delete(labels, i.Store.Marks.name(marks.LabelHeld))
	secret.SetLabels(labels)
	protects := i.Store.withFinalizer(ctx, owner)
	if before.secret != nil {
		written := secret
		secret = before.secret.DeepCopy()
		secret.SetLabels(merged(secret.GetLabels(), labels))
		secret.SetAnnotations(merged(secret.GetAnnotations(), written.GetAnnotations()))
		secret.Object["data"] = written.Object["data"]
		// The API server accepts no new finalizer on an object that is being deleted.
		protects = protects && secret.GetDeletionTimestamp() == nil
	}
	if finalizer := i.Store.Marks.finalizer(); protects && !slices.Contains(secret.GetFinalizers(), finalizer) {
		secret.SetFinalizers(append(secret.GetFinalizers(), finalizer))
	}
	return secret
}

func merged(all, over map[string]string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, over)
	return all
}

// Confirm returns an error that satisfies apierrors.IsConflict unless stored is the current inventory of an owner.
func (i Inventories) Confirm(ctx context.Context, owner manifests.Owner, stored StoredInventory) error {
	name := i.SecretOf(owner)
	current, err := i.Store.Metadata.Resource(secretResource).Namespace(name.Namespace).
		Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && stored.secret == nil:
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("confirm the inventory in Secret %s: %w", name, err)
	case err != nil || stored.secret == nil || current.ResourceVersion != stored.secret.GetResourceVersion():
		return i.conflict(owner, nil)
	}
	return nil
}

// Delete deletes the Secret of an owner that has no dependents left. It returns nil if the Secret does not exist. The
// error satisfies apierrors.IsConflict if another process wrote the inventory meanwhile.
func (i Inventories) Delete(ctx context.Context, owner manifests.Owner, stored StoredInventory) error {
	if stored.secret == nil {
		return nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.Namespace, secret.Name = stored.secret.GetNamespace(), stored.secret.GetName()
	secret.UID = stored.secret.GetUID()
	secret.ResourceVersion, secret.Finalizers = stored.secret.GetResourceVersion(), stored.secret.GetFinalizers()
	err := i.Store.own.remove(ctx, secret)
	switch {
	case err == nil, i.Store.Unreachable(ctx, owner, err):
		return nil
	case apierrors.IsConflict(err):
		return i.conflict(owner, err)
	}
	return fmt.Errorf("delete Secret %s: %w", i.SecretOf(owner), err)
}

// conflict returns the error for an inventory that another process wrote. It satisfies apierrors.IsConflict.
func (i Inventories) conflict(owner manifests.Owner, cause error) error {
	name := i.SecretOf(owner)
	return fmt.Errorf("another process changed the record of the dependents of %s in Secret %s since this pass began; "+
		"repeat the pass: %w", owner, name, apierrors.NewConflict(secretResource.GroupResource(), name.Name, cause))
}
