package component

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// owner identifies a component. Its own record tells in which cluster it is, so that a restart need not ask: that is presumed until a pass writes
// something, and never of a deletion, which takes nothing away that is not the owner's. Who presumed something else before ends the pass by a
// conflict, for one pass works for one owner.
func (r *Reconciler[T]) owner(ctx context.Context, component T) (manifests.Owner, error) {
	name := client.ObjectKeyFromObject(component)
	cluster, err := r.clusterFor(ctx, component)
	if err != nil {
		return manifests.Owner{}, err
	}
	if former, changed := r.residence.presume(name, cluster); changed {
		r.disown(r.ownerIn(former, name))
		return manifests.Owner{}, r.conflict(name, "its status named another cluster")
	}
	return r.ownerIn(cluster, name), nil
}

// clusterFor returns where a component lives: what was asked, or else what its record says.
func (r *Reconciler[T]) clusterFor(ctx context.Context, component T) (string, error) {
	known, recorded := r.residence.asked(), recordedCluster(component.GetStatus(), component.GetUID())
	switch {
	case known != "":
		return known, nil
	case recorded != "" && component.GetDeletionTimestamp().IsZero():
		return recorded, nil
	}
	return r.clusterID(ctx)
}

// certain asks, before anything is written for a component, whether it lives where its record says: with a record that somebody edited, all
// dependents are those of another owner, whom nothing is deleted for, and all records are lost. It costs one request in the life of a process.
func (r *Reconciler[T]) certain(ctx context.Context, name types.NamespacedName) error {
	presumed, ok := r.residence.presumption(name)
	if !ok {
		return nil
	}
	cluster, err := r.clusterID(ctx)
	if err == nil && cluster != presumed {
		return r.conflict(name, "its status names another cluster")
	}
	return err
}

// ownerOf identifies a component that has an owner in this pass, or that does not exist any more.
func (r *Reconciler[T]) ownerOf(name types.NamespacedName) manifests.Owner {
	return r.ownerIn(r.residence.of(name), name)
}

func (r *Reconciler[T]) ownerIn(cluster string, name types.NamespacedName) manifests.Owner {
	return manifests.Owner{
		Cluster: cluster, Reconciler: r.name,
		Group: r.gvk.Group, Kind: r.gvk.Kind, Namespace: name.Namespace, Name: name.Name,
	}
}

// identityText is what the status says of the component that it was recorded for; see Status.Identity.
func identityText(cluster string, uid types.UID) string { return cluster + "/" + string(uid) }

// recordedCluster returns the cluster that a component was recorded in, if it still is the one that was: an object that a backup brings to
// another cluster, or back to its own, has another UID. What the record says concerns no other component: an owner id that is not true is
// nobody else's either.
func recordedCluster(status *metav1alpha1.Status, uid types.UID) string {
	cluster, of, _ := strings.Cut(status.Identity, "/")
	if uid == "" || of != string(uid) {
		return ""
	}
	return cluster
}

// clusterID returns the UID of the namespace kube-system, which identifies the cluster where components live.
func (r *Reconciler[T]) clusterID(ctx context.Context) (string, error) {
	// One worker asks; the others wait for its answer.
	r.identifying.Lock()
	defer r.identifying.Unlock()
	if known := r.residence.asked(); known != "" {
		return known, nil
	}
	// As metadata, so that an author's scheme need not know the type.
	namespace := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := r.reader.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &namespace); err != nil {
		return "", fmt.Errorf("identify the cluster: %w", err)
	}
	r.residence.answer(string(namespace.UID))
	return string(namespace.UID), nil
}
