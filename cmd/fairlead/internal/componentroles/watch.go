package componentroles

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// watching returns the verbs for watches if the account watches, and no verbs otherwise.
func (r Requirements) watching() []string {
	if r.AccountWatches {
		return []string{"list", "watch"}
	}
	return nil
}

// toProtect returns the grants to find foreign objects before a deletion. The account always lists the instances of
// additional managed types in all namespaces. If the account watches, it also lists the instances of definitions and
// the contents of namespaces, also of those that may belong to the component; otherwise the operator does this.
func (r Requirements) toProtect() []Grant {
	var grants []Grant
	look := func(types []manifests.ManagedType, verbs []string) {
		for _, resource := range r.serving(types) {
			grants = append(grants, Grant{Rule: rule(resource, verbs)})
		}
	}
	if !r.AccountWatches {
		look(r.Managed, []string{"list"})
		return grants
	}
	look(r.Managed, r.watching())
	remove := func(key manifests.Key, types []manifests.ManagedType) {
		look(types, r.watching())
		if key.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			grants = append(grants, Grant{key.Name, rule(schema.GroupResource{Group: "*", Resource: "*"}, []string{"list"})})
		}
	}
	for _, o := range r.Objects {
		if slices.Contains(verbs(o, r.Policies), "delete") {
			remove(o.Key, o.Types)
		}
	}
	for _, e := range r.leaving() {
		remove(keyOf(e), definedBy(e))
	}
	if r.ownsNamespaces() {
		for _, o := range r.Objects {
			if o.Key.Namespace != "" && o.Key.Namespace != r.Namespace {
				remove(manifests.Key{Kind: "Namespace", Name: o.Key.Namespace}, nil)
			}
		}
	}
	return grants
}

// serving returns the resources of managed types.
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

// OfOperator returns the rules that the operator needs to watch dependents, inputs and instances of managed types,
// except for the rules of its installation. It returns no rules if the account watches.
func (r Requirements) OfOperator() ([]rbacv1.PolicyRule, error) {
	if r.AccountWatches {
		return nil, nil
	}
	known, err := watchedAnyway()
	if err != nil {
		return nil, err
	}
	var grants []Grant
	watched := map[schema.GroupResource]bool{}
	allow := func(resource schema.GroupResource, verbs ...string) {
		if !known(resource) && !watched[resource] {
			grants = append(grants, Grant{Rule: rule(resource, verbs)})
		}
		watched[resource] = true
	}
	watch := func(resource schema.GroupResource) { allow(resource, "get", "list", "watch") }
	for _, resource := range r.serving(r.Managed) {
		watch(resource)
	}
	dependent := func(kind schema.GroupVersionKind, types []manifests.ManagedType) {
		watch(r.resource(kind))
		for _, resource := range r.serving(types) {
			watch(resource)
		}
	}
	for _, o := range r.Objects {
		dependent(o.GroupVersionKind(), o.Types)
	}
	for _, e := range r.leaving() {
		dependent(kindOf(e), definedBy(e))
	}
	if r.ownsNamespaces() {
		watch(namespaceResource)
	}
	for _, input := range r.Inputs {
		allow(r.resource(input.GroupVersionKind), "list", "watch")
	}
	var rules []rbacv1.PolicyRule
	for _, g := range merged(grants) {
		rules = append(rules, g.Rule)
	}
	return rules, nil
}

// watchedAnyway returns a function that reports whether the operator's roles in config/rbac allow it to watch a
// resource.
func watchedAnyway() (func(schema.GroupResource) bool, error) {
	objects, err := config.Objects("rbac")
	if err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" || !strings.HasPrefix(object.GetName(), "fairlead-operator-") {
			continue // Roles in a namespace grant no watch in the cluster, and other ClusterRoles are for people.
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			return nil, err
		}
		rules = append(rules, role.Rules...)
	}
	return func(resource schema.GroupResource) bool {
		return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, resource.Group) && slices.Contains(r.Resources, resource.Resource) &&
				slices.Contains(r.Verbs, "watch")
		})
	}, nil
}
