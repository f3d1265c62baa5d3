package config_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/config"
)

func objectsIn(g *WithT, folder string) []*unstructured.Unstructured {
	objects, err := config.Objects(folder)
	g.Expect(err).NotTo(HaveOccurred())
	return objects
}

func TestObjectsNamesAFolderThatDoesNotExist(t *testing.T) {
	_, err := config.Objects("nowhere")
	NewWithT(t).Expect(err).To(MatchError(`no manifests in folder "nowhere"`))
}

func TestNoRuleOfTheOperatorHasAWildcard(t *testing.T) {
	g := NewWithT(t)
	rules := 0
	for _, object := range objectsIn(g, "rbac") {
		var role rbacv1.ClusterRole // a Role has the same rules
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role)).To(Succeed())
		for _, rule := range role.Rules {
			rules++
			g.Expect(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)).
				NotTo(ContainElement(ContainSubstring("*")), object.GetName())
			if slices.Contains(rule.Verbs, "impersonate") {
				g.Expect(object.GetName()).To(Equal("fairlead-operator-impersonation"), "a file of its own, which may be left out")
				g.Expect(rule.Resources).To(Equal([]string{"serviceaccounts"}))
			}
			g.Expect(rule.Verbs).NotTo(ContainElement("deletecollection"), object.GetName())
		}
	}
	g.Expect(rules).To(BeNumerically(">", 15))
}

func TestOperatorIsBoundToRolesOfItsOwnOnly(t *testing.T) {
	g := NewWithT(t)
	known := map[string]bool{}
	objects := objectsIn(g, "rbac")
	for _, object := range objects {
		known[object.GetKind()+"/"+object.GetName()] = true
	}
	bindings := 0
	for _, object := range objects {
		role, found, err := unstructured.NestedStringMap(object.Object, "roleRef")
		g.Expect(err).NotTo(HaveOccurred())
		if found {
			bindings++
			g.Expect(known).To(HaveKey(role["kind"]+"/"+role["name"]), object.GetName())
		}
	}
	g.Expect(bindings).To(Equal(9))
}

func TestNamespaceComesBeforeWhatIsInIt(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, object := range objectsIn(g, "rbac") {
		if object.GetKind() == "Namespace" {
			seen[object.GetName()] = true
		}
		if namespace := object.GetNamespace(); namespace != "" {
			g.Expect(seen).To(HaveKey(namespace), object.GetName())
		}
	}
}
