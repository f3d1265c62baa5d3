package records

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Remover deletes the records of components. It deletes only Secrets that the reconciler wrote.
type Remover struct{ store *Store }

// Delete deletes all records of a kind. ids are ids of records that are deleted even if other clients removed or edited
// their labels; see Store.Find. If the operator has lost its rights because the namespace of the records is being
// deleted, Delete returns nil, and the records are deleted with the namespace.
func (r Remover) Delete(ctx context.Context, owner manifests.Owner, kind Kind, ids ...string) error {
	found, err := r.store.Find(ctx, owner, kind, ids...)
	if err == nil {
		err = r.deleteEach(ctx, found)
	}
	return r.unlessNamespaceGoes(ctx, owner, kind, err)
}

// Naming says which record of a kind the status of a component names.
type Naming struct {
	Owner manifests.Owner
	Kind  Kind
	// ID is the id of the record that the status names, empty if it names none. Next is the id of the record that the
	// caller is about to write and to name, empty if there is none.
	ID, Next string
	// Confirm returns an error if the stored status names another record than ID. It is called after the list of the
	// records, before the first deletion. DeleteUnnamed does not call it if only records are deleted that the status
	// named before. Nil confirms everything.
	Confirm func(context.Context) error
}

// DeleteUnnamed deletes the stale records of a kind: those that the status does not name, and whose previous record it
// does not name either. It keeps a record whose previous record the status names, because another operator process may
// be about to name the record. But a record that this process named itself, and names no more, is stale. DeleteUnnamed
// sends no request if m has no evidence of unnamed records. If this process has not seen such a record itself, and the
// operator may not list Secrets, DeleteUnnamed returns no error, and the next call tries the deletion again.
func (r Remover) DeleteUnnamed(ctx context.Context, m *State, n Naming) error {
	if !r.mayHaveUnnamed(ctx, m, n.Owner, n.Kind) {
		return nil
	}
	previous := m.previous(n.Kind)
	found, err := r.store.Find(ctx, n.Owner, n.Kind, previous...)
	isOther := func(secret metav1.PartialObjectMetadata) bool { return !slices.Contains(previous, IDOf(secret.Name)) }
	mayBeNamed := func(secret metav1.PartialObjectMetadata) bool { return r.store.Marks.mayBeNamed(&secret, n.ID) }
	stale := slices.DeleteFunc(found, func(secret metav1.PartialObjectMetadata) bool {
		id := IDOf(secret.Name)
		return id == n.ID || id == n.Next || isOther(secret) && mayBeNamed(secret)
	})
	if !slices.ContainsFunc(stale, isOther) && !slices.ContainsFunc(stale, mayBeNamed) {
		// The status named these records, and names another one now. No process names them again. A record that this
		// process wanted to name may be named, although the write of the status seemed to fail.
		n.Confirm = nil
	}
	return r.deleteConfirmed(ctx, m, n, stale, err)
}

// DeleteLeft deletes all records of a kind of a component that needs none any more: the record that the status names,
// and all others. If the status names none, DeleteLeft sends no request unless m has evidence of unnamed records; see
// DeleteUnnamed.
func (r Remover) DeleteLeft(ctx context.Context, m *State, n Naming) error {
	if n.ID == "" && !r.mayHaveUnnamed(ctx, m, n.Owner, n.Kind) {
		return nil
	}
	found, err := r.store.Find(ctx, n.Owner, n.Kind, append(m.previous(n.Kind), n.ID)...)
	return r.deleteConfirmed(ctx, m, n, found, err)
}

// deleteConfirmed deletes Secrets after Naming.Confirm, and drops the evidence of unnamed records. found is the error
// of their list.
func (r Remover) deleteConfirmed(
	ctx context.Context, m *State, n Naming, secrets []metav1.PartialObjectMetadata, found error,
) error {
	if found == nil && len(secrets) > 0 && n.Confirm != nil {
		if err := n.Confirm(ctx); err != nil {
			return err
		}
	}
	if found == nil {
		found = r.deleteEach(ctx, secrets)
	}
	if err := r.unlessNamespaceGoes(ctx, n.Owner, n.Kind, found); err != nil {
		return err
	}
	m.dropEvidence(n.Kind)
	return nil
}

// mayHaveUnnamed reports whether there may be records of a kind that the status does not name, and that can be listed
// as far as this process knows.
func (r Remover) mayHaveUnnamed(ctx context.Context, m *State, owner manifests.Owner, kind Kind) bool {
	switch m.evidenceOf(kind) {
	case noEvidence:
		return false
	case notListed:
		_, err := r.store.ListKind(ctx, owner, kind)
		return !apierrors.IsForbidden(err)
	case seen:
	}
	return true
}

// deleteEach deletes Secrets of records. The error is a conflict if one of them changed since it was listed.
func (r Remover) deleteEach(ctx context.Context, secrets []metav1.PartialObjectMetadata) error {
	for i := range secrets {
		if err := r.store.own.delete(ctx, &secrets[i], r.store.own.remove); err != nil {
			return err
		}
	}
	return nil
}

// unlessNamespaceGoes returns err, the error of a deletion. It returns nil if the operator has lost its rights because
// the namespace of the records is being deleted.
func (r Remover) unlessNamespaceGoes(ctx context.Context, owner manifests.Owner, kind Kind, err error) error {
	if !r.store.Unreachable(ctx, owner, err) {
		return err
	}
	log.FromContext(ctx).Info(
		"the operator may not delete the records in a namespace that is being deleted; "+
			"if the namespace remains, remove the finalizer from the Secrets of the records by hand",
		"namespace", r.store.NamespaceOf(owner), "records", kind, "finalizer", r.store.Marks.finalizer(),
		"cause", err.Error())
	return nil
}

// Release removes the finalizers of a deleted component from Secrets, and deletes the records of the component. owner
// identifies the component, and left is the result of State.LeftBy for it.
func (r Remover) Release(ctx context.Context, m *State, owner manifests.Owner, left Owned) error {
	if err := r.store.Finalizers.Remove(ctx, owner, left.Kubeconfig); err != nil {
		return err
	}
	if err := r.store.Finalizers.Release(ctx, owner, left.Credentials, nil); err != nil {
		return err
	}
	for _, kind := range left.Kinds {
		if err := r.Delete(ctx, owner, kind, left.IDs[kind]); err != nil {
			return fmt.Errorf("delete the records of the deleted component %s/%s: %w", owner.Namespace, owner.Name, err)
		}
	}
	m.released()
	return nil
}

// DeleteStale deletes the Secrets of stale inventories. The UIDs of the Secrets are preconditions of the requests, so
// that they do not delete a Secret of the same name that another operator process has created since. A Secret that
// another operator process has written again is not deleted, and counts as stale no more.
func (r Remover) DeleteStale(ctx context.Context, m *State) error {
	stale := m.staleSecrets()
	deleted := make([]metav1.PartialObjectMetadata, 0, len(stale))
	for i := range stale {
		err := r.store.own.delete(ctx, &stale[i], r.store.own.removeChanged)
		switch {
		case apierrors.IsConflict(err):
		case err != nil:
			return fmt.Errorf("delete Secret %s/%s of a stale inventory: %w", stale[i].Namespace, stale[i].Name, err)
		default:
			deleted = append(deleted, stale[i])
		}
	}
	if len(stale) > 0 {
		m.staleDeleted(deleted)
	}
	return nil
}
