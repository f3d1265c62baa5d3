package components

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Options describe the components of one reconciler and the clients for them. All fields except FieldOwners and Idle
// are required.
type Options struct {
	// Name is the name of the reconciler.
	Name string
	// Finalizers are the finalizers of the reconciler.
	Finalizers Finalizers
	// FieldOwners are the field managers of the reconciler; its name by default. The first one is the field manager of
	// WriteStatus.
	FieldOwners []string
	// GVK is the type of the components, and New returns an empty component.
	GVK schema.GroupVersionKind
	New func() (Object, error)
	// Client reads from the cache and writes. Reader reads from the API server.
	Client client.Client
	Reader client.Reader
	// Idle keeps the inventories of cached components; nil keeps them in the cache.
	Idle *IdleInventories
	// States holds the state of each component.
	States States
	// StatusWritten is called after each write of a whole status by WriteStatus.
	StatusWritten func(types.NamespacedName, *metav1alpha1.Status)
	// NeedsPass reports whether a change of a component needs a pass, and Wake starts one.
	NeedsPass func(before, after client.Object) bool
	Wake      func(types.NamespacedName)
	// OwnerChanged is called with an owner id that was computed from a wrong cluster id. The callee must stop all
	// watches for that owner id.
	OwnerChanged func(previous manifests.Owner)
}

// conflict returns the error of a pass or a write whose component was changed by another client.
func (o *Options) conflict(name types.NamespacedName, cause string) error {
	resource := schema.GroupResource{Group: o.GVK.Group, Resource: o.GVK.Kind}
	return apierrors.NewConflict(resource, name.String(), errors.New(cause))
}
