package component

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// newRecordStore returns the store of the records of components. It uses the clients of the local engine.
func (r *Reconciler[T]) newRecordStore() *records.Store {
	return records.NewStore(records.Options{
		Reconciler: r.name, Namespace: r.options.RecordNamespace,
		Dynamic: r.local.watching, Metadata: r.local.metadata,
		NamespaceGoes: func(ctx context.Context, namespace string) bool {
			return r.local.checking.NamespaceGoes(ctx, namespace)
		},
		VerifyCluster: r.owners.VerifyCluster, Clock: r.clock,
	})
}

// newRecordCollector returns the garbage collection of Secrets.
func (r *Reconciler[T]) newRecordCollector() *records.Collector {
	namespaces := []string{""}
	if r.options.Observe == ReachNamespaces {
		namespaces = r.options.ObserveNamespaces
	}
	return &records.Collector{
		Store: r.records, Components: collectedComponents[T]{r}, Namespaces: namespaces, Started: r.local.started,
	}
}

// collectedComponents implements records.Components.
type collectedComponents[T Component] struct{ reconciler *Reconciler[T] }

// Cached implements records.Components.
func (c collectedComponents[T]) Cached(ctx context.Context) (map[string]records.Component, error) {
	cached, err := c.reconciler.components.ListCached(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]records.Component{}
	for _, component := range cached {
		name := client.ObjectKeyFromObject(component)
		cluster, err := c.reconciler.owners.ClusterOf(ctx, component)
		if err != nil {
			return nil, err
		}
		found[c.reconciler.owners.In(cluster, name).ID()] = records.Component{Name: name, Status: component.GetStatus()}
	}
	return found, nil
}

// Identity implements records.Components.
func (c collectedComponents[T]) Identity(ctx context.Context) (manifests.Owner, error) {
	cluster, err := c.reconciler.owners.ClusterID(ctx)
	return c.reconciler.owners.In(cluster, types.NamespacedName{}), err
}

// Live implements records.Components.
func (c collectedComponents[T]) Live(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	return c.reconciler.components.ListLive(ctx, namespace)
}

// Unnamed implements records.Components.
func (c collectedComponents[T]) Unnamed(component types.NamespacedName, secret *metav1.PartialObjectMetadata) {
	c.reconciler.secrets.of(component).AddUnnamedSecret(secret)
	c.reconciler.wake(component)
}

// protectKubeconfig adds the component's finalizer to the Secret with its kubeconfig, and removes it from the former
// Secret. The status names the Secret that has the finalizer.
func (r *Reconciler[T]) protectKubeconfig(ctx context.Context, component T) error {
	_, _, kubeconfig := declaredTarget(component)
	status, declared := component.GetStatus(), ""
	if kubeconfig != nil {
		declared = kubeconfig.Name
	}
	if status.TargetSecret == declared {
		return nil
	}
	owner, err := r.owners.Of(ctx, component)
	if err != nil {
		return err
	}
	if err := r.records.Finalizers.Move(ctx, owner, status.TargetSecret, declared); err != nil {
		return err
	}
	status.TargetSecret = declared
	return nil
}

// checkKubeconfig removes the name of a Secret from the status if somebody removed the finalizer or the label from the
// Secret, so that both are added again. They cannot be added to a Secret that is deleted together with the component.
func (r *Reconciler[T]) checkKubeconfig(component T, owner manifests.Owner, secret client.Object) {
	status := component.GetStatus()
	lost := status.TargetSecret == secret.GetName() && !r.records.Finalizers.Has(secret, owner)
	if lost && (secret.GetDeletionTimestamp().IsZero() || component.GetDeletionTimestamp().IsZero()) {
		status.TargetSecret = ""
	}
}

// releaseKubeconfig removes the component's finalizer from the Secret that the status names, and from the declared
// Secret: after a crash, the status may not name it.
func (r *Reconciler[T]) releaseKubeconfig(ctx context.Context, component T, owner manifests.Owner) error {
	recorded := component.GetStatus().TargetSecret
	if err := r.records.Finalizers.Remove(ctx, owner, recorded); err != nil {
		return err
	}
	_, _, kubeconfig := declaredTarget(component)
	if kubeconfig == nil || kubeconfig.Name == recorded {
		return nil
	}
	return r.records.Finalizers.Remove(ctx, owner, kubeconfig.Name)
}

// noteOwned remembers the Secrets of a component at the end of a pass; see releaseLeft.
func (r *Reconciler[T]) noteOwned(component T) {
	owned := records.OwnedBy(component.GetUID(), component.GetStatus())
	r.secrets.of(client.ObjectKeyFromObject(component)).SetOwned(owned)
}

// releaseLeft releases the Secrets of a component that is gone, because somebody removed our finalizer from it. uid is
// the UID of the component of the same name that exists now, empty if there is none.
func (r *Reconciler[T]) releaseLeft(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	memory := r.secrets.of(name)
	left, ok := memory.LeftBy(uid)
	if !ok {
		return nil
	}
	// The cluster id in the status of the deleted component may have been edited.
	cluster, err := r.owners.ClusterID(ctx)
	if err != nil {
		return err
	}
	return r.records.Release(ctx, memory, r.owners.In(cluster, name), left)
}

// releaseVanished releases the Secrets of a component that is not in the cache. If it had any, the component is read
// from the API server before, because the cache may be bounded to some components.
func (r *Reconciler[T]) releaseVanished(ctx context.Context, name types.NamespacedName) error {
	if _, ok := r.secrets.of(name).LeftBy(""); !ok {
		return nil
	}
	live, err := r.components.Live(ctx, name)
	if apierrors.IsConflict(err) {
		return r.releaseLeft(ctx, name, "")
	}
	if err != nil {
		return err
	}
	return r.releaseLeft(ctx, name, live.GetUID())
}
