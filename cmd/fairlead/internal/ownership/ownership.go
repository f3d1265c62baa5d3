package ownership

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Reader reads metadata of objects.
type Reader interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Resolver finds the dependent to which an object belongs. Its methods may be called from several goroutines.
type Resolver struct {
	reader     Reader
	dependents map[manifests.Key]bool

	mu sync.Mutex
	// known caches the dependent of each object. The value is the zero key if the object belongs to no dependent.
	known map[manifests.Key]manifests.Key
}

// New returns a Resolver for the dependents of a component.
func New(reader Reader, dependents []manifests.Key) *Resolver {
	r := &Resolver{reader: reader, dependents: map[manifests.Key]bool{}, known: map[manifests.Key]manifests.Key{}}
	for _, key := range dependents {
		r.dependents[key] = true
	}
	return r
}

// Keys returns the keys of the dependents in an inventory.
func Keys(inventory []metav1alpha1.InventoryEntry) []manifests.Key {
	keys := make([]manifests.Key, 0, len(inventory))
	for _, e := range inventory {
		keys = append(keys, manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name})
	}
	return keys
}

// controlled contains the API version of each type whose objects are created by the controllers of Kubernetes. Only
// objects of these types are read.
var controlled = map[schema.GroupKind]string{
	{Kind: "Pod"}:                       "v1",
	{Group: "apps", Kind: "ReplicaSet"}: "v1",
	{Group: "batch", Kind: "Job"}:       "v1",
	{Kind: "ReplicationController"}:     "v1",
}

// maxDepth is the maximum number of controller references that are followed. A Pod of a CronJob needs two.
const maxDepth = 4

// Dependent returns the dependent to which an object belongs, and whether there is one. An object that does not exist
// or may not be read belongs to no dependent.
func (r *Resolver) Dependent(ctx context.Context, key manifests.Key) (manifests.Key, bool, error) {
	return r.resolve(ctx, key, maxDepth)
}

// DependentOf is like Dependent, for an object that the caller has already read.
func (r *Resolver) DependentOf(ctx context.Context, key manifests.Key, obj metav1.Object) (manifests.Key, bool, error) {
	if r.dependents[key] {
		return key, true, nil
	}
	parent, ok := controllerOf(obj)
	if !ok {
		return manifests.Key{}, false, nil
	}
	return r.resolve(ctx, parent, maxDepth)
}

func (r *Resolver) resolve(ctx context.Context, key manifests.Key, depth int) (manifests.Key, bool, error) {
	if r.dependents[key] {
		return key, true, nil
	}
	version, isControlled := controlled[key.GroupKind()]
	if !isControlled || depth == 0 {
		return manifests.Key{}, false, nil
	}
	if dependent, known := r.cached(key); known {
		return dependent, dependent != manifests.Key{}, nil
	}
	dependent, err := r.read(ctx, key, version, depth)
	if err != nil {
		return manifests.Key{}, false, err
	}
	r.cache(key, dependent)
	return dependent, dependent != manifests.Key{}, nil
}

// read reads the metadata of an object, and resolves its controller.
func (r *Resolver) read(ctx context.Context, key manifests.Key, version string, depth int) (manifests.Key, error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(key.GroupKind().WithVersion(version))
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, obj)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return manifests.Key{}, nil
	}
	if err != nil {
		return manifests.Key{}, err
	}
	parent, ok := controllerOf(obj)
	if !ok {
		return manifests.Key{}, nil
	}
	dependent, _, err := r.resolve(ctx, parent, depth-1)
	return dependent, err
}

// controllerOf returns the key of the object in the controller reference of obj.
func controllerOf(obj metav1.Object) (manifests.Key, bool) {
	ref := metav1.GetControllerOf(obj)
	if ref == nil {
		return manifests.Key{}, false
	}
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
	return manifests.Key{Group: group, Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name}, true
}

func (r *Resolver) cached(key manifests.Key) (manifests.Key, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dependent, known := r.known[key]
	return dependent, known
}

func (r *Resolver) cache(key, dependent manifests.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[key] = dependent
}
