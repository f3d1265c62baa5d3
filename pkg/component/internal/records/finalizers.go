package records

import (
	"context"
	"encoding/json"
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
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Finalizers are the finalizers of components on Secrets with kubeconfigs. Without a finalizer, the deletion of a
// namespace may delete the Secret before the component, and the operator can no longer delete the dependents in the
// other cluster. Several components may share a Secret, so each component has a finalizer of its own.
type Finalizers struct {
	keys          keys
	metadata      metadata.Interface
	verifyCluster func(ctx context.Context, name types.NamespacedName) error
}

// Has reports whether a Secret has the finalizer of a component, and the label by which the Collector finds it.
func (f Finalizers) Has(secret metav1.Object, owner manifests.Owner) bool {
	return f.keys.isProtected(secret, f.keys.ownerFinalizer(owner))
}

// Move adds the finalizer of a component to the Secret with its kubeconfig, and then removes the finalizer from the
// former Secret. Both names may be empty.
func (f Finalizers) Move(ctx context.Context, owner manifests.Owner, former, secret string) error {
	if err := f.verifyCluster(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}); err != nil {
		return err
	}
	if secret != "" {
		name := types.NamespacedName{Namespace: owner.Namespace, Name: secret}
		if err := f.change(ctx, name, f.keys.ownerFinalizer(owner), true); err != nil {
			return err
		}
	}
	return f.Remove(ctx, owner, former)
}

// Remove removes the finalizer of a component from a Secret. It does nothing if the name is empty, or the
// Secret does not exist.
func (f Finalizers) Remove(ctx context.Context, owner manifests.Owner, secret string) error {
	if secret == "" {
		return nil
	}
	name := types.NamespacedName{Namespace: owner.Namespace, Name: secret}
	return f.change(ctx, name, f.keys.ownerFinalizer(owner), false)
}

// change adds or removes a finalizer, with the resource version as precondition. It reads the metadata of the Secret,
// and never its data.
func (f Finalizers) change(ctx context.Context, name types.NamespacedName, finalizer string, add bool) error {
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
	case !add && !present, add && f.keys.isProtected(secret, finalizer):
		return nil
	case add && !present && secret.DeletionTimestamp != nil:
		// The API server accepts no new finalizer on an object that is being deleted.
		return &condition.Error{
			Reason: metav1alpha1.ReasonReferenceNotFound, Terminal: true,
			Message: fmt.Sprintf("Secret %s with the kubeconfig is being deleted; name another Secret in the component", name),
		}
	}
	patch, err := finalizerPatch(secret, finalizer, add, f.heldLabel(secret, finalizer, add))
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: string(f.keys)}
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
	others := slices.DeleteFunc(f.keys.ownerFinalizers(secret), func(other string) bool { return other == finalizer })
	if add || len(others) > 0 {
		return map[string]any{f.keys.name(labelHeld): "true"}
	}
	return map[string]any{f.keys.name(labelHeld): nil}
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
