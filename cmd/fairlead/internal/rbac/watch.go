package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// watching returns the verbs of the account that keeps watches.
func (r Requirements) watching() []string {
	if r.AccountWatches {
		return []string{"list", "watch"}
	}
	return nil
}

// toProtect returns what an account that watches needs to delete what objects of others depend on: with a definition its instances would
// go, wherever they are, and with a namespace all that is in it.
func (r Requirements) toProtect() []Grant {
	if !r.AccountWatches {
		return nil
	}
	var grants []Grant
	look := func(types []manifests.ManagedType) {
		for _, resource := range r.serving(types) {
			grants = append(grants, Grant{Rule: rule(resource, r.watching())})
		}
	}
	look(r.Managed)
	for _, o := range r.Objects {
		if !slices.Contains(verbs(o, r.Policies), "delete") {
			continue
		}
		look(o.Types)
		if o.Key.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			grants = append(grants, Grant{o.Key.Name, rule(schema.GroupResource{Group: "*", Resource: "*"}, []string{"list"})})
		}
	}
	return grants
}

// serving returns the resources that serve managed types.
func (r Requirements) serving(types []manifests.ManagedType) []schema.GroupResource {
	var found []schema.GroupResource
	for _, t := range types {
		if t.Kind == "*" {
			found = append(found, schema.GroupResource{Group: t.Group, Resource: "*"})
			continue
		}
		found = append(found, r.resource(t.WithVersion("")))
	}
	return found
}

// OfOperator returns what the operator must be granted besides what every installation grants: it watches dependents, and the instances of
// managed types, unless the account does.
func (r Requirements) OfOperator() ([]rbacv1.PolicyRule, error) {
	if r.AccountWatches {
		return nil, nil
	}
	known, err := watchedAnyway()
	if err != nil {
		return nil, err
	}
	var grants []Grant
	watch := func(resource schema.GroupResource) {
		if !known(resource) {
			grants = append(grants, Grant{Rule: rule(resource, []string{"get", "list", "watch"})})
		}
	}
	for _, resource := range r.serving(r.Managed) {
		watch(resource)
	}
	for _, o := range r.Objects {
		watch(r.resource(o.GroupVersionKind()))
		for _, resource := range r.serving(o.Types) {
			watch(resource)
		}
	}
	var rules []rbacv1.PolicyRule
	for _, g := range merged(grants) {
		rules = append(rules, g.Rule)
	}
	return rules, nil
}

// watchedAnyway tells of the types that the operator may watch wherever it is installed: those that config/rbac names.
func watchedAnyway() (func(schema.GroupResource) bool, error) {
	objects, err := config.Objects("rbac")
	if err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" || !strings.HasPrefix(object.GetName(), "fairlead-operator-") {
			continue // What is in a namespace is not watched, and the others are for people.
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			return nil, err
		}
		rules = append(rules, role.Rules...)
	}
	return func(resource schema.GroupResource) bool {
		return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, resource.Group) && slices.Contains(r.Resources, resource.Resource) && slices.Contains(r.Verbs, "watch")
		})
	}, nil
}
