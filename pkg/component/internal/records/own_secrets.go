package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// digestOf returns the digest of a part of a record: of the name of its Secret, and of its data in base64. So a copy
// under another name has no valid digest.
func digestOf(secretName, data string) string {
	sum := sha256.Sum256([]byte(secretName + "\n" + data))
	return hex.EncodeToString(sum[:])
}

// ownSecrets are the Secrets with the names of records that the reconciler wrote. It tells them from those that other
// clients created, and deletes them.
type ownSecrets struct {
	marks    Marks
	metadata metadata.Interface
	get      Get
}

// wrote reports whether the reconciler wrote a Secret. The managed fields show this, without a request. They are lost
// when a backup is restored; then the Secret is read, and must have the recorded digest.
func (o ownSecrets) wrote(ctx context.Context, secret *metav1.PartialObjectMetadata) (bool, error) {
	operation := metav1.ManagedFieldsOperationApply
	if kindOf(secret.Name) == Externals {
		operation = metav1.ManagedFieldsOperationUpdate
	}
	if slices.ContainsFunc(secret.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == operation && o.marks.wroteRecord(e, kindOf(secret.Name))
	}) {
		return true, nil
	}
	recorded := secret.Annotations[o.marks.name(annotationDigest)]
	if recorded == "" {
		return false, nil
	}
	whole, err := o.get(ctx, types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return whole.GetUID() == secret.UID && o.marks.IsIntact(whole), nil
}

// delete calls remove with a Secret that has the name of a record, if the reconciler wrote the Secret. Anybody who
// may create Secrets can create a Secret with such a name and copied labels. If the reconciler did not write it, the
// Secret is not deleted. If somebody else deletes it, the reconciler's finalizer, which was copied too, is removed.
func (o ownSecrets) delete(
	ctx context.Context, secret *metav1.PartialObjectMetadata,
	remove func(context.Context, *metav1.PartialObjectMetadata) error,
) error {
	own, err := o.wrote(ctx, secret)
	switch {
	case err != nil:
		return err
	case own:
		return remove(ctx, secret)
	case secret.DeletionTimestamp != nil && slices.Contains(secret.Finalizers, o.marks.finalizer()):
		return remove(ctx, secret)
	}
	log.FromContext(ctx).Info("a Secret with the name of a record was not written by this operator, and is not deleted",
		"secret", client.ObjectKeyFromObject(secret))
	return nil
}

// removeChanged deletes a Secret even if other clients changed it since it was read. It does not delete another Secret
// of the same name. If another process has written the record again, removeChanged does not delete the Secret, and
// returns a conflict.
func (o ownSecrets) removeChanged(ctx context.Context, secret *metav1.PartialObjectMetadata) error {
	conflict := o.remove(ctx, secret)
	if !apierrors.IsConflict(conflict) {
		return conflict
	}
	secrets := o.metadata.Resource(secretResource).Namespace(secret.Namespace)
	newer, err := secrets.Get(ctx, secret.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && newer.UID != secret.UID {
		return nil
	}
	if err != nil {
		return err
	}
	if o.marks.written(newer) != o.marks.written(secret) {
		return conflict
	}
	return o.remove(ctx, newer)
}

// remove removes the finalizer of a Secret, and deletes it. The error is a conflict if the Secret changed since
// it was read.
func (o ownSecrets) remove(ctx context.Context, secret *metav1.PartialObjectMetadata) error {
	patch, err := finalizerPatch(secret, o.marks.finalizer(), false, nil)
	if err != nil {
		return err
	}
	secrets := o.metadata.Resource(secretResource).Namespace(secret.Namespace)
	options := metav1.PatchOptions{FieldManager: string(o.marks)}
	freed, err := secrets.Patch(ctx, secret.Name, types.MergePatchType, patch, options)
	if err == nil && freed.DeletionTimestamp == nil {
		// Another process may have written a newer record into the Secret after the finalizer was removed.
		same := &metav1.Preconditions{UID: &freed.UID, ResourceVersion: &freed.ResourceVersion}
		err = secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{Preconditions: same})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
