package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// digestOf returns the digest of a part of a record: of the name of its Secret, and of its data in base64. So a copy
// under another name has no valid digest.
func digestOf(secretName, data string) string {
	sum := sha256.Sum256([]byte(secretName + "\n" + data))
	return hex.EncodeToString(sum[:])
}

// deleteOwn calls remove with a Secret that has the name of a record, if the reconciler wrote the Secret. Anybody who
// may create Secrets can create a Secret with such a name and copied labels. If the reconciler did not write it, the
// Secret is not deleted. If somebody else deletes it, the reconciler's finalizer, which was copied too, is removed.
func (s *Store) deleteOwn(
	ctx context.Context, secret *metav1.PartialObjectMetadata,
	remove func(context.Context, *metav1.PartialObjectMetadata) error,
) error {
	own, err := s.isOwn(ctx, secret)
	switch {
	case err != nil:
		return err
	case own:
		return remove(ctx, secret)
	case secret.DeletionTimestamp != nil && slices.Contains(secret.Finalizers, s.keys.finalizer()):
		return remove(ctx, secret)
	}
	log.FromContext(ctx).Info("a Secret with the name of a record was not written by this operator, and is not deleted",
		"secret", client.ObjectKeyFromObject(secret))
	return nil
}

// isOwn reports whether the reconciler wrote a Secret. The managed fields show this, without a request. They are lost
// when a backup is restored; then the Secret is read, and must have the recorded digest.
func (s *Store) isOwn(ctx context.Context, secret *metav1.PartialObjectMetadata) (bool, error) {
	operation := metav1.ManagedFieldsOperationApply
	if kindOf(secret.Name) == Externals {
		operation = metav1.ManagedFieldsOperationUpdate
	}
	if slices.ContainsFunc(secret.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == operation && s.wroteRecord(e, kindOf(secret.Name))
	}) {
		return true, nil
	}
	recorded := secret.Annotations[s.keys.name(annotationDigest)]
	if recorded == "" {
		return false, nil
	}
	whole, err := s.Get(ctx, types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return whole.GetUID() == secret.UID && s.IsIntact(whole), nil
}

// wroteRecord reports whether an entry of the managed fields shows that the reconciler wrote a record of a kind: its
// label or annotation, or its data if other clients edited both.
func (s *Store) wroteRecord(e metav1.ManagedFieldsEntry, kind Kind) bool {
	if e.Manager != s.Reconciler || e.FieldsV1 == nil {
		return false
	}
	fields := e.FieldsV1.GetRawString()
	return strings.Contains(fields, `"f:`+s.keys.name(LabelRecord)+`"`) ||
		strings.Contains(fields, `"f:`+kind.dataKey()+`"`)
}
