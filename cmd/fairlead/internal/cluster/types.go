package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// category is the category in the definitions of component types. It selects them in "kubectl get fairlead".
const category = "fairlead"

// Types returns the types of components that a cluster serves: Component first, and then the types whose definition has
// the category fairlead, sorted by name. If some API groups fail, it returns the types of the others with the error.
func Types(about discovery.CachedDiscoveryInterface) ([]*meta.RESTMapping, error) {
	lists, err := about.ServerPreferredResources()
	if !about.Fresh() {
		// The files of an earlier command may be hours old.
		about.Invalidate()
		lists, err = about.ServerPreferredResources()
	}
	var types []*meta.RESTMapping
	for _, list := range lists {
		gv, invalid := schema.ParseGroupVersion(list.GroupVersion)
		if invalid != nil {
			err = errors.Join(err, invalid)
			continue
		}
		for _, r := range list.APIResources {
			gvk := gv.WithKind(r.Kind)
			if gvk.GroupKind() == readyMade {
				gv.Version = v1alpha1.GroupVersion.Version
				gvk.Version = gv.Version
			} else if !slices.Contains(r.Categories, category) {
				continue
			}
			scope := meta.RESTScopeRoot
			if r.Namespaced {
				scope = meta.RESTScopeNamespace
			}
			types = append(types, &meta.RESTMapping{Resource: gv.WithResource(r.Name), GroupVersionKind: gvk, Scope: scope})
		}
	}
	slices.SortFunc(types, func(a, b *meta.RESTMapping) int {
		if rank := rankOf(a) - rankOf(b); rank != 0 {
			return rank
		}
		return cmp.Compare(a.Resource.GroupResource().String(), b.Resource.GroupResource().String())
	})
	return types, err
}

// rankOf returns 0 for the type of the ready-made operator, and 1 for other types.
func rankOf(mapping *meta.RESTMapping) int {
	if (Target{Mapping: mapping}).IsReadyMade() {
		return 0
	}
	return 1
}

// Targets returns a target without a name for each type of components: in the namespace of the connection, and in none
// for a cluster-scoped type.
func Targets(types []*meta.RESTMapping, namespace string) []Target {
	targets := make([]Target, 0, len(types))
	for _, mapping := range types {
		target := Target{Mapping: mapping}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			target.Namespace = namespace
		}
		targets = append(targets, target)
	}
	return targets
}

// ComponentNames returns the names of the components of all types, as arguments name them: NAME for a component of the
// ready-made operator, and TYPE/NAME for others. It reads metadata only, and leaves out types that it cannot list.
func ComponentNames(ctx context.Context, c *Cluster) ([]string, error) {
	types, err := Types(c.served)
	if len(types) == 0 {
		return nil, err
	}
	var all []string
	for _, target := range Targets(types, c.Namespace) {
		names, err := c.names(ctx, target.Mapping.GroupVersionKind, target.Namespace)
		if err != nil {
			continue
		}
		for _, name := range names {
			if !target.IsReadyMade() {
				name = target.Mapping.Resource.GroupResource().String() + "/" + name
			}
			all = append(all, name)
		}
	}
	return all, nil
}

// sameName returns the end of a message that a component of the ready-made operator does not exist: components of other
// types with its name. It is empty if there are none, or if they cannot be read.
func sameName(ctx context.Context, c *Cluster, target Target) string {
	types, _ := Types(c.served)
	for _, other := range Targets(types, target.Namespace) {
		if other.Name = target.Name; other.IsReadyMade() {
			continue
		}
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(other.Mapping.GroupVersionKind)
		err := c.Get(ctx, client.ObjectKey{Namespace: other.Namespace, Name: other.Name}, obj)
		if err == nil {
			return "; there is " + other.String() + ", which is named with its type"
		}
		if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return ""
		}
	}
	return ""
}

// EachComponent calls visit for the components of all types in a namespace, with their statuses: first those of the
// ready-made operator. Cluster-scoped components are among them. Objects of other types that are no components are left
// out. The error is that of visit, or that of the first type that cannot be listed, after all others.
func EachComponent(
	ctx context.Context, c *Cluster, namespace string, visit func(o Object, status metav1alpha1.Status) error,
) error {
	types, failure := Types(c.served)
	for _, target := range Targets(types, namespace) {
		err := c.List(ctx, target.Mapping, target.Namespace, func(obj *unstructured.Unstructured) error {
			of := Target{Mapping: target.Mapping, Namespace: obj.GetNamespace(), Name: obj.GetName()}
			status, err := StatusIfAny(of, obj)
			switch {
			case err != nil && !of.IsReadyMade():
				return nil
			case err != nil:
				return err
			}
			if err := visit(Object{Cluster: c, Target: of, Live: obj}, status); err != nil {
				return failedVisit{err}
			}
			return nil
		})
		if failed, ok := errors.AsType[failedVisit](err); ok {
			return failed.error
		}
		if failure == nil {
			failure = err
		}
	}
	return failure
}
