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

// owner identifies a component. Its own record tells in which cluster it is, so that a restart need not ask.
func (r *Reconciler[T]) owner(ctx context.Context, component T) (manifests.Owner, error) {
	name := client.ObjectKeyFromObject(component)
	cluster := recordedCluster(component.GetStatus(), component.GetUID())
	if cluster == "" {
		var err error
		if cluster, err = r.clusterID(ctx); err != nil {
			return manifests.Owner{}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if cluster == r.cluster {
		delete(r.clusters, name)
	} else {
		r.clusters[name] = cluster
	}
	return r.ownerIn(cluster, name), nil
}

// ownerOf identifies a component that may not exist any more.
func (r *Reconciler[T]) ownerOf(name types.NamespacedName) manifests.Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ownerIn(r.clusterOf(name), name)
}

// clusterOf returns where a component was last known to live. The caller holds the lock.
func (r *Reconciler[T]) clusterOf(name types.NamespacedName) string {
	if cluster, ok := r.clusters[name]; ok {
		return cluster
	}
	return r.cluster
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
	r.mu.Lock()
	known := r.cluster
	r.mu.Unlock()
	if known != "" {
		return known, nil
	}
	// As metadata, so that an author's scheme need not know the type.
	namespace := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := r.reader.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &namespace); err != nil {
		return "", fmt.Errorf("identify the cluster: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster = string(namespace.UID)
	return r.cluster, nil
}
