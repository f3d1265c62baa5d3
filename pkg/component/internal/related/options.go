package related

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// DefaultIdle is the time after which a related object that was not touched is dropped from memory.
const DefaultIdle = 10 * time.Minute

// Options configure the event source of related objects.
type Options struct {
	// GVK is the type of the objects. If it is empty, it is the type of New in the scheme.
	GVK schema.GroupVersionKind
	// New returns an empty object.
	New func() client.Object
	// Of returns the objects that a component is related to; nil if only objects know their components.
	Of func(client.Object) []client.ObjectKey
	// For returns the components that an object is related to; nil if only components know their objects. With
	// MetadataOnly, or without Whole, the object has metadata only.
	For func(client.Object) []client.ObjectKey
	// All relates each component to all objects of its cluster. Of and For are nil then.
	All bool
	// InTarget watches in the cluster of the dependents of each component.
	InTarget bool
	// Config returns the configuration for the cluster of a component; nil for its own cluster. Config may be nil.
	Config func(context.Context, client.Object) (*rest.Config, error)
	// Namespaces are the namespaces that are watched. If there are none, these are those of the operator in
	// the cluster of the components, and all in other clusters. The namespace "" alone means all. For a cluster-scoped
	// type they are ignored.
	Namespaces []string
	// Selector is a label selector, and Fields a field selector.
	Selector, Fields string
	// Added, Changed and Deleted filter the watch events that wake components; nil lets all watch events pass. With
	// Whole, Changed is called only for updates whose digest differs. A watch event whose objects are not in memory
	// passes without a call.
	Added, Deleted func(client.Object) bool
	Changed        func(before, after client.Object) bool
	// Part returns the part of an object that the digest and the input consist of; nil for the whole object.
	Part func(client.Object) any
	// Whole keeps the bodies of objects in memory. MetadataOnly is set if bodies are never wanted.
	Whole, MetadataOnly bool
	// Idle is the time after which a body that was not touched is dropped; zero means DefaultIdle, a negative value
	// never.
	Idle time.Duration
}

// Prepare implements eventsources.Preparer. It finds the type of the objects.
func (r *Objects) Prepare(scheme *runtime.Scheme) error {
	if r.options.New() == nil {
		return errors.New("the type of the related objects is not a pointer to a struct")
	}
	if err := checkNames(r.options.Namespaces); err != nil {
		return fmt.Errorf("RelatedOptions.Namespaces: %w", err)
	}
	if !r.options.GVK.Empty() {
		return nil
	}
	gvk, err := apiutil.GVKForObject(r.options.New(), scheme)
	if err != nil {
		return fmt.Errorf("add the type of the related objects to the scheme, or set its GVK: %w", err)
	}
	r.options.GVK = gvk
	return nil
}

// checkNames returns an error if a namespace has no valid name, or is named twice, or if the namespace "", which means
// all, is not the only one.
func checkNames(namespaces []string) error {
	if len(namespaces) == 1 && namespaces[0] == metav1.NamespaceAll {
		return nil
	}
	for i, namespace := range namespaces {
		if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
			return fmt.Errorf("%q is no name of a namespace: %s", namespace, strings.Join(bad, "; "))
		}
		if slices.Contains(namespaces[:i], namespace) {
			return fmt.Errorf("namespace %q is named twice", namespace)
		}
	}
	return nil
}
