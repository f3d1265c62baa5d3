package component

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

func TestNamesOfConditionsAreChecked(t *testing.T) {
	g := NewWithT(t)
	holds := func(Component, *unstructured.Unstructured) (bool, string) { return true, "" }
	alone := func(*unstructured.Unstructured) (bool, string) { return true, "" }
	names := func(o Options, more ...string) error {
		r := NewReconciler[Component]("shop.example.com", nil, o)
		for _, name := range more {
			r.WithCondition(name, holds)
		}
		_, err := r.options.view(r.name)
		return err
	}
	g.Expect(names(Options{Dependents: Dependents{Conditions: map[string]Condition{"a": alone}}}, "b")).To(Succeed())
	g.Expect(names(Options{Dependents: Dependents{Conditions: map[string]Condition{"a": alone}}}, "a")).
		To(MatchError(ContainSubstring(`"a" is in Conditions and in WithCondition`)))
	g.Expect(names(Options{}, "Not a name")).To(MatchError(ContainSubstring(`the name "Not a name"`)))
	g.Expect(Options{}.conditionNames()).NotTo(BeNil(), "a nil list permits all names")
}

func TestAConditionThatSeesTheComponentIsDeferred(t *testing.T) {
	g := NewWithT(t)
	r := NewReconciler[Component]("shop.example.com", nil, Options{}).
		WithCondition("rolled-out", func(Component, *unstructured.Unstructured) (bool, string) { return false, "" })
	view, err := r.options.view(r.name)
	g.Expect(err).NotTo(HaveOccurred())
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetAnnotations(map[string]string{"shop.example.com/ready-when": "go/rolled-out"})
	g.Expect(view.Readiness(t.Context(), obj)).To(And(
		HaveField("State", ready.InProgress), HaveField("Deferred", "rolled-out")))
}
