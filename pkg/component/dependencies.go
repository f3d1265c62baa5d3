package component

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/dependencies"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
)

// maxDependencies is the maximum number of components that a component can depend on. It bounds the search for cycles.
const maxDependencies = 32

// Needs implements reconcile.Author.
func (a author[T]) Needs(obj components.Object) reconcile.Needs {
	needs := reconcile.Needs{Field: a.fieldOfDependencies()}
	if h, ok := components.Implementation[DependencyHolder](obj); ok {
		declared := h.Dependencies()
		// Validate refuses longer lists.
		for _, d := range declared[:min(len(declared), maxDependencies)] {
			needs.Edges = append(needs.Edges, dependencies.Edge{
				On: neededBy(obj, d), Kind: dependencies.DependsOn, Blocks: d.Deletion != metav1alpha1.DependencyIgnored,
			})
		}
	}
	if h, ok := components.Implementation[ConsentHolder](obj); ok {
		for _, c := range h.Consents() {
			needs.Allows = append(needs.Allows, c.Namespace)
		}
	}
	return needs
}

// fieldOfDependencies returns the name of the field with the dependencies of a component, for messages.
func (a author[T]) fieldOfDependencies() string { return cmp.Or(a.dependencyField, "dependsOn") }

// neededBy returns the component that a dependency of a component names.
func neededBy(obj client.Object, d metav1alpha1.Dependency) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(d.Namespace, obj.GetNamespace()), Name: d.Name}
}

// checkDependencies returns an error if the dependencies of a component cannot be meant. field is the name of their
// field.
func checkDependencies(obj client.Object, declared []metav1alpha1.Dependency, field string) error {
	if len(declared) > maxDependencies {
		return fmt.Errorf("%s has %d entries, and at most %d are possible", field, len(declared), maxDependencies)
	}
	var errs []error
	first := map[types.NamespacedName]int{}
	for i, d := range declared {
		on := neededBy(obj, d)
		at, found := first[on]
		err := checkDependency(obj, d)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s[%d]: %w", field, i, err))
		case found:
			errs = append(errs, fmt.Errorf("%s[%d]: %s[%d] names the same component; remove one of them", field, i, field, at))
		default:
			first[on] = i
		}
	}
	return errors.Join(errs...)
}

// checkDependency returns an error if a dependency of a component cannot be meant.
func checkDependency(obj client.Object, d metav1alpha1.Dependency) error {
	switch {
	case d.Name == "":
		return errors.New("it names no component; set name")
	case d.Namespace != "" && obj.GetNamespace() == "":
		return errors.New("components of this type have no namespace; remove namespace")
	case neededBy(obj, d) == client.ObjectKeyFromObject(obj):
		return errors.New("the component depends on itself; remove this entry")
	}
	switch d.Deletion {
	case "", metav1alpha1.DependencyBlocks, metav1alpha1.DependencyIgnored:
		return nil
	}
	return fmt.Errorf("deletion is %q, and can only be %s or %s",
		d.Deletion, metav1alpha1.DependencyBlocks, metav1alpha1.DependencyIgnored)
}
