package component_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// An operator: a kind of its own, a function that renders its dependents, and a manager.
func ExampleNewReconciler() {
	greet := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		return []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: req.Name + "-greeting"},
			Data:       map[string]string{"text": fmt.Sprint(req.Parameters["text"])},
		}}, nil
	})
	setup := func(mgr ctrl.Manager) error {
		return component.NewReconciler[*gadget.Gadget]("greeter.example.com", greet, component.Options{
			Policies: component.Policies{Update: metav1alpha1.UpdateSSAOverride},
		}).SetupWithManager(mgr)
	}
	_ = setup

	objects, err := greet.Generate(context.Background(), generator.Request{Name: "hello", Parameters: map[string]any{"text": "ahoy"}})
	fmt.Println(objects[0].GetName(), err)
	// Output: hello-greeting <nil>
}

// A component is woken by more than its dependents: here by a Node that it names in a label.
func ExampleOptions_watches() {
	options := component.Options{Watches: []component.Watch{{
		Object: &corev1.Node{},
		Map: func(_ context.Context, node client.Object) []reconcile.Request {
			name, ok := node.GetLabels()["example.com/gadget"]
			if !ok {
				return nil
			}
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "gadgets", Name: name}}}
		},
	}}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"example.com/gadget": "radio"}}}
	fmt.Println(options.Watches[0].Map(context.Background(), node))
	// Output: [gadgets/radio]
}
