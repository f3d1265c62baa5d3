package componentroles_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/componentroles"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

var defaults = metav1alpha1.Policies{
	Update: metav1alpha1.UpdateSSAOverride, Delete: metav1alpha1.DeleteDelete, Adoption: metav1alpha1.AdoptIfUnowned,
}

// needs returns the requirements of manifests, which are given as YAML documents.
func needs(t *testing.T, policies metav1alpha1.Policies, documents ...string) componentroles.Requirements {
	t.Helper()
	var bodies []*unstructured.Unstructured
	for _, document := range documents {
		body := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &body.Object); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	objects, err := normalise.Manifests(bodies, normalise.Options{
		Reconciler: "fairlead.io", Namespace: "shop",
		Owner: manifests.Owner{
			Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component", Namespace: "shop",
			Name: "web",
		},
		ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
			if strings.HasPrefix(gvk.Kind, "Cluster") || gvk.Kind == "CustomResourceDefinition" || gvk.Kind == "Namespace" {
				return manifests.ScopeCluster, nil
			}
			return manifests.ScopeNamespaced, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return componentroles.Requirements{
		Namespace: "shop", Policies: policies, Objects: objects,
		Resource: componentroles.Resources(objects, nil, func(schema.GroupVersionKind) {}),
	}
}

// lines converts grants to texts.
func lines(grants []componentroles.Grant) []string {
	var found []string
	for _, g := range grants {
		parts := []string{
			g.Namespace, strings.Join(g.Rule.APIGroups, ","), strings.Join(g.Rule.Resources, ","),
			strings.Join(g.Rule.Verbs, ","), strings.Join(g.Rule.ResourceNames, ","),
		}
		found = append(found, strings.TrimRight(strings.Join(parts, " "), " "))
	}
	slices.Sort(found)
	return found
}

func expect(t *testing.T, got []componentroles.Grant, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("the grants differ (-want +got):\n%s", diff)
	}
}

const config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"

func TestVerbsFollowThePolicies(t *testing.T) {
	with := func(name, value string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {fairlead.io/" + name + ": '" + value +
			"'}}}"
	}
	for _, c := range []struct{ name, manifest, want string }{
		{"by default", config, "get,create,patch,delete"},
		{"under replace", with("update-policy", "replace"), "get,create,update,delete"},
		{"under recreate", with("update-policy", "recreate"), "get,create,patch,delete"},
		{"never deleted", with("delete-policy", "orphan"), "get,create,patch"},
		{
			"an object with a delete policy that orphans it when the component is deleted",
			with("delete-policy", "orphan-on-delete"), "get,create,patch,delete",
		},
		{
			"an object with a purge order and a delete policy that orphans it",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: " +
				"{fairlead.io/delete-policy: orphan, fairlead.io/purge-order: '1'}}}", "get,create,patch,delete",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, needs(t, defaults, c.manifest).OfAccount(), "shop  configmaps "+c.want)
		})
	}
}

func TestPoliciesOfTheComponentHoldWhereAManifestNamesNone(t *testing.T) {
	policies := metav1alpha1.Policies{
		Update: metav1alpha1.UpdateReplace, Delete: metav1alpha1.DeleteOrphan,
		Adoption: metav1alpha1.AdoptAlways,
	}
	expect(t, needs(t, policies, config).OfAccount(), "shop  configmaps get,create,update,patch")
}

func TestReleasingAClaimIsAPatch(t *testing.T) {
	replace := defaults
	replace.Update = metav1alpha1.UpdateReplace
	claim := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}"
	expect(t, needs(t, replace, claim).OfAccount(), "shop  persistentvolumeclaims get,create,update,patch,delete")
}

func TestOwnedNamespacesAreCreatedDeletedAndReleased(t *testing.T) {
	own := defaults
	own.MissingNamespaces = metav1alpha1.MissingNamespacesOwn
	n := needs(t, own, config, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: inner}}")
	expect(t, n.OfAccount(), "  namespaces get,create,patch,delete",
		"inner  configmaps get,create,patch,delete", "shop  configmaps get,create,patch,delete")
	n.AccountWatches = true
	expect(t, n.OfAccount(), "  namespaces get,list,watch,create,patch,delete",
		"inner  configmaps get,list,watch,create,patch,delete", "inner * * list",
		"shop  configmaps get,list,watch,create,patch,delete")
}

func TestEachNamespaceGrantsWhatIsInIt(t *testing.T) {
	expect(t, needs(t, defaults, config,
		"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: other}}",
		"{apiVersion: v1, kind: Service, metadata: {name: a}}",
		"{apiVersion: v1, kind: Service, metadata: {name: a, namespace: other, annotations: {fairlead.io/delete-policy: "+
			"orphan}}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: other}}",
	).OfAccount(),
		"  namespaces get,create,patch,delete",
		"other  secrets get,create,patch,delete",
		"other  services get,create,patch",
		"shop  configmaps,services get,create,patch,delete",
	)
}

