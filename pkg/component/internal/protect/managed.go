package protect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// managedType is a managed type with the kinds that match it.
type managedType struct {
	manifests.ManagedType
	// definition contains the recorded facts about the CustomResourceDefinition that defines the type. definition is zero
	// if no CustomResourceDefinition in the inventory defines the type.
	definition execute.Definition
	kinds      []schema.GroupKind
	// failure is the reason why the kinds are not known. failure is empty if the kinds are known.
	failure string
	// unserved is set for the type of an aggregated API that was never available.
	unserved bool
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
					managedType{ManagedType: t, definition: definitionOf(v), kinds: []schema.GroupKind{t.GroupKind}},
				)
				continue
			}
			m := p.aggregated(ctx, definitionOf(v), t)
			if i := slices.IndexFunc(found, func(f managedType) bool { return f.ManagedType == t }); i >= 0 {
				found[i].merge(m)
				continue
			}
			found = append(found, m)
		}
	}
	return found
}

// merge adds the kinds, and the failure, of other types that match the same pattern.
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

func definitionOf(e metav1alpha1.InventoryEntry) execute.Definition {
	return execute.Definition{Name: e.Name, Unserved: e.Unserved}
}

// aggregated returns the kinds of an aggregated API. The name of an APIService is version.group. If the APIService was
// created for the component and was never available, its types have no instances.
func (p *Protector) aggregated(
	ctx context.Context, service execute.Definition, t manifests.ManagedType,
) managedType {
	m := managedType{ManagedType: t}
	version, _, _ := strings.Cut(service.Name, ".")
	var err error
	gv := schema.GroupVersion{Group: t.Group, Version: version}
	if m.kinds, err = p.client.Discovery.AggregatedKinds(ctx, gv); err == nil {
		return m
	}
	never, unread := p.client.Protecting.NeverAvailable(ctx, service)
	why := "was not created for this component, or was available before, or the record of that was lost"
	switch {
	case never:
		m.unserved = true
		return m
	case unread != nil:
		why = "cannot be read: " + unread.Error()
	}
	m.failure = fmt.Sprintf("%v; the APIService may have instances, because it %s", err, why)
	return m
}

// additional returns the additional managed types with the kinds that are served, and can be listed and created. If the
// discovery of a group failed, the managed types that match the group get a failure. A group whose aggregated API was
// never available, according to the defined types, gets no failure, because such a group has no instances. A kind that
// the identity of the component may not list is a failure.
func (p *Protector) additional(
	ctx context.Context, types []manifests.ManagedType, defined []managedType,
) []managedType {
	if len(types) == 0 {
		return nil
	}
	matters := func(group string) bool {
		return !p.accepts(group) && !slices.ContainsFunc(defined, func(m managedType) bool {
			return m.unserved && m.Group == group
		})
	}
	served, err := p.client.Discovery.Resources(ctx, "list", "create")
	refused := p.unlistable(ctx, served, types, defined)
	found := make([]managedType, 0, len(types))
	for _, t := range types {
		concerns := func(group string) bool { return t.MatchesGroup(group) && matters(group) }
		m := managedType{ManagedType: t, failure: discovery.PartialFailure(err, concerns)}
		for _, r := range served {
			switch why, isRefused := refused[r.GroupKind()]; {
			case !t.Matches(r.GroupKind()):
			case isRefused:
				m.merge(managedType{failure: why})
			default:
				m.kinds = append(m.kinds, r.GroupKind())
			}
		}
		found = append(found, m)
	}
	return found
}

// unlistable returns the kinds that match additional managed types and that the identity of the component may not list
// in all namespaces, with the reason. The author of a component chooses these types, so only instances that the author
// may list are counted, named and watched. A component without an impersonated identity has the rights of the
// connection. Kinds that dependents define are not checked.
func (p *Protector) unlistable(
	ctx context.Context, served []discovery.Resource, types []manifests.ManagedType, defined []managedType,
) map[schema.GroupKind]string {
	if p.client.User == "" {
		return nil
	}
	chosen := slices.DeleteFunc(slices.Clone(served), func(r discovery.Resource) bool {
		matches := func(t manifests.ManagedType) bool { return t.Matches(r.GroupKind()) }
		return !slices.ContainsFunc(types, matches) || slices.Contains(kindsOf(defined), r.GroupKind())
	})
	type refusal struct {
		kind schema.GroupKind
		why  string
	}
	// The errors of lists are reasons, so ForEach returns no error.
	refusals, _ := discovery.ForEach(chosen, func(r discovery.Resource) ([]refusal, error) {
		_, err := p.client.Dynamic.Resource(r.GroupVersionResource).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err == nil, apierrors.IsNotFound(err):
			return nil, nil
		case apierrors.IsForbidden(err):
			return []refusal{{r.GroupKind(), fmt.Sprintf("%s may not list %s in all namespaces, so it is not known whether "+
				"there are foreign instances; grant this right", p.client.User, r.GroupResource())}}, nil
		}
		return []refusal{{r.GroupKind(), fmt.Sprintf("%s cannot be listed: %v", r.GroupResource(), err)}}, nil
	})
	found := make(map[schema.GroupKind]string, len(refusals))
	for _, r := range refusals {
		found[r.kind] = r.why
	}
	return found
}

// kindsOf returns the kinds of managed types, each once.
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
