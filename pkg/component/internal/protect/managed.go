package protect

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// managedType is a managed type with the kinds that it stands for.
type managedType struct {
	manifests.ManagedType
	// definition is the name of the CustomResourceDefinition that defines the type; empty if the type is defined
	// otherwise.
	definition string
	kinds      []schema.GroupKind
	// failure is the reason why the kinds are not known, empty if they are.
	failure string
}

// definedBy returns the types that the dependents to be removed define. The kinds of an APIService are the kinds that
// its API server serves.
func (p *Protector) definedBy(ctx context.Context, removals []metav1alpha1.InventoryEntry) []managedType {
	var found []managedType
	for _, v := range removals {
		for _, t := range plan.ManagedTypes([]metav1alpha1.InventoryEntry{v}) {
			if t.Kind != "*" {
				found = append(
					found,
					managedType{ManagedType: t, definition: v.Name, kinds: []schema.GroupKind{t.GroupKind}},
				)
				continue
			}
			m := p.aggregated(ctx, v.Name, t)
			if i := slices.IndexFunc(found, func(f managedType) bool { return f.ManagedType == t }); i >= 0 {
				found[i].merge(m)
				continue
			}
			found = append(found, m)
		}
	}
	return found
}

// merge adds the kinds, and the failure, of another version of the same aggregated API group.
func (m *managedType) merge(other managedType) {
	for _, gk := range other.kinds {
		if !slices.Contains(m.kinds, gk) {
			m.kinds = append(m.kinds, gk)
		}
	}
	m.failure = strings.Join(
		slices.DeleteFunc([]string{m.failure, other.failure}, func(s string) bool { return s == "" }),
		"; ",
	)
}

// aggregated returns the kinds of an aggregated API. The name of an APIService is version.group.
func (p *Protector) aggregated(ctx context.Context, name string, t manifests.ManagedType) managedType {
	m := managedType{ManagedType: t}
	version, _, _ := strings.Cut(name, ".")
	var err error
	gv := schema.GroupVersion{Group: t.Group, Version: version}
	if m.kinds, err = p.client.Discovery.AggregatedKinds(ctx, gv); err != nil {
		m.failure = err.Error()
	}
	return m
}

// additional returns the additional managed types with the kinds that are served, and can be listed and created. If the
// discovery of a group failed, the managed types that match the group get a failure.
func (p *Protector) additional(ctx context.Context, types []manifests.ManagedType) []managedType {
	if len(types) == 0 {
		return nil
	}
	served, err := p.client.Discovery.Resources(ctx, "list", "create")
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
func kindsOf(types Types) []schema.GroupKind {
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