func TestRolesOfComponentsOfOneNameAreTold(t *testing.T) {
	seen := map[string]string{}
	for _, component := range []client.ObjectKey{
		{Namespace: "shop", Name: "web"},
		{Namespace: "other", Name: "web"},
		{Namespace: "shop", Name: "web-watch"},
		{Namespace: "a", Name: "b-c"},
		{Namespace: "a-b", Name: "c"},
	} {
		grants := []componentroles.Grant{{Rule: rbacv1.PolicyRule{}}, {Namespace: "shop"}, {Namespace: "other"}}
		roles, err := componentroles.Roles{Component: component, Account: "fairlead"}.Of(grants, []rbacv1.PolicyRule{{}})
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range roles {
			key := role.GetNamespace() + "/" + role.GetName()
			if seen[key] != "" {
				t.Errorf("the role %s is generated for the components %s and %s", key, seen[key], component)
			}
			seen[key] = component.String()
		}
	}
}

func TestRolesAmongDependentsMayBeHandedOutByName(t *testing.T) {
	n := needs(t, defaults,
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: b}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: "+
			"rbac.authorization.k8s.io, kind: Role, name: a}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: c}, roleRef: {apiGroup: "+
			"rbac.authorization.k8s.io, kind: ClusterRole, name: view}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: "+
			"rbac.authorization.k8s.io, kind: ClusterRole, name: b}}",
	)
	grants := n.OfAccount()
	expect(t, grants,
		" rbac.authorization.k8s.io clusterrolebindings,clusterroles get,create,patch,delete",
		" rbac.authorization.k8s.io clusterroles bind b",
		" rbac.authorization.k8s.io clusterroles escalate b",
		"shop rbac.authorization.k8s.io clusterroles bind view",
		"shop rbac.authorization.k8s.io rolebindings,roles get,create,patch,delete",
		"shop rbac.authorization.k8s.io roles bind a",
		"shop rbac.authorization.k8s.io roles escalate a",
	)
	if !componentroles.Escalates(grants) || componentroles.Escalates(needs(t, defaults, config).OfAccount()) {
		t.Error("Escalates does not distinguish grants with and without escalate or bind")
	}
}

func TestARoleThatIsCreatedByPostIsNoRoleByName(t *testing.T) {
	replaced := "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, annotations: " +
		"{fairlead.io/update-policy: replace}}}"
	grants := needs(t, defaults, replaced).OfAccount()
	expect(t, grants,
		"shop rbac.authorization.k8s.io roles escalate",
		"shop rbac.authorization.k8s.io roles get,create,update,delete",
	)
	byName := needs(t, defaults, "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}").OfAccount()
	if !componentroles.EscalatesAnyRole(grants) || componentroles.EscalatesAnyRole(byName) {
		t.Error("EscalatesAnyRole does not distinguish grants on all roles and on named roles")
	}
}

func TestWhatIsReferencedAndLookedUpMayBeRead(t *testing.T) {
	n := needs(t, defaults)
	n.References = []metav1alpha1.Reference{
		{Kind: metav1alpha1.SecretReference, Name: "login"},
		{Kind: metav1alpha1.ConfigMapReference, Name: "values"},
	}
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	n.Lookups = []componentroles.Lookup{
		{GroupVersionKind: secret, Namespace: "shop", Name: "token"},
		{GroupVersionKind: secret, Namespace: "shop", Name: "token"},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "other"},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}},
	}
	expect(t, n.OfAccount(), "  nodes list", "other  pods list", "shop  configmaps get values",
		"shop  secrets get login,token")
}

func TestAReferenceWithoutANameStandsForAllOfItsKind(t *testing.T) {
	n := needs(t, defaults)
	n.References = []metav1alpha1.Reference{
		{Kind: metav1alpha1.ConfigMapReference},
		{Kind: metav1alpha1.ConfigMapReference, Name: "values"},
	}
	expect(t, n.OfAccount(), "shop  configmaps get", "shop  configmaps get values")
}

