package manifests

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a normalised manifest, which is the desired state of a dependent. It is read-only.
type Object struct {
	Key      Key
	Version  string
	Scope    Scope
	Settings Settings
	Stage    Stage
	// Ephemeral is set if the object may be removed after its work is done. If such an object is missing, it is not
	// created again.
	Ephemeral bool
	// EmptyLabels is set if the manifest had an empty map of labels. The digest covers the map, and Body does not show it,
	// because it contains the label of the owner.
	EmptyLabels bool
	// Immutable is a hash of the values that the manifest sets for those fields of a built-in type that cannot change
	// while the object exists. It is zero if the manifest sets none. Two hashes of one object that differ show only that
	// an update may be refused: the API server knows exceptions.
	Immutable uint32
	// Types are the managed types that the object defines.
	Types []ManagedType
	// Occurrence is the number of this object among the objects of its set that have the same key. It counts from 0 in
	// apply order. A set contains several objects with the same key if an object is applied at several points of the
	// order. They are the same object in the cluster.
	Occurrence int
	// Digest is the digest of the content of the manifest and of its settings; see SameContent.
	Digest string
	// Body is the manifest as it is applied, with the labels and annotations of the reconciler. It is nil if the object
	// is packed.
	Body *unstructured.Unstructured
	// Packed is the compressed form of the body, and nil if the object is not packed; see Whole.
	Packed Packed
	// Held is set if the conditions of the object do not permit that it is applied or deleted; nil for all other objects.
	Held *Held
	// Undecided is an object whose condition has no value, and that this object depends on, or whose value it binds, also
	// indirectly. If it is excluded, so is this object, which is therefore not created meanwhile. Undecided is nil if
	// there is no such object.
	Undecided *Key
}

// Held says why an object is neither applied nor deleted.
type Held struct {
	// Undecided is the reason why a condition has no value. It is empty if the object is inactive, because its condition
	// active-when is false.
	Undecided string
	// Transient is set if the condition may have a value later without any change.
	Transient bool
}

// GroupVersionKind returns the type with the API version of the manifest.
func (o Object) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind}
}

// Packed is a manifest in another form, such as compressed. It is read-only, and safe for concurrent use.
type Packed interface {
	// Unpack returns a copy of the manifest.
	Unpack() (*unstructured.Unstructured, error)
}

// Whole returns the object with its body. It unpacks the body if the object is packed, in each call. It returns an
// error that names the object if the object has no body in any form, or if the body cannot be unpacked.
func (o Object) Whole() (Object, error) {
	if o.Body != nil {
		return o, nil
	}
	if o.Packed == nil {
		return o, fmt.Errorf("%s: the object has no manifest", o.Key)
	}
	var err error
	if o.Body, err = o.Packed.Unpack(); err != nil {
		return o, fmt.Errorf("%s: %w", o.Key, err)
	}
	return o, nil
}

// Scope is the scope of a type.
type Scope string

// The scopes. ScopeUnknown is the scope of a type that neither the cluster serves nor a dependent defines.
const (
	ScopeUnknown    Scope = "Unknown"
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// ToUnstructured converts a generated object, typed or unstructured, to a manifest. gvkOf returns the type of a typed
// object without apiVersion and kind, usually from the scheme. Unstructured objects are returned unchanged, so that
// fields unknown to Go types are kept.
func ToUnstructured(
	obj runtime.Object,
	gvkOf func(runtime.Object) (schema.GroupVersionKind, error),
) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		gvk, err := gvkOf(obj)
		if err != nil {
			return nil, err
		}
		u.SetGroupVersionKind(gvk)
	}
	return u, nil
}
