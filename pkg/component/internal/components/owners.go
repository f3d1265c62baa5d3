package components

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Owners computes owner ids. An owner id contains the id of the cluster where the components are stored, which is the
// UID of the namespace kube-system.
//
// After a restart the cluster id is not known. A pass assumes the id that the component's status names, and the id is
// verified before the first write. So after a restart no request for the cluster id is sent if all components are
// unchanged.
type Owners struct {
	options Options
	// asking is locked during the request for the cluster id, so that only one worker sends the request.
	asking sync.Mutex
	// mu protects cluster.
	mu sync.Mutex
	// cluster is the cluster id that the API server returned, empty before the first response.
	cluster string
}

// NewOwners returns Owners for the components of a reconciler.
func NewOwners(options Options) *Owners { return &Owners{options: options} }

// Of returns the owner id of a component for this pass. If an earlier pass assumed another cluster id, it calls
// Options.OwnerChanged with the previous owner id and returns a conflict, because a pass works for one owner id only.
func (o *Owners) Of(ctx context.Context, obj Object) (manifests.Owner, error) {
	name := client.ObjectKeyFromObject(obj)
	cluster, err := o.ClusterOf(ctx, obj)
	if err != nil {
		return manifests.Owner{}, err
	}
	if previous := o.options.States.Of(name).assumeCluster(cluster, o.confirmed()); previous != "" {
		o.options.OwnerChanged(o.In(previous, name))
		return manifests.Owner{}, o.options.conflict(name, "the component's status named another cluster")
	}
	return o.In(cluster, name), nil
}

// Known returns the owner id that the last pass over a component used. It also works for a component that no longer
// exists.
func (o *Owners) Known(name types.NamespacedName) manifests.Owner {
	if assumed := o.options.States.Known(name).clusterAssumption(); assumed != "" {
		return o.In(assumed, name)
	}
	return o.In(o.confirmed(), name)
}

// In returns the owner id of a component in the cluster with the given id.
func (o *Owners) In(cluster string, name types.NamespacedName) manifests.Owner {
	gvk := o.options.GVK
	return manifests.Owner{
		Cluster: cluster, Reconciler: o.options.Name,
		Group: gvk.Group, Kind: gvk.Kind, Namespace: name.Namespace, Name: name.Name,
	}
}

// VerifyCluster confirms the assumed cluster id of a component. The caller must call it before the first write of a
// pass. Without this check, a cluster id that somebody edited in the status would lead to a wrong owner id, and the
// existing dependents and records would be treated as dependents and records of another owner. VerifyCluster sends at
// most one request per process. It returns a conflict if the assumed id is wrong.
func (o *Owners) VerifyCluster(ctx context.Context, name types.NamespacedName) error {
	assumed := o.options.States.Known(name).clusterAssumption()
	if assumed == "" {
		return nil
	}
	cluster, err := o.ClusterID(ctx)
	if err == nil && cluster != assumed {
		return o.options.conflict(name, "the component's status names another cluster")
	}
	return err
}

// ClusterOf returns the cluster id of a component: the confirmed id, or else the id that its status names. The status
// of a component that is being deleted is not trusted, because a deletion with a wrong id would delete no dependents.
func (o *Owners) ClusterOf(ctx context.Context, obj Object) (string, error) {
	if confirmed := o.confirmed(); confirmed != "" {
		return confirmed, nil
	}
	recorded := recordedCluster(obj.GetStatus(), obj.GetUID())
	if recorded != "" && obj.GetDeletionTimestamp().IsZero() {
		return recorded, nil
	}
	return o.ClusterID(ctx)
}

// ClusterID returns the id of the cluster where the components are stored. The first call reads it from the API server;
// later calls return the stored id.
func (o *Owners) ClusterID(ctx context.Context) (string, error) {
	o.asking.Lock()
	defer o.asking.Unlock()
	if confirmed := o.confirmed(); confirmed != "" {
		return confirmed, nil
	}
	// Only the metadata is read, so that the author's scheme does not need the core types.
	namespace := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	err := o.options.Reader.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &namespace)
	if err != nil {
		return "", fmt.Errorf("identify the cluster: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cluster = string(namespace.UID)
	return o.cluster, nil
}

// confirmed returns the cluster id that the API server returned, or an empty string before the first response.
func (o *Owners) confirmed() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cluster
}

// Identity returns the text of Status.Identity for a component with a UID in the cluster with the given id.
func Identity(cluster string, uid types.UID) string { return cluster + "/" + string(uid) }

// recordedCluster returns the cluster id that a status names, or an empty string if the status was written for another
// object. A component that was restored from a backup has another UID than its status names.
func recordedCluster(status *metav1alpha1.Status, uid types.UID) string {
	cluster, of, _ := strings.Cut(status.Identity, "/")
	if uid == "" || of != string(uid) {
		return ""
	}
	return cluster
}
