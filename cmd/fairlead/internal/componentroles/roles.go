package componentroles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// aggregateLabel aggregates a ClusterRole to the role of the operator; see config/rbac/custom.yaml.
const aggregateLabel = "fairlead.io/aggregate-to-operator"

// Roles builds the role objects of a component.
type Roles struct {
	// Component is the component, and Account is its service account in the same namespace.
	Component client.ObjectKey
	Account   string
	// Bind adds bindings of the roles to the account.
	Bind bool
}

// name returns the name of the role in a namespace. Outside of the component's namespace, the name contains the
// namespace of the component. The name is unique, because its parts are separated by colons, which names of components
// and namespaces cannot contain.
func (r Roles) name(namespace string) string {
	if namespace == r.Component.Namespace {
		return "component-" + r.Component.Name
	}
	return "component:" + r.Component.Namespace + ":" + r.Component.Name
}

// Of returns a Role for each namespace in the grants, a ClusterRole for cluster-wide grants, and a ClusterRole with the
// rules of the operator unless operator is empty.
func (r Roles) Of(grants []Grant, operator []rbacv1.PolicyRule) ([]*unstructured.Unstructured, error) {
	rules, namespaces := map[string][]rbacv1.PolicyRule{}, []string{}
	for _, g := range grants {
		namespaces = append(namespaces, g.Namespace)
		rules[g.Namespace] = append(rules[g.Namespace], g.Rule)
	}
	slices.Sort(namespaces)
	var objects []client.Object
	for _, namespace := range slices.Compact(namespaces) {
		objects = append(objects, r.role(namespace, rules[namespace]))
		if r.Bind {
			objects = append(objects, r.binding(namespace))
		}
	}
	if len(operator) > 0 {
		role := r.role("", operator)
		role.SetName(r.name("") + ":watch")
		role.SetLabels(map[string]string{aggregateLabel: "true"})
		objects = append(objects, role)
	}
	return asData(objects)
}

func (r Roles) meta(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: r.name(namespace)}
}

func (r Roles) role(namespace string, rules []rbacv1.PolicyRule) client.Object {
	version := rbacv1.SchemeGroupVersion.String()
	if namespace == "" {
		return &rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "ClusterRole"},
			ObjectMeta: r.meta(""), Rules: rules,
		}
	}
	return &rbacv1.Role{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "Role"}, ObjectMeta: r.meta(namespace),
		Rules: rules,
	}
}

func (r Roles) binding(namespace string) client.Object {
	version := rbacv1.SchemeGroupVersion.String()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.Component.Namespace, Name: r.Account}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.name(namespace)}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRoleBinding"}, ObjectMeta: r.meta(""), RoleRef: ref,
			Subjects: subjects,
		}
	}
	ref.Kind = "Role"
	return &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "RoleBinding"}, ObjectMeta: r.meta(namespace), RoleRef: ref,
		Subjects: subjects,
	}
}

func asData(objects []client.Object) ([]*unstructured.Unstructured, error) {
	found := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		data, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}
		unstructured.RemoveNestedField(data, "metadata", "creationTimestamp")
		found = append(found, &unstructured.Unstructured{Object: data})
	}
	return found, nil
}
