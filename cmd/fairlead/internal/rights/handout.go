package rights

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// toHandOut returns what the API server wants of whoever writes a role (escalate) or binds one (bind), each for the roles that are named.
// It wants less of an account that has all rights of the role itself; that would be more than a component needs.
func (n Needs) toHandOut() []Grant {
	var grants []Grant
	for _, o := range n.Objects {
		if o.Key.Group != rbacv1.GroupName {
			continue
		}
		switch o.Key.Kind {
		case "Role", "ClusterRole":
			grants = append(grants, handOut(o.Key.Namespace, o.Key.Kind, "escalate", o.Key.Name))
		case "RoleBinding", "ClusterRoleBinding":
			if kind, name := boundRole(o); name != "" {
				grants = append(grants, handOut(o.Key.Namespace, kind, "bind", name))
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

func handOut(namespace, kind, verb, name string) Grant {
	resource := schema.GroupResource{Group: rbacv1.GroupName, Resource: strings.ToLower(kind) + "s"}
	return Grant{namespace, rule(resource, []string{verb}, name)}
}

// HandsOut says that an account with the grants can make itself stronger: it may write roles that hold more than it has.
func HandsOut(grants []Grant) bool {
	for _, g := range grants {
		for _, verb := range g.Rule.Verbs {
			if verb == "escalate" || verb == "bind" {
				return true
			}
		}
	}
	return false
}
