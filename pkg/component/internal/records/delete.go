package records

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Delete deletes the records of a kind except the record with the id named, which may be empty. ids are ids of records
// that are deleted even if other clients removed or edited their labels; see Find. If the operator has lost its rights
// because the namespace of the records is being deleted, Delete returns nil, and the records are deleted with the
// namespace.
func (s *Store) Delete(ctx context.Context, owner manifests.Owner, kind Kind, named string, ids ...string) error {
	err := s.deleteAll(ctx, owner, kind, named, ids)
	if s.Unreachable(ctx, owner, err) {
		log.FromContext(ctx).Info(
			"the operator may not delete the records in a namespace that is being deleted; "+
				"if the namespace remains, remove the finalizer from the Secrets of the records by hand",
			"namespace", s.NamespaceOf(owner), "records", kind, "finalizer", s.Marks.finalizer(), "cause", err.Error())
		return nil
	}
	return err
}

func (s *Store) deleteAll(ctx context.Context, owner manifests.Owner, kind Kind, named string, ids []string) error {
	found, err := s.Find(ctx, owner, kind, ids...)
	if err != nil {
		return err
	}
	for i := range found {
		if named != "" && IDOf(found[i].Name) == named {
			continue
		}
		if err := s.own.delete(ctx, &found[i], s.own.remove); err != nil {
			return err
		}
	}
	return nil
}

// DeleteUnnamed deletes the records of a kind that the status does not name, if m has evidence that such records may
// exist. If this process has not seen such a record itself, and the operator may not list Secrets, DeleteUnnamed
// returns no error, and the next call tries the deletion again.
func (s *Store) DeleteUnnamed(
	ctx context.Context, m *State, owner manifests.Owner, kind Kind, named string,
) error {
	evidence := m.evidenceOf(kind)
	switch evidence {
	case noEvidence:
		return nil
	case notListed:
		if _, err := s.ListKind(ctx, owner, kind); apierrors.IsForbidden(err) {
			return nil
		}
	case seen:
	}
	if err := s.Delete(ctx, owner, kind, named, m.previous(kind)...); err != nil {
		return err
	}
	m.dropEvidence(kind)
	return nil
}

// Release removes the finalizers of a deleted component from Secrets, and deletes the records of the component. owner
// identifies the component, and left is the result of State.LeftBy for it.
func (s *Store) Release(ctx context.Context, m *State, owner manifests.Owner, left Owned) error {
	if err := s.Finalizers.Remove(ctx, owner, left.Kubeconfig); err != nil {
		return err
	}
	if err := s.Finalizers.Release(ctx, owner, left.Credentials, nil); err != nil {
		return err
	}
	for _, kind := range left.Kinds {
		if err := s.Delete(ctx, owner, kind, "", left.IDs[kind]); err != nil {
			return fmt.Errorf("delete the records of the deleted component %s/%s: %w", owner.Namespace, owner.Name, err)
		}
	}
	m.released()
	return nil
}

// DeleteStale deletes the Secrets of stale inventories. The UIDs of the Secrets are preconditions of the requests, so
// that they do not delete a Secret of the same name that another operator process has created since. A Secret that
// another operator process has written again is not deleted, and counts as stale no more.
func (s *Store) DeleteStale(ctx context.Context, m *State) error {
	stale := m.staleSecrets()
	deleted := make([]metav1.PartialObjectMetadata, 0, len(stale))
	for i := range stale {
		err := s.own.delete(ctx, &stale[i], s.own.removeChanged)
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
