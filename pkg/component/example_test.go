package component_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// This example sets up an operator: it registers a Reconciler for the type Gadget with a manager. A function renders
// the dependents.
func ExampleNewReconciler() {
	greet := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		return []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: req.Name + "-greeting"},
			Data:       map[string]string{"text": fmt.Sprint(req.Parameters["text"])},
		}}, nil
	})
	setup := func(mgr ctrl.Manager) error {
		return component.NewReconciler[*gadget.Gadget]("greeter.example.com", greet, component.Options{
			Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: metav1alpha1.UpdateSSAOverride}},
		}).SetupWithManager(mgr)
	}
	_ = setup

	objects, err := greet.Generate(context.Background(),
		generator.Request{Name: "hello", Parameters: map[string]any{"text": "ahoy"}})
	fmt.Println(objects[0].GetName(), err)
	// Output: hello-greeting <nil>
}

// This example adds a watch on Nodes: an event on a Node starts a pass over the component that a label of the Node
// names.
func ExampleOptions_watches() {
	options := component.Options{Watching: component.Watching{Watches: []component.Watch{{
		Object: &corev1.Node{},
		Map: func(_ context.Context, node client.Object) []reconcile.Request {
			name, ok := node.GetLabels()["example.com/gadget"]
			if !ok {
				return nil
			}
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "gadgets", Name: name}}}
		},
	}}}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"example.com/gadget": "radio"}}}
	fmt.Println(options.Watching.Watches[0].Map(context.Background(), node))
	// Output: [gadgets/radio]
}

// This example adds a watch on Nodes to the builder of the controller: a Node whose labels change starts a pass.
func ExampleReconciler_SetupWithManagerAndBuilder() {
	nodes := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "gadgets", Name: "radio"}}}
	})
	setup := func(mgr ctrl.Manager) error {
		r := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{})
		return r.SetupWithManagerAndBuilder(mgr, func(b *builder.Builder) *builder.Builder {
			return b.Watches(&corev1.Node{}, nodes, builder.WithPredicates(predicate.LabelChangedPredicate{}))
		})
	}
	_ = setup
}

// The hook PreDelete of this example delays the deletion of a component until a backup Job has succeeded. RetryAfter
// sets the delay before the next call of the hook.
func ExampleReconciler_WithHooks() {
	hooks := component.Hooks[*gadget.Gadget]{
		PreDelete: func(ctx context.Context, g *gadget.Gadget, dependents component.DependentReader) error {
			job, err := dependents.Get(ctx, manifests.Key{Group: "batch", Kind: "Job", Namespace: g.Namespace, Name: "backup"})
			if err != nil {
				return client.IgnoreNotFound(err)
			}
			if done, _, _ := unstructured.NestedInt64(job.Object, "status", "succeeded"); done == 0 {
				return component.RetryAfter(errors.New("the backup is not finished"), 10*time.Second)
			}
			return nil
		},
	}
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{
		Watching: component.Watching{CacheFull: []schema.GroupKind{{Group: "batch", Kind: "Job"}}},
	}).WithHooks(hooks)
	fmt.Println(reconciler.Finalizer())
	// Output: greeter.example.com/finalizer
}

// boxSpec embeds parts, which implement optional interfaces.
type boxSpec struct {
	metav1alpha1.SuspendSpec  `json:",inline"`
	metav1alpha1.PoliciesSpec `json:",inline"`

	Size string `json:"size,omitempty"`
}

// box is a component whose spec implements the interfaces Suspender and PolicyHolder.
type box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec boxSpec `json:"spec"`
}

func (b *box) GetSpec() any { return &b.Spec }

// The spec of this component embeds parts: fields, and the optional interfaces that the fields serve.
func ExampleSpecHolder() {
	b := &box{}
	b.Spec.Suspend, b.Spec.DeletePolicy = true, metav1alpha1.DeleteOrphan
	var holder component.SpecHolder = b
	suspender, _ := holder.GetSpec().(component.Suspender)
	policies, _ := holder.GetSpec().(component.PolicyHolder)
	fmt.Println(suspender.Suspended(), policies.Policies().Delete)
	// Output: true orphan
}

// RetryAfter marks an error as temporary, and sets the delay before the next attempt.
func ExampleRetryAfter() {
	err := component.RetryAfter(errors.New("the registry is busy"), time.Minute)
	var retry interface{ RetryAfter() time.Duration }
	fmt.Println(err, errors.As(err, &retry), retry.RetryAfter())
	// Output: the registry is busy true 1m0s
}