const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boxen.example.com}, spec: {group: example.com,
  names: {kind: Box, plural: boxen}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`

func TestTheOperatorIsGrantedWhatItCannotWatchAnyway(t *testing.T) {
	n := needs(t, defaults, config, definition, "{apiVersion: example.com/v1, kind: Box, metadata: {name: a}}",
		"{apiVersion: other.com/v1, kind: Policy, metadata: {name: a}}")
	rules, err := n.OfOperator()
	if err != nil {
		t.Fatal(err)
	}
	var got []componentroles.Grant
	for _, rule := range rules {
		got = append(got, componentroles.Grant{Rule: rule})
	}
	expect(t, got, " example.com boxen get,list,watch", " other.com policies get,list,watch")
}

func TestADefinitionThatIsNotRenderedAnyMoreIsPruned(t *testing.T) {
	n := needs(t, defaults)
	n.Recorded = []metav1alpha1.InventoryEntry{
		{
			Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: "a",
			Types: []string{"Gadget.example.com"},
		},
		{Version: "v1", Kind: "Namespace", Name: "inner"},
	}
	rules, err := n.OfOperator()
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != 1 || !slices.Contains(rules[0].Resources, "gadgets") {
		t.Errorf("the operator gets the rules %v, want one for gadgets", rules)
	}
	n.AccountWatches = true
	expect(t, n.OfAccount(),
		"  namespaces get,list,watch,patch,delete",
		" apiextensions.k8s.io customresourcedefinitions get,list,watch,patch,delete",
		" example.com gadgets list,watch",
		"inner * * list")
}

func TestTheOperatorIsGrantedNothingForTypesOfKubernetes(t *testing.T) {
	rules, err := needs(t, defaults, config, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}").OfOperator()
	if err != nil || len(rules) > 0 {
		t.Errorf("the manifests need the rules %v, with the error %v; want none", rules, err)
	}
}

func TestAnAccountThatWatchesIsGrantedWhatTheOperatorWouldBe(t *testing.T) {
	kept := strings.NewReplacer("{name: boxen.example.com}",
		"{name: oxen.example.com, annotations: {fairlead.io/delete-policy: orphan}}",
		"Box", "Ox", "boxen", "oxen").Replace(definition)
	n := needs(t, defaults, config, definition, kept,
		"{apiVersion: v1, kind: Namespace, metadata: {name: inner}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: kept, annotations: {fairlead.io/delete-policy: orphan}}}",
		"{apiVersion: example.com/v1, kind: Box, metadata: {name: a}}",
	)
	n.AccountWatches = true
	n.References = []metav1alpha1.Reference{{Kind: metav1alpha1.SecretReference, Name: "login"}}
	n.Lookups = []componentroles.Lookup{
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, Namespace: "other", Name: "gateway"},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}},
	}
	expect(t, n.OfAccount(),
		"  namespaces get,list,watch,create,patch,delete",
		"  nodes list,watch",
		" apiextensions.k8s.io customresourcedefinitions get,list,watch,create,patch,delete",
		" example.com boxen list,watch",
		"inner * * list",
		"other  services get,list,watch",
		"shop  configmaps get,list,watch,create,patch,delete",
		"shop  secrets get,list,watch",
		"shop example.com boxen get,list,watch,create,patch,delete",
	)
	if rules, err := n.OfOperator(); err != nil || len(rules) > 0 {
		t.Errorf("the operator needs the rules %v, with the error %v; want none", rules, err)
	}
}

func TestInstancesOfManagedTypesAreSeenByWhoeverWatches(t *testing.T) {
	n := needs(t, defaults, config)
	n.Managed = []manifests.ManagedType{
		{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Widget"}},
		{GroupKind: schema.GroupKind{Group: "made.example.com", Kind: "*"}},
	}
	rules, err := n.OfOperator()
	if err != nil {
		t.Fatal(err)
	}
	var got []componentroles.Grant
	for _, rule := range rules {
		got = append(got, componentroles.Grant{Rule: rule})
	}
	expect(t, got, " example.com widgets get,list,watch", " made.example.com * get,list,watch")
	n.AccountWatches = true
	expect(t, n.OfAccount(),
		" example.com widgets list,watch", " made.example.com * list,watch",
		"shop  configmaps get,list,watch,create,patch,delete")
}

func TestInputsAreReadByTheAccountAndWatchedByWhoeverWatches(t *testing.T) {
	n := needs(t, defaults, config)
	n.Inputs = []componentroles.Lookup{
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "team", Name: "logging"},
		{
			GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Namespace: "team",
			Name: "w",
		},
		{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Plan"}, Name: "all"},
	}
	n.Signatures = "caller"
	expect(t, n.OfAccount(),
		" example.com plans get all",
		"shop  configmaps get,create,patch,delete",
		"shop  secrets get caller",
		"team  configmaps get logging",
		"team example.com widgets get w",
	)
	rules, err := n.OfOperator()
	if err != nil {
		t.Fatal(err)
	}
	var got []componentroles.Grant
	for _, rule := range rules {
		got = append(got, componentroles.Grant{Rule: rule})
	}
	expect(t, got, " example.com plans,widgets list,watch")
	n.AccountWatches = true
	expect(t, n.OfAccount(),
		" example.com plans get,list,watch",
		"shop  configmaps get,list,watch,create,patch,delete",
		"shop  secrets get caller",
		"team  configmaps get,list,watch",
		"team example.com widgets get,list,watch",
	)
}
