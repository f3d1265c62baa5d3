package scaffold

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// dependentVerbs are what a reconciler does with dependents. deletecollection is missing: objects are deleted one by one.
var dependentVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// right is a rule, and what it is for.
type right struct {
	why  string
	rule rbacv1.PolicyRule
}

// rightsFor returns what an operator needs for dependents: those that are rendered, and kinds that may be rendered with other values.
func rightsFor(o Options, objects []*unstructured.Unstructured, kinds []schema.GroupVersionKind) []right {
	for _, object := range objects {
		kinds = append(kinds, object.GroupVersionKind())
	}
	rights := rightsOnKinds(kinds)
	rights = append(rights, rightsOnDefinitions(objects)...)
	rights = append(rights, rightsToGrant(objects)...)
	return append(rights, rightsOfInterfaces(o, hasDeletionHooks(objects), kinds)...)
}

// rightsOnKinds has a rule for each API group.
func rightsOnKinds(kinds []schema.GroupVersionKind) []right {
	resources := map[string][]string{}
	for _, kind := range kinds {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		resources[kind.Group] = append(resources[kind.Group], resource.Resource)
	}
	var rights []right
	for _, group := range sortedKeys(resources) {
		slices.Sort(resources[group])
		rights = append(rights, right{rule: rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: slices.Compact(resources[group]), Verbs: dependentVerbs,
		}})
	}
	return rights
}

// rightsOnDefinitions are what it takes to delete a definition without losing anybody's instances.
func rightsOnDefinitions(objects []*unstructured.Unstructured) []right {
	var rights []right
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(object.Object, "spec", "names", "plural")
		rights = append(rights, right{
			why:  "Instances of " + plural + "." + group + ": while others have any, the definition is not deleted.",
			rule: rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural}, Verbs: []string{"get", "list", "watch"}},
		})
	}
	if len(rights) == 0 {
		return nil
	}
	return append(rights, right{
		why: "Definitions are deleted under a guard, an admission policy that refuses new instances.",
		rule: rbacv1.PolicyRule{
			APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
			Verbs: []string{"create", "patch", "delete"},
		},
	})
}

// rightsToGrant are those that dependents grant to others. Kubernetes lets nobody grant what they do not have.
func rightsToGrant(objects []*unstructured.Unstructured) []right {
	var rights []right
	defined := map[string]bool{}
	for _, object := range objects {
		if kind := object.GetKind(); kind == "Role" || kind == "ClusterRole" {
			defined[kind+"/"+object.GetName()] = true
			rights = append(rights, grantedBy(object)...)
		}
	}
	for _, object := range objects {
		kind, _, _ := unstructured.NestedString(object.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
		if name == "" || defined[kind+"/"+name] {
			continue
		}
		resource := strings.ToLower(kind) + "s"
		rights = append(rights, right{
			why:  "To bind " + kind + " " + name + ", which is no dependent.",
			rule: rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: []string{"bind"}},
		})
	}
	return rights
}

func grantedBy(role *unstructured.Unstructured) []right {
	var content struct {
		Rules []rbacv1.PolicyRule `json:"rules"`
	}
	// A role that cannot be read is refused by the API server, which says why.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"rules": role.Object["rules"]}, &content); err != nil {
		return nil
	}
	rights := make([]right, 0, len(content.Rules))
	for _, rule := range content.Rules {
		rights = append(rights, right{why: "What " + role.GetKind() + " " + role.GetName() + " grants.", rule: rule})
	}
	return rights
}

// hasDeletionHooks says whether something is applied when a component is deleted, which is recorded in a Secret before.
func hasDeletionHooks(objects []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		return strings.Contains(object.GetAnnotations()["helm.sh/hook"], "-delete")
	})
}

// rightsOfInterfaces are those that the fields of the spec ask for. Where Secrets are dependents, the operator has all rights on them anyway.
func rightsOfInterfaces(o Options, recordsPhases bool, kinds []schema.GroupVersionKind) []right {
	var rights []right
	add := func(why, resource string, verbs ...string) {
		rights = append(rights, right{why: why, rule: rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}})
	}
	hasSecrets := slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" })
	if recordsPhases && !hasSecrets {
		add("What is applied when a component is deleted is recorded before.", "secrets", dependentVerbs...)
	}
	if o.Has(string(InterfaceKubeConfig)) && !hasSecrets {
		add("Kubeconfigs that components name. A finalizer holds them while there are dependents.", "secrets", "get", "list", "watch", "patch")
	}
	if o.Has(string(InterfaceServiceAccount)) {
		add("Components that name a service account: the operator acts as it.", "serviceaccounts", "impersonate")
	}
	if o.Has(string(InterfacePlacement)) {
		add("Namespaces that components are placed in, where they do not exist.", "namespaces", "get", "create")
	}
	return rights
}

// formatRights writes rules as YAML, but for those that others cover.
func formatRights(rights []right) (string, error) {
	var out strings.Builder
	for i, r := range rights {
		if isCovered(rights, i) {
			continue
		}
		text, err := yaml.Marshal([]rbacv1.PolicyRule{r.rule})
		if err != nil {
			return "", err
		}
		if r.why != "" {
			out.WriteString("# " + r.why + "\n")
		}
		out.Write(text)
	}
	return cmp.Or(out.String(), "[]\n"), nil
}

// isCovered says that a rule grants nothing that another one does not; of those that grant the same the first is written.
func isCovered(rights []right, i int) bool {
	for j := range rights {
		if j != i && covers(rights[j].rule, rights[i].rule) && (j < i || !covers(rights[i].rule, rights[j].rule)) {
			return true
		}
	}
	return false
}

// covers says that a rule grants all that another one does.
func covers(a, b rbacv1.PolicyRule) bool {
	named := len(a.ResourceNames) == 0 || len(b.ResourceNames) > 0 && holds(a.ResourceNames, b.ResourceNames)
	return named && holds(a.APIGroups, b.APIGroups) && holds(a.Resources, b.Resources) && holds(a.NonResourceURLs, b.NonResourceURLs) && holds(a.Verbs, b.Verbs)
}

func holds(all, some []string) bool {
	return slices.Contains(all, rbacv1.ResourceAll) || !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}
