package component

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// lookupKey is what a rendering asks for: an object, or a list of objects.
type lookupKey struct {
	// local says that it is asked of the cluster where the component is, and not of the target.
	local           bool
	gvk             schema.GroupVersionKind
	namespace, name string
	list            bool
}

// record returns what identifies the look-up in the status.
func (k lookupKey) record() metav1alpha1.Lookup {
	name := k.name
	if k.list {
		name = metav1alpha1.LookupList
	}
	return metav1alpha1.Lookup{
		Group: k.gvk.Group, Version: k.gvk.Version, Kind: k.gvk.Kind, Namespace: k.namespace, Name: name,
		Local: k.local, State: metav1alpha1.LookupFound,
	}
}

// keyOf is the reverse of lookupKey.record.
func keyOf(l metav1alpha1.Lookup) lookupKey {
	key := lookupKey{
		local: l.Local, gvk: schema.GroupVersionKind{Group: l.Group, Version: l.Version, Kind: l.Kind}, namespace: l.Namespace, name: l.Name,
	}
	if l.Name == metav1alpha1.LookupList {
		key.name, key.list = "", true
	}
	return key
}

// found is the answer to a look-up: an object, a list, or an error.
type found struct {
	// resource is what serves the type; empty where nothing does.
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	list     *unstructured.UnstructuredList
	err      error
}

// definite says that the answer tells what there is, be it nothing.
func (f found) definite() bool {
	return f.err == nil || apierrors.IsNotFound(f.err) || meta.IsNoMatchError(f.err)
}

// find does a look-up. The namespace of a type that has none is ignored; the key that it returns is without.
func (e *Engine) find(ctx context.Context, key lookupKey) (lookupKey, found) {
	mapping, err := e.discovery.Mapper().RESTMapping(key.gvk.GroupKind(), key.gvk.Version)
	if err != nil {
		return key, found{err: err}
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		key.namespace = ""
	}
	var resource dynamic.ResourceInterface = e.dynamic.Resource(mapping.Resource)
	if key.namespace != "" {
		resource = e.dynamic.Resource(mapping.Resource).Namespace(key.namespace)
	}
	f := found{resource: mapping.Resource}
	if key.list {
		f.list, f.err = resource.List(ctx, metav1.ListOptions{})
		return key, f
	}
	f.object, f.err = resource.Get(ctx, key.name, metav1.GetOptions{})
	return key, f
}

// lookUp reads again what a rendering looked up, as the component's identity.
func (t target) lookUp(ctx context.Context, key lookupKey) (found, error) {
	e := t.engine
	if key.local {
		e = t.local
	}
	_, f := e.find(ctx, key)
	if f.definite() {
		return f, nil
	}
	what := key.record().String()
	if apierrors.IsForbidden(f.err) {
		return f, condition.Forbidden("look up "+what, e.user, f.err)
	}
	return f, &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("look up %s: %v", what, f.err)}
}
