package component

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

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
	if wanted != "" {
		if err := r.changeHold(ctx, component, wanted, true); err != nil {
			return err
		}
	}
	if status.TargetSecret != "" {
		if err := r.changeHold(ctx, component, status.TargetSecret, false); err != nil {
			return err
		}
	}
	status.TargetSecret = wanted
	return nil
}

// checkHold notes in the status that a Secret, as it was read, is not held any more, so that it is held again: somebody took our finalizer
// off. In a deletion that is of no use where the Secret goes, too.
func (r *Reconciler[T]) checkHold(component T, owner manifests.Owner, secret client.Object) {
	status := component.GetStatus()
	lost := status.TargetSecret == secret.GetName() && !slices.Contains(secret.GetFinalizers(), r.holdBy(owner))
	if lost && (secret.GetDeletionTimestamp().IsZero() || component.GetDeletionTimestamp().IsZero()) {
		status.TargetSecret = ""
	}
}

// holdBy is the finalizer by which a component holds a Secret: of one that several use each has its own.
func (r *Reconciler[T]) holdBy(owner manifests.Owner) string { return r.name + "/" + owner.ID() }

// freeTarget takes the finalizer off all Secrets that may carry it: a crash may have kept the status from naming the last one.
func (r *Reconciler[T]) freeTarget(ctx context.Context, component T) error {
	secrets := []string{component.GetStatus().TargetSecret}
	if _, _, kubeconfig := declaredTarget(component); kubeconfig != nil && kubeconfig.Name != secrets[0] {
		secrets = append(secrets, kubeconfig.Name)
	}
	for _, name := range secrets {
		if name == "" {
			continue
		}
		if err := r.changeHold(ctx, component, name, false); err != nil {
			return err
		}
	}
	return nil
}

// changeHold adds the component's own finalizer to a Secret, or removes it, with the resource version as precondition. It reads no content.
func (r *Reconciler[T]) changeHold(ctx context.Context, component T, name string, held bool) error {
	owner, err := r.owner(ctx, component)
	if err != nil {
		return err
	}
	finalizer := r.holdBy(owner)
	secrets := r.local.metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(owner.Namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !held {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hold Secret %s/%s: %w", owner.Namespace, name, err)
	}
	if slices.Contains(secret.Finalizers, finalizer) == held {
		return nil
	}
	if held && secret.DeletionTimestamp != nil {
		return &problem{
			reason: metav1alpha1.ReasonReferenceNotFound, terminal: true,
			message: fmt.Sprintf("Secret %s/%s with the kubeconfig is being deleted; name another one", owner.Namespace, name),
		}
	}
	patch, err := finalizerPatch(secret, finalizer, held)
	if err != nil {
		return err
	}
	_, err = secrets.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: r.name})
	if apierrors.IsNotFound(err) && !held {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hold Secret %s/%s by a finalizer: %w", owner.Namespace, name, err)
	}
	return nil
}

// finalizerPatch adds a finalizer to an object, or removes it, and leaves those of others alone.
func finalizerPatch(m *metav1.PartialObjectMetadata, finalizer string, held bool) ([]byte, error) {
	finalizers := slices.DeleteFunc(slices.Clone(m.Finalizers), func(f string) bool { return f == finalizer })
	if held {
		finalizers = append(finalizers, finalizer)
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": m.ResourceVersion, "finalizers": finalizers}})
}
