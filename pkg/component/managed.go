package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// declaredTypes returns the additional managed types that a component declares, sorted.
func declaredTypes(component Component) ([]manifests.ManagedType, error) {
	holder, ok := component.(TypeHolder)
	if !ok {
		return nil, nil
	}
	var types []manifests.ManagedType
	var errs []error
	for _, pattern := range holder.AdditionalManagedTypes() {
		t, err := manifests.NewManagedType(pattern.Group, pattern.Kind)
		types, errs = append(types, t), append(errs, err)
	}
	slices.SortFunc(types, func(a, b manifests.ManagedType) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(types), errors.Join(errs...)
}

// restoreTypes enters what a component declares now into a status that does not say any more what was last applied. What cannot be understood
// was never applied.
func restoreTypes(component Component) {
	status := component.GetStatus()
	if declared, err := declaredTypes(component); err == nil && len(status.ManagedTypes) == 0 {
		status.ManagedTypes = typeTexts(declared)
	}
}

// managedTypes returns the additional managed types as last applied.
func (r *Reconciler[T]) managedTypes(component T) ([]manifests.ManagedType, error) {
	var types []manifests.ManagedType
	var errs []error
	for _, text := range component.GetStatus().ManagedTypes {
		t, err := manifests.ParseManagedType(text)
		types, errs = append(types, t), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("status.managedTypes: %v", err)}
	}
	return types, nil
}

func typeTexts(types []manifests.ManagedType) []string {
	var texts []string
	for _, t := range types {
		texts = append(texts, t.String())
	}
	return texts
}

// managedType is a managed type whose foreign instances matter to a deletion, with the kinds that it stands for.
type managedType struct {
	manifests.ManagedType
	// definition is the name of the custom resource definition that defines it, if any.
	definition string
	kinds      []schema.GroupKind
	// failure says why the kinds are not known.
	failure string
}

// definedAmong returns the types defined by dependents that are to be deleted. What an APIService stands for, its server says.
func (e *Engine) definedAmong(ctx context.Context, victims []metav1alpha1.InventoryEntry) []managedType {
	var found []managedType
	for _, v := range victims {
		for _, t := range plan.ManagedTypes([]metav1alpha1.InventoryEntry{v}) {
			if t.Kind != "*" {
				found = append(found, managedType{ManagedType: t, definition: v.Name, kinds: []schema.GroupKind{t.GroupKind}})
				continue
			}
			m := e.aggregated(ctx, v.Name, t)
			if i := slices.IndexFunc(found, func(f managedType) bool { return f.ManagedType == t }); i >= 0 {
				found[i].merge(m)
				continue
			}
			found = append(found, m)
		}
	}
	return found
}

// merge enters another version of the same group.
func (m *managedType) merge(other managedType) {
	for _, gk := range other.kinds {
		if !slices.Contains(m.kinds, gk) {
			m.kinds = append(m.kinds, gk)
		}
	}
	m.failure = strings.Join(slices.DeleteFunc([]string{m.failure, other.failure}, func(s string) bool { return s == "" }), "; ")
}

// aggregated returns the kinds of an aggregated API. The name of an APIService is version.group.
func (e *Engine) aggregated(ctx context.Context, name string, t manifests.ManagedType) managedType {
	m := managedType{ManagedType: t}
	version, _, _ := strings.Cut(name, ".")
	var err error
	if m.kinds, err = e.discovery.AggregatedKinds(ctx, schema.GroupVersion{Group: t.Group, Version: version}); err != nil {
		m.failure = err.Error()
	}
	return m
}

// additional returns what additional managed types stand for at present: what is served and can be listed and created. A group that does
// not answer is unknown where it is meant, and ignored otherwise.
func (e *Engine) additional(ctx context.Context, types []manifests.ManagedType) []managedType {
	if len(types) == 0 {
		return nil
	}
	served, err := e.discovery.Resources(ctx, "list", "create")
	found := make([]managedType, 0, len(types))
	for _, t := range types {
		m := managedType{ManagedType: t, failure: discovery.PartialFailure(err, t.MatchesGroup)}
		for _, r := range served {
			if t.Matches(r.GroupKind()) {
				m.kinds = append(m.kinds, r.GroupKind())
			}
		}
		found = append(found, m)
	}
	return found
}

// kindsOf returns the kinds that managed types stand for, each once.
func kindsOf(types []managedType) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, t := range types {
		for _, gk := range t.kinds {
			if !slices.Contains(kinds, gk) {
				kinds = append(kinds, gk)
			}
		}
	}
	return kinds
}
