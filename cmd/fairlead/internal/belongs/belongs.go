// Package belongs tells which objects belong to a component besides its dependents: what the controllers of Kubernetes made for them, such
// as the pods of a Deployment.
package belongs

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

// Belongings are the dependents of a component, and what was made for them.
type Belongings struct {
	reader     Reader
	dependents map[manifests.Key]bool

	mu sync.Mutex
	// owners remembers to which dependent an object belongs; the zero key is none.
	owners map[manifests.Key]manifests.Key
}

// New returns the belongings of a component, by its dependents.
func New(reader Reader, dependents []manifests.Key) *Belongings {
	b := &Belongings{reader: reader, dependents: map[manifests.Key]bool{}, owners: map[manifests.Key]manifests.Key{}}
	for _, key := range dependents {
		b.dependents[key] = true
	}
	return b
}

// Keys returns the dependents that an inventory records.
func Keys(inventory []metav1alpha1.InventoryEntry) []manifests.Key {
	keys := make([]manifests.Key, 0, len(inventory))
	for _, e := range inventory {
		keys = append(keys, manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name})
	}
	return keys
}

// made are the types that controllers of Kubernetes make objects of for others; only these are looked up.
var made = map[schema.GroupKind]string{
	{Kind: "Pod"}:                       "v1",
	{Group: "apps", Kind: "ReplicaSet"}: "v1",
	{Group: "batch", Kind: "Job"}:       "v1",
	{Kind: "ReplicationController"}:     "v1",
}

// deepest bounds how far up is looked: a pod, its Job, and the CronJob of that are three.
const deepest = 4

// Dependent returns the dependent that an object is, or was made for. One that is gone, or may not be read, belongs to nobody.
func (b *Belongings) Dependent(ctx context.Context, key manifests.Key) (manifests.Key, bool, error) {
	return b.climb(ctx, key, deepest)
}

// DependentOf is Dependent for an object that was read already.
func (b *Belongings) DependentOf(ctx context.Context, key manifests.Key, obj metav1.Object) (manifests.Key, bool, error) {
	if b.dependents[key] {
		return key, true, nil
	}
	above, ok := controller(obj)
	if !ok {
		return manifests.Key{}, false, nil
	}
	return b.climb(ctx, above, deepest)
}

func (b *Belongings) climb(ctx context.Context, key manifests.Key, left int) (manifests.Key, bool, error) {
	if b.dependents[key] {
		return key, true, nil
	}
	version, isMade := made[key.GroupKind()]
	if !isMade || left == 0 {
		return manifests.Key{}, false, nil
	}
	if owner, known := b.remembered(key); known {
		return owner, owner != manifests.Key{}, nil
	}
	owner, err := b.above(ctx, key, version, left)
	if err != nil {
		return manifests.Key{}, false, err
	}
	b.remember(key, owner)
	return owner, owner != manifests.Key{}, nil
}

// above reads an object, and climbs on from its controller.
func (b *Belongings) above(ctx context.Context, key manifests.Key, version string, left int) (manifests.Key, error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(key.GroupKind().WithVersion(version))
	err := b.reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, obj)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return manifests.Key{}, nil
	}
	if err != nil {
		return manifests.Key{}, err
	}
	next, ok := controller(obj)
	if !ok {
		return manifests.Key{}, nil
	}
	owner, _, err := b.climb(ctx, next, left-1)
	return owner, err
}

// controller returns who made an object.
func controller(obj metav1.Object) (manifests.Key, bool) {
	ref := metav1.GetControllerOf(obj)
	if ref == nil {
		return manifests.Key{}, false
	}
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
	return manifests.Key{Group: group, Kind: ref.Kind, Namespace: obj.GetNamespace(), Name: ref.Name}, true
}

func (b *Belongings) remembered(key manifests.Key) (manifests.Key, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	owner, known := b.owners[key]
	return owner, known
}

func (b *Belongings) remember(key, owner manifests.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owners[key] = owner
}
