package plan

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Needs are the objects that a component needs itself, each with the delete policy that it has at least. Some of them
// may be dependents of the component. A component that deleted its own namespace, its rights or its definition would
// wait for itself, or could not continue. So such a dependent is applied, and released in the end.
type Needs map[manifests.Key]metav1alpha1.DeletePolicy

// The API groups and kinds of rights.
const rbacGroup = "rbac.authorization.k8s.io"

// Self says what a component is: its type, the user as whom it acts, empty for the operator itself, its operator, and
// the delete policy of its dependents whose manifests set none.
type Self struct {
	Kind     schema.GroupKind
	User     string
	Operator Operator
	// Reconcile and Delete are the policies of objects whose manifests set none.
	Reconcile metav1alpha1.ReconcilePolicy
	Delete    metav1alpha1.DeletePolicy
}

// NewNeeds returns what a component needs: the objects in own, definitions of its own type, what its operator runs on,
// and, among the desired objects, the bindings and roles that give rights to the operator or to the user as whom the
// component acts, and what objects use that are kept.
func NewNeeds(own Needs, self Self, inventory Inventory, desired []manifests.Object) Needs {
	needs := self.Operator.needs()
	maps.Copy(needs, own)
	for key, e := range inventory {
		if defines(ManagedTypes([]metav1alpha1.InventoryEntry{e}), self.Kind) {
			needs[key] = metav1alpha1.DeleteOrphan
		}
	}
	for i := range desired {
		o := &desired[i]
		if defines(o.Types, self.Kind) {
			needs[o.Key] = metav1alpha1.DeleteOrphan
		}
		if role, binds := boundRole(o, self); binds {
			needs[o.Key], needs[role] = metav1alpha1.DeleteOrphan, metav1alpha1.DeleteOrphan
		}
	}
	for _, used := range inUse(desired, self) {
		needs[used] = metav1alpha1.DeleteOrphan
	}
	return needs
}

// defines reports whether the type of a component is among the types of a definition.
func defines(types []manifests.ManagedType, component schema.GroupKind) bool {
	return slices.ContainsFunc(types, func(t manifests.ManagedType) bool {
		return t.Group == component.Group && t.Kind == component.Kind
	})
}

// boundRole returns the role that a desired object binds to the user of a component or to its operator. binds is false
// for all other objects. A group gives rights to many others besides the operator, so it does not count for the
// operator.
func boundRole(o *manifests.Object, self Self) (role manifests.Key, binds bool) {
	isBinding := o.Key.Group == rbacGroup && (o.Key.Kind == "RoleBinding" || o.Key.Kind == "ClusterRoleBinding")
	if !isBinding || self.User == "" && self.Operator.User == "" {
		return manifests.Key{}, false
	}
	whole, err := o.Whole()
	if err != nil || whole.Body == nil {
		return manifests.Key{}, false
	}
	subjects, _, _ := unstructured.NestedSlice(whole.Body.Object, "subjects")
	if !slices.ContainsFunc(subjects, func(subject any) bool {
		return isUser(subject, self.User) || !isGroup(subject) && isUser(subject, self.Operator.User)
	}) {
		return manifests.Key{}, false
	}
	kind, _, _ := unstructured.NestedString(whole.Body.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(whole.Body.Object, "roleRef", "name")
	role = manifests.Key{Group: rbacGroup, Kind: kind, Name: name}
	if kind == "Role" {
		role.Namespace = o.Key.Namespace
	}
	return role, true
}

// isUser reports whether a subject of a binding is a user, or the group of the service accounts that the user is in.
func isUser(subject any, user string) bool {
	s, _ := subject.(map[string]any)
	namespace, account, isAccount := ServiceAccountOf(user)
	switch s["kind"] {
	case "User":
		return user != "" && s["name"] == user
	case "ServiceAccount":
		return isAccount && s["namespace"] == namespace && s["name"] == account
	case "Group":
		return isAccount && (s["name"] == "system:serviceaccounts" || s["name"] == "system:serviceaccounts:"+namespace)
	}
	return false
}

func isGroup(subject any) bool {
	s, _ := subject.(map[string]any)
	return s["kind"] == "Group"
}

// ServiceAccountOf returns the namespace and the name of the service account that a user is.
func ServiceAccountOf(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// Apply sets the policies of the recorded dependents that the component needs.
func (n Needs) Apply(inventory Inventory) {
	for key := range n {
		if e, recorded := inventory[key]; recorded {
			e.DeletePolicy = n.policy(key, e.DeletePolicy)
			inventory[key] = e
		}
	}
}

// policy returns the delete policy of an object: its own one, unless the component needs the object.
func (n Needs) policy(key manifests.Key, own metav1alpha1.DeletePolicy) metav1alpha1.DeletePolicy {
	needed, isNeeded := n[key]
	switch {
	case !isNeeded || own == metav1alpha1.DeleteOrphan:
		return own
	case own == metav1alpha1.DeleteOrphanOnDelete:
		return metav1alpha1.DeleteOrphan
	}
	return needed
}
