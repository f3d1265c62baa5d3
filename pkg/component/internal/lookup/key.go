package lookup

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
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// key identifies a look-up of an object or of a list of objects.
type key struct {
	// local is set for a look-up in the cluster of the component, and not set for a look-up in the cluster of the
	// dependents.
	local           bool
	gvk             schema.GroupVersionKind
	namespace, name string
	list            bool
}

// entry returns the look-up in the form in which the status contains it.
func (k key) entry() metav1alpha1.Lookup {
	name := k.name
	if k.list {
		name = metav1alpha1.LookupList
	}
	return metav1alpha1.Lookup{
		Group: k.gvk.Group, Version: k.gvk.Version, Kind: k.gvk.Kind, Namespace: k.namespace, Name: name,
		Local: k.local, State: metav1alpha1.LookupFound,
	}
}

// keyOf is the reverse of key.entry.
func keyOf(l metav1alpha1.Lookup) key {
	k := key{
		local: l.Local, gvk: schema.GroupVersionKind{Group: l.Group, Version: l.Version, Kind: l.Kind},
		namespace: l.Namespace, name: l.Name,
	}
	if l.Name == metav1alpha1.LookupList {
		k.name, k.list = "", true
	}
	return k
}

// answer is the result of a look-up: an object, a list, or an error.
type answer struct {
	// resource is empty if the API server does not serve the type.
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	list     *unstructured.UnstructuredList
	err      error
}

// isDefinite reports whether the API server returned an object or a list, or confirmed that the object or the type does
// not exist. It returns false for errors such as a timeout or a missing right.
func (a answer) isDefinite() bool {
	return a.err == nil || apierrors.IsNotFound(a.err) || meta.IsNoMatchError(a.err)
}

// read makes a look-up with the identity of the client. The namespace of a cluster-scoped type is ignored, and removed
// from the key that it returns.
func read(ctx context.Context, client *target.Client, asked key) (key, answer) {
	var k key
	var a answer
	_ = client.Discovery.WithRenewal(func() error {
		k, a = readMapped(ctx, client, asked)
		return a.err
	})
	return k, a
}

// readMapped makes a look-up at the path that the RESTMapper has for the type. The path may be out of date.
func readMapped(ctx context.Context, client *target.Client, k key) (key, answer) {
	mapping, err := client.Discovery.Mapper().RESTMapping(k.gvk.GroupKind(), k.gvk.Version)
	if err != nil {
		return k, answer{err: err}
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		k.namespace = ""
	}
	var resource dynamic.ResourceInterface = client.Dynamic.Resource(mapping.Resource)
	if k.namespace != "" {
		resource = client.Dynamic.Resource(mapping.Resource).Namespace(k.namespace)
	}
	a := answer{resource: mapping.Resource}
	if k.list {
		a.list, a.err = resource.List(ctx, metav1.ListOptions{})
		return k, a
	}
	a.object, a.err = resource.Get(ctx, k.name, metav1.GetOptions{})
	return k, a
}

// readAgain repeats a look-up. It returns an error if the answer is not definite; see answer.isDefinite.
func readAgain(ctx context.Context, t target.Target, k key) (answer, error) {
	client := t.On(k.local)
	_, a := read(ctx, client, k)
	if a.isDefinite() {
		return a, nil
	}
	entry := k.entry()
	entry.Local = false // A message needs no mark of the cluster.
	object := entry.String()
	if apierrors.IsForbidden(a.err) {
		return a, passerror.Forbidden("look up "+object, client.User, a.err)
	}
	return a, &passerror.Error{
		Reason:  metav1alpha1.ReasonRetrying,
		Message: fmt.Sprintf("look up %s: %v", object, a.err),
	}
}
