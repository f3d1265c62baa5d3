package componentroles

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// toEscalate returns the grants that the API server requires to write a role (escalate) or to bind a role (bind),
// restricted to the names of these roles. They would not be necessary if the account had all rights of the role, but
// then it would have more rights than a component needs. The API server reads the name of the role from the path of the
// request. The path of a POST has no name, so a role that is created by POST requires the right on all roles.
func (r Requirements) toEscalate() []Grant {
	var grants []Grant
	for _, o := range r.Objects {
		if o.Key.Group != rbacv1.GroupName {
			continue
		}
		switch o.Key.Kind {
		case "Role", "ClusterRole":
			if updatePolicy(o, r.Policies) == metav1alpha1.UpdateReplace {
				grants = append(grants, escalation(o.Key.Namespace, o.Key.Kind, "escalate"))
				continue
			}
			grants = append(grants, escalation(o.Key.Namespace, o.Key.Kind, "escalate", o.Key.Name))
		case "RoleBinding", "ClusterRoleBinding":
			if kind, name := boundRole(o); name != "" {
				grants = append(grants, escalation(o.Key.Namespace, kind, "bind", name))
			}
		}
	}
	return grants
}

// boundRole returns the kind and name of the role in a binding.
func boundRole(o manifests.Object) (kind, name string) {
	kind, _, _ = unstructured.NestedString(o.Body.Object, "roleRef", "kind")
	name, _, _ = unstructured.NestedString(o.Body.Object, "roleRef", "name")
	return kind, name
}

func escalation(namespace, kind, verb string, names ...string) Grant {
	resource := schema.GroupResource{Group: rbacv1.GroupName, Resource: strings.ToLower(kind) + "s"}
	return Grant{namespace, rule(resource, []string{verb}, names...)}
}

// Escalates reports whether an account with the grants can extend its own rights.
func Escalates(grants []Grant) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return slices.Contains(g.Rule.Verbs, "escalate") || slices.Contains(g.Rule.Verbs, "bind")
	})
}

// EscalatesAnyRole reports whether the grants contain escalate on all roles, not only on named roles.
func EscalatesAnyRole(grants []Grant) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return slices.Contains(g.Rule.Verbs, "escalate") && len(g.Rule.ResourceNames) == 0
	})
}
