package eventsource

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/related"
)

// RelatedOptions configure an event source of related objects. One of Of and For is enough: the other direction is
// indexed. If both are nil, an object is for the components that its owner references name.
type RelatedOptions[T client.Object, S client.Object] struct {
	// Of returns the objects that a component is related to. They need not exist. Of is called at the start of each pass.
	// If the spec of a component chooses the names, Of must restrict them, because the objects are read with the rights of
	// the operator, and not of the component.
	Of func(component T) []client.ObjectKey
	// For returns the components that an object is related to; see ForOwnerReferences, ForAnnotation and ForLabels. It
	// is called for each version of an object, and sees metadata alone unless Whole is set. The namespaces in its
	// result are ignored if the components are cluster-scoped.
	For func(object S) []client.ObjectKey
	// All relates each component to all objects in its cluster that Selector selects. Of and For must be nil then.
	All bool
	// InTarget watches in the cluster of the dependents of each component. The watch of a cluster begins with the first
	// component that has its dependents there, and ends with the last one.
	InTarget bool
	// Cluster returns the cluster in which the objects of a component are; nil means the cluster of the component. It is
	// called at the start of each pass, so it must not wait for a network. Components with equal configurations share a
	// watch, which ends with the last of them. Credentials, exec plugins and auth providers are compared, and a Transport
	// that is a pointer. A Transport that is made again in each call begins a new watch in each pass, so make one for
	// each cluster and identity. A configuration with functions (WrapTransport, Dial, Proxy, or a persister of
	// credentials) cannot be compared: its component has a watch of its own, which begins again only if another field
	// changes.
	Cluster func(ctx context.Context, component T) (*rest.Config, error)
	// GVK is the type of the objects. It is required if S is *unstructured.Unstructured or *metav1.PartialObjectMetadata;
	// other types are found in the manager's scheme.
	GVK schema.GroupVersionKind
	// Namespaces are the namespaces of the objects, with a list and a watch for each of them, so that a right in these
	// namespaces is enough. By default all namespaces are watched; in the cluster of the components under
	// WatchScopeNamespaces only those of Options.Watching.Namespaces. metav1.NamespaceAll alone means all namespaces
	// also there. If Of returns an object in another namespace, the condition InputStale and Get say so, and an input
	// fails. For an object in another namespace, For is not called. Namespaces are ignored for a cluster-scoped type.
	Namespaces []string
	// Selector selects objects by their labels, and Fields by the fields that their type supports, such as metadata.name.
	// Other objects are neither watched nor kept. Nil selects all.
	Selector labels.Selector
	Fields   fields.Selector
	// Added, Changed and Deleted report whether a created, updated or deleted object wakes its components. They see
	// metadata alone unless Whole is set, and an object whose update does not count is then not read. With Whole,
	// Changed is called only for updates that change the digest. A watch event counts without a call if an object that
	// the function would see is not known: the body before an update was dropped after Idle, or an interrupted watch
	// missed a deletion. An object that a function leaves out remains related: Get returns it, and the next pass has it
	// in an input. Nil means that all watch events count.
	Added   func(object S) bool
	Changed func(before, after S) bool
	Deleted func(object S) bool
	// Part returns the part of an object that counts, which is also its value in an input. Components are woken only when
	// the digest of the part changes. Part does not see the component, so it returns everything that any component needs.
	// Nil means the whole object, without its resource version and its managed fields.
	Part func(object S) any
	// Whole watches whole objects, and keeps them in memory, so that a change costs no request. Without it the watch has
	// metadata alone, and an object that components are related to is read once after each change, for all of them: to
	// compare its part before they are woken, and for Get.
	Whole bool
	// Idle is the time after which a body that Get did not return is dropped from memory. It is read again when it is
	// wanted. The default is ten minutes; a negative value means never.
	Idle time.Duration
}

// Relation is an event source of related objects.
type Relation[T client.Object, S client.Object] struct {
	name string
	// kind returns the type of the components of the reconciler that the event source was added to.
	kind    func() schema.GroupKind
	related *related.Objects
}

// Related returns an event source of objects that components are related to, such as a ConfigMap of another team. The
// objects are watched, and read, as the operator, or as the user of a kubeconfig. All components share a watch.
//
// If S is *metav1.PartialObjectMetadata, only metadata is watched and returned.
func Related[T client.Object, S client.Object](name string, o RelatedOptions[T, S]) *Relation[T, S] {
	r := &Relation[T, S]{name: name}
	_, metadataOnly := any(*new(S)).(*metav1.PartialObjectMetadata)
	options := related.Options{
		GVK: o.GVK, New: newObject[S], All: o.All, InTarget: o.InTarget,
		Namespaces: slices.Clone(o.Namespaces), Whole: o.Whole, MetadataOnly: metadataOnly, Idle: o.Idle,
	}
	if o.Selector != nil {
		options.Selector = o.Selector.String()
	}
	if o.Fields != nil {
		options.Fields = o.Fields.String()
	}
	if o.Of != nil {
		options.Of = func(obj client.Object) []client.ObjectKey { return withType(obj, o.Of) }
	}
	if o.Of == nil && o.For == nil && !o.All {
		o.For = func(object S) []client.ObjectKey { return ForOwnerReferences[S](r.kind())(object) }
	}
	if o.For != nil {
		options.For = func(obj client.Object) []client.ObjectKey { return withType(obj, o.For) }
	}
	if o.Cluster != nil {
		options.Config = func(ctx context.Context, obj client.Object) (*rest.Config, error) {
			component, err := componentOf[T](obj)
			if err != nil {
				return nil, err
			}
			return o.Cluster(ctx, component)
		}
	}
	if o.Part != nil {
		options.Part = func(obj client.Object) any { return withType(obj, o.Part) }
	}
	options.Added, options.Changed, options.Deleted = eventFilter(o.Added), updateFilter(o.Changed), eventFilter(o.Deleted)
	r.related = related.New(options)
	return r
}

