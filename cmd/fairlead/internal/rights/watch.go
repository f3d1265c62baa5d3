package rights

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/config"
)

// OfOperator returns what the operator must be granted besides what every installation grants: it watches dependents, and the instances of
// the types that they define, as itself.
func (n Needs) OfOperator() ([]rbacv1.PolicyRule, error) {
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
	for _, o := range n.Objects {
		watch(n.resource(o.GroupVersionKind()))
		for _, defined := range o.Types {
			if defined.Kind == "*" {
				watch(schema.GroupResource{Group: defined.Group, Resource: "*"})
				continue
			}
			watch(n.resource(defined.WithVersion("")))
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
