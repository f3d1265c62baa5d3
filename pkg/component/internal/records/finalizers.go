package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Finalizers are the finalizers of components on Secrets with kubeconfigs and with credentials of externals. Without a
// finalizer, the deletion of a namespace may delete the Secret before the component, and the operator can no longer
// delete the dependents in the other cluster, or the externals. Several components may share a Secret, so each
// component has a finalizer of its own.
type Finalizers struct {
	marks         Marks
	metadata      metadata.Interface
	verifyCluster func(ctx context.Context, name types.NamespacedName) error
}

// Has reports whether a Secret has the finalizer of a component, and the label by which the Collector finds it.
func (f Finalizers) Has(secret metav1.Object, owner manifests.Owner) bool {
	return f.marks.isProtected(secret, f.marks.ownerFinalizer(owner))
}

// Move adds the finalizer of a component to the Secret with its kubeconfig, and then removes the finalizer from the
// previous Secret, unless credentials contains it. Both names may be empty. credentials are the Secrets that Hold was
// called with, because the finalizer of a component on a Secret serves both purposes.
func (f Finalizers) Move(
	ctx context.Context, owner manifests.Owner, previous, secret string, credentials ...string,
) error {
	if err := f.verifyCluster(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}); err != nil {
		return err
	}
	if secret != "" {
		name := types.NamespacedName{Namespace: owner.Namespace, Name: secret}
		if err := f.change(ctx, name, f.marks.ownerFinalizer(owner), addToKubeconfig); err != nil {
			return err
		}
	}
	if slices.Contains(credentials, previous) {
		return nil
	}
	return f.Remove(ctx, owner, previous)
}

// Hold adds the finalizer of a component to the Secrets with the credentials of its externals. It sends no write for a
// Secret that has the finalizer already. If some Secrets cannot be changed, Hold changes the others and returns all
// errors. The error for a Secret that does not exist satisfies apierrors.IsNotFound.
func (f Finalizers) Hold(ctx context.Context, owner manifests.Owner, secrets []string) error {
	if len(secrets) == 0 {
		return nil
	}
	if err := f.verifyCluster(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}); err != nil {
		return err
	}
	return f.changeAll(ctx, owner, secrets, addToCredentials)
}

// Release removes the finalizer of a component from Secrets with credentials, except from the Secrets in kept: those
// that other externals still need, and the Secret with the kubeconfig of the component. It ignores Secrets that do not
// exist. If some Secrets cannot be changed, Release changes the others and returns all errors.
func (f Finalizers) Release(ctx context.Context, owner manifests.Owner, secrets, kept []string) error {
	released := slices.DeleteFunc(slices.Clone(secrets), func(name string) bool { return slices.Contains(kept, name) })
	return f.changeAll(ctx, owner, released, remove)
}

func (f Finalizers) changeAll(ctx context.Context, owner manifests.Owner, secrets []string, c change) error {
	var errs []error
	for _, secret := range slices.Compact(slices.Sorted(slices.Values(secrets))) {
		name := types.NamespacedName{Namespace: owner.Namespace, Name: secret}
		errs = append(errs, f.change(ctx, name, f.marks.ownerFinalizer(owner), c))
	}
	return errors.Join(errs...)
}

// Remove removes the finalizer of a component from a Secret. It does nothing if the name is empty, or the
// Secret does not exist.
func (f Finalizers) Remove(ctx context.Context, owner manifests.Owner, secret string) error {
	if secret == "" {
		return nil
	}
	name := types.NamespacedName{Namespace: owner.Namespace, Name: secret}
	return f.change(ctx, name, f.marks.ownerFinalizer(owner), remove)
}

// change is a change of the finalizers of a Secret.
type change int

const (
	remove change = iota
	addToKubeconfig
	addToCredentials
)

// whileDeleted returns the message for a Secret that cannot get a finalizer, because it is being deleted.
func (c change) whileDeleted(secret types.NamespacedName) string {
	if c == addToCredentials {
		return fmt.Sprintf("Secret %s with credentials of externals is being deleted; "+
			"name another Secret in the manifests of the externals", secret)
	}
	return fmt.Sprintf("Secret %s with the kubeconfig is being deleted; name another Secret in the component", secret)
}