// eventFilter returns a filter for objects of any type. An object of another type passes, so that no watch event is
// lost. The result is nil if the filter is.
func eventFilter[S client.Object](filter func(S) bool) func(client.Object) bool {
	if filter == nil {
		return nil
	}
	return func(obj client.Object) bool {
		object, ok := obj.(S)
		return !ok || filter(object)
	}
}

// updateFilter is eventFilter for updates.
func updateFilter[S client.Object](filter func(before, after S) bool) func(before, after client.Object) bool {
	if filter == nil {
		return nil
	}
	return func(before, after client.Object) bool {
		old, isOld := before.(S)
		updated, isUpdated := after.(S)
		return !isOld || !isUpdated || filter(old, updated)
	}
}

// withType calls a function with an object as the type S. It returns the zero value for an object of another type.
func withType[S client.Object, R any](obj client.Object, call func(S) R) (result R) {
	if object, ok := obj.(S); ok {
		return call(object)
	}
	return result
}

// newObject returns an empty object of a pointer type, and nil for other types.
func newObject[S client.Object]() client.Object {
	if reflect.TypeFor[S]().Kind() != reflect.Pointer {
		return nil
	}
	object, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeFor[S]().Elem()))
	return object
}

// Attach implements Source.
func (r *Relation[T, S]) Attach(to eventsources.Reconciler[T]) (func(), error) {
	r.kind = to.Kind
	return to.Add(r.name, r.related)
}

// Get returns the existing objects that are related to a component, sorted by namespace and name. They are never older
// than the watch event that woke the component, and than the last Write. The caller may change them. An error says that
// the objects are not known yet, or that one of them cannot be read.
func (r *Relation[T, S]) Get(ctx context.Context, component T) ([]S, error) {
	found, err := r.related.Get(ctx, client.ObjectKeyFromObject(component))
	objects := make([]S, 0, len(found))
	for _, obj := range found {
		if object, ok := obj.(S); ok {
			objects = append(objects, object)
		}
	}
	return objects, err
}

// GetNamed returns one object that is related to a component, as Get does. No other object is read. The error is
// IsNotFound if the object does not exist, or is not related to the component: a change of such an object would not
// wake the component.
func (r *Relation[T, S]) GetNamed(ctx context.Context, component T, key client.ObjectKey) (S, error) {
	var none S
	obj, err := r.related.GetNamed(ctx, client.ObjectKeyFromObject(component), key)
	if err != nil {
		return none, err
	}
	object, ok := obj.(S)
	if !ok {
		return none, fmt.Errorf("%s is a %T, not a %T", key, obj, none)
	}
	return object, nil
}

// Write calls send, which writes an object that is related to a component, and stores the response in object, as the
// methods of a client do. The watch event of this write does not wake the component, because it knows what it wrote.
// Other components that are related to the object are woken. A change by another client in between wakes the component.
func (r *Relation[T, S]) Write(
	ctx context.Context, component T, object S, send func(ctx context.Context, object S) error,
) error {
	return r.related.Write(ctx, client.ObjectKeyFromObject(component), object, func(ctx context.Context) error {
		return send(ctx, object)
	})
}

// ForOwnerReferences returns a mapper to the components that the owner references of an object name. kind is the type
// of the components; they are in the namespace of the object, or cluster-scoped. It is not for objects in other
// clusters, because the garbage collector there deletes an object whose owner does not exist.
func ForOwnerReferences[S client.Object](kind schema.GroupKind) func(S) []client.ObjectKey {
	return func(object S) []client.ObjectKey {
		var names []client.ObjectKey
		for _, owner := range object.GetOwnerReferences() {
			version, err := schema.ParseGroupVersion(owner.APIVersion)
			if err == nil && owner.Kind == kind.Kind && version.Group == kind.Group {
				names = append(names, client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name})
			}
		}
		return names
	}
}

// ForAnnotation returns a mapper to the components that an annotation of an object lists, separated by commas: as
// namespace/name, or as the name of a component in the namespace of the object. A cluster-scoped component is listed by
// its name.
func ForAnnotation[S client.Object](annotation string) func(S) []client.ObjectKey {
	return func(object S) []client.ObjectKey {
		var names []client.ObjectKey
		for text := range strings.SplitSeq(object.GetAnnotations()[annotation], ",") {
			namespace, name, qualified := strings.Cut(strings.TrimSpace(text), "/")
			if !qualified {
				namespace, name = object.GetNamespace(), namespace
			}
			if name != "" {
				names = append(names, client.ObjectKey{Namespace: namespace, Name: name})
			}
		}
		return names
	}
}

// ForLabels returns a mapper to the component that two labels of an object name. If namespaceLabel is empty, or the
// object does not have it, the component is in the namespace of the object. Cluster-scoped components have no
// namespace.
func ForLabels[S client.Object](nameLabel, namespaceLabel string) func(S) []client.ObjectKey {
	return func(object S) []client.ObjectKey {
		name, namespace := object.GetLabels()[nameLabel], object.GetLabels()[namespaceLabel]
		if name == "" {
			return nil
		}
		if namespace == "" {
			namespace = object.GetNamespace()
		}
		return []client.ObjectKey{{Namespace: namespace, Name: name}}
	}
}
