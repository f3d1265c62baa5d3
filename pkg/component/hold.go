package component

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// labelHeld with the reconciler's prefix marks all Secrets that carry a finalizer of ours: records, and those with kubeconfigs.
const labelHeld = "held"

// holdTarget puts a finalizer on the Secret of the component's kubeconfig, and takes it off the one that was held before. When a namespace
// is deleted, Secrets go first, and with this one the way to the dependents. The status says which Secret is held.
func (r *Reconciler[T]) holdTarget(ctx context.Context, component T) error {
	_, _, kubeconfig := declaredTarget(component)
	status, wanted := component.GetStatus(), ""
	if kubeconfig != nil {
		wanted = kubeconfig.Name
	}
	if status.TargetSecret == wanted {
		return nil
	}
	owner, err := r.owner(ctx, component)
	if err != nil {
		return err
	}
	if err := r.certain(ctx, client.ObjectKeyFromObject(component)); err != nil {
		return err
	}
	if wanted != "" {
		if err := r.changeHold(ctx, heldSecret(owner, wanted), r.holdBy(owner), true); err != nil {
			return err
		}
	}
	if status.TargetSecret != "" {
		if err := r.changeHold(ctx, heldSecret(owner, status.TargetSecret), r.holdBy(owner), false); err != nil {
			return err
		}
	}
	status.TargetSecret = wanted
	return nil
}

// checkHold notes in the status that a Secret, as it was read, is not held any more, so that it is held again: somebody took our finalizer
// off, or the label by which it is found. In a deletion that is of no use where the Secret goes, too.
func (r *Reconciler[T]) checkHold(component T, owner manifests.Owner, secret client.Object) {
	status := component.GetStatus()
	lost := status.TargetSecret == secret.GetName() && !r.isHeld(secret, r.holdBy(owner))
	if lost && (secret.GetDeletionTimestamp().IsZero() || component.GetDeletionTimestamp().IsZero()) {
		status.TargetSecret = ""
	}
}

// holdBy is the finalizer by which a component holds a Secret: of one that several use each has its own.
func (r *Reconciler[T]) holdBy(owner manifests.Owner) string { return r.name + "/" + owner.ID() }

// isHeld says that a Secret carries the finalizer of a component, and the label by which it is found where the component went without us.
func (r *Reconciler[T]) isHeld(secret metav1.Object, finalizer string) bool {
	return slices.Contains(secret.GetFinalizers(), finalizer) && secret.GetLabels()[r.name+"/"+labelHeld] != ""
}

// heldSecret names a Secret beside a component.
func heldSecret(owner manifests.Owner, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: owner.Namespace, Name: name}
}

// freeTarget takes the finalizer off all Secrets that may carry it: a crash may have kept the status from naming the last one.
func (r *Reconciler[T]) freeTarget(ctx context.Context, component T, owner manifests.Owner) error {
	secrets := []string{component.GetStatus().TargetSecret}
	if _, _, kubeconfig := declaredTarget(component); kubeconfig != nil && kubeconfig.Name != secrets[0] {
		secrets = append(secrets, kubeconfig.Name)
	}
	for _, name := range secrets {
		if name == "" {
			continue
		}
		if err := r.changeHold(ctx, heldSecret(owner, name), r.holdBy(owner), false); err != nil {
			return err
		}
	}
	return nil
}

// changeHold adds a component's own finalizer to a Secret, or removes it, with the resource version as precondition. It reads no content.
func (r *Reconciler[T]) changeHold(ctx context.Context, name types.NamespacedName, finalizer string, held bool) error {
	secrets := r.local.metadata.Resource(secretResource).Namespace(name.Namespace)
	secret, err := secrets.Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !held {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hold Secret %s: %w", name, err)
	}
	if changes, err := r.changesHold(secret, finalizer, held); err != nil || !changes {
		return err
	}
	patch, err := finalizerPatch(secret, finalizer, held, r.holdMark(secret, finalizer, held))
	if err != nil {
		return err
	}
	_, err = secrets.Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: r.name})
	if apierrors.IsNotFound(err) && !held {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hold Secret %s by a finalizer: %w", name, err)
	}
	return nil
}

// changesHold says whether a write is needed so that a Secret is held, or not held any more. One that is being deleted cannot be held anew.
func (r *Reconciler[T]) changesHold(secret *metav1.PartialObjectMetadata, finalizer string, held bool) (bool, error) {
	has := slices.Contains(secret.Finalizers, finalizer)
	switch {
	case !held:
		return has, nil
	case !has && secret.DeletionTimestamp != nil:
		return false, &condition.Error{
			Reason: metav1alpha1.ReasonReferenceNotFound, Terminal: true,
			Message: fmt.Sprintf("Secret %s with the kubeconfig is being deleted; name another one", client.ObjectKeyFromObject(secret)),
		}
	}
	return !r.isHeld(secret, finalizer), nil
}

// holdMark returns the label that says of a Secret that components hold it, so that it is found when they are gone; it is taken off with the
// last of our finalizers.
func (r *Reconciler[T]) holdMark(secret *metav1.PartialObjectMetadata, finalizer string, held bool) map[string]any {
	others := slices.DeleteFunc(r.holders(secret), func(f string) bool { return f == finalizer })
	if held || len(others) > 0 {
		return map[string]any{r.name + "/" + labelHeld: "true"}
	}
	return map[string]any{r.name + "/" + labelHeld: nil}
}

// holders returns the finalizers by which our components hold a Secret.
func (r *Reconciler[T]) holders(secret *metav1.PartialObjectMetadata) []string {
	return slices.DeleteFunc(slices.Clone(secret.Finalizers), func(f string) bool {
		return f == r.Finalizer() || !strings.HasPrefix(f, r.name+"/")
	})
}

// finalizerPatch adds a finalizer to an object, or removes it, and leaves those of others alone; labels are set besides.
func finalizerPatch(m *metav1.PartialObjectMetadata, finalizer string, held bool, labels map[string]any) ([]byte, error) {
	finalizers := slices.DeleteFunc(slices.Clone(m.Finalizers), func(f string) bool { return f == finalizer })
	if held {
		finalizers = append(finalizers, finalizer)
	}
	metadata := map[string]any{"resourceVersion": m.ResourceVersion, "finalizers": finalizers}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}