// change adds or removes a finalizer, with the resource version as precondition. It reads the metadata of the Secret,
// and never its data.
func (f Finalizers) change(ctx context.Context, name types.NamespacedName, finalizer string, c change) error {
	add := c != remove
	secrets := f.metadata.Resource(secretResource).Namespace(name.Namespace)
	secret, err := secrets.Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !add {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the finalizers of Secret %s: %w", name, err)
	}
	present := slices.Contains(secret.Finalizers, finalizer)
	switch {
	case !add && !present, add && f.marks.isProtected(secret, finalizer):
		return nil
	case add && !present && secret.DeletionTimestamp != nil:
		// The API server accepts no new finalizer on an object that is being deleted.
		return &passerror.Error{
			Reason: metav1alpha1.ReasonReferenceNotFound, Terminal: true,
			Message: c.whileDeleted(name),
		}
	}
	patch, err := finalizerPatch(secret, finalizer, add, f.heldLabel(secret, finalizer, add))
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: string(f.marks)}
	_, err = secrets.Patch(ctx, name.Name, types.MergePatchType, patch, options)
	if apierrors.IsNotFound(err) && !add {
		return nil
	}
	if err != nil {
		return fmt.Errorf("change the finalizers of Secret %s: %w", name, err)
	}
	return nil
}

// heldLabel returns the patch for the label by which the Collector finds a Secret. The label is removed with the last
// finalizer that a component has on the Secret.
func (f Finalizers) heldLabel(secret *metav1.PartialObjectMetadata, finalizer string, add bool) map[string]any {
	others := slices.DeleteFunc(f.marks.ownerFinalizers(secret), func(other string) bool { return other == finalizer })
	if add || len(others) > 0 {
		return map[string]any{f.marks.name(marks.LabelHeld): "true"}
	}
	return map[string]any{f.marks.name(marks.LabelHeld): nil}
}

// finalizerPatch returns a merge patch that adds or removes a finalizer and sets labels. It keeps all other finalizers.
// The patch fails with a conflict if the object changed since it was read.
func finalizerPatch(
	m *metav1.PartialObjectMetadata, finalizer string, add bool, labels map[string]any,
) ([]byte, error) {
	finalizers := slices.DeleteFunc(slices.Clone(m.Finalizers), func(other string) bool { return other == finalizer })
	if add {
		finalizers = append(finalizers, finalizer)
	}
	changed := map[string]any{"resourceVersion": m.ResourceVersion, "finalizers": finalizers}
	if len(labels) > 0 {
		changed["labels"] = labels
	}
	return json.Marshal(map[string]any{"metadata": changed})
}

// reviewInterval is the time for which the result of an access review is used. It is long because rights change rarely.
const reviewInterval = 10 * time.Minute

// accessReview caches whether the operator may patch Secrets in all namespaces. Records in the namespaces of components
// get a finalizer only if the operator has this right. If the operator has rights in single namespaces only, the
// deletion of a namespace deletes its role binding while the finalizer keeps the Secrets. Then the operator cannot
// remove the finalizer, and the namespace remains for ever. Without a finalizer, records can be lost with the
// namespace. This is less harmful: an inventory is rebuilt from labels, and few objects of phases can be applied in a
// namespace that is being deleted.
type accessReview struct {
	dynamic dynamic.Interface
	clock   clock.PassiveClock

	mu      sync.Mutex
	at      time.Time
	allowed bool
}

// mayPatchAnywhere reports whether the operator may patch Secrets in all namespaces. If the review fails, it returns
// the result of the last successful review, or true if there was none, and the next call sends a review again.
func (r *accessReview) mayPatchAnywhere(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, reviewed := r.clock.Now(), !r.at.IsZero()
	if reviewed && now.Sub(r.at) < reviewInterval {
		return r.allowed
	}
	allowed, err := r.ask(ctx)
	if err != nil {
		return !reviewed || r.allowed
	}
	r.at, r.allowed = now, allowed
	return allowed
}

// ask sends the access review to the API server and returns whether the operator has the right.
func (r *accessReview) ask(ctx context.Context) (bool, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": authorizationv1.SchemeGroupVersion.String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"verb": "patch", "version": secretResource.Version, "resource": secretResource.Resource,
		}},
	}}
	reviews := r.dynamic.Resource(authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews"))
	answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}
