package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// toEscalate returns what the API server wants of whoever writes a role (escalate) or binds one (bind), each for the roles that are named.
// It wants less of an account that has all rights of the role itself; that would be more than a component needs. It knows the name of a role
// from the path of the request, so where a role is created by POST only the right on all of them will do.
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

// boundRole returns the role that a binding refers to.
func boundRole(o manifests.Object) (kind, name string) {
	kind, _, _ = unstructured.NestedString(o.Body.Object, "roleRef", "kind")
	name, _, _ = unstructured.NestedString(o.Body.Object, "roleRef", "name")
	return kind, name
}

func escalation(namespace, kind, verb string, names ...string) Grant {
	resource := schema.GroupResource{Group: rbacv1.GroupName, Resource: strings.ToLower(kind) + "s"}
	return Grant{namespace, rule(resource, []string{verb}, names...)}
}

// Escalates says that an account with the grants can make itself stronger: it may write roles that hold more than it has.
func Escalates(grants []Grant) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return slices.Contains(g.Rule.Verbs, "escalate") || slices.Contains(g.Rule.Verbs, "bind")
	})
}

// EscalatesAnyRole says that it may write any role so, not only those that are named.
func EscalatesAnyRole(grants []Grant) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return slices.Contains(g.Rule.Verbs, "escalate") && len(g.Rule.ResourceNames) == 0
	})
}
