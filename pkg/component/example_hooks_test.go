package component_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// A Deployment whose manifest has the annotation ready-when: go/rolled-out is ready when it runs the version that a
// service names for its component.
func ExampleReconciler_WithCondition() {
	versions := eventsource.Inbound("version", eventsource.InboundOptions[*gadget.Gadget, string]{})
	options := component.Options{
		Watching: component.Watching{CacheFull: []schema.GroupKind{{Group: "apps", Kind: "Deployment"}}},
	}
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, options).
		WithCondition("rolled-out", func(g *gadget.Gadget, self *unstructured.Unstructured) (bool, string) {
			wanted, _, known := versions.Get(g)
			return known && self.GetLabels()["version"] == wanted, "wants version " + wanted
		})
	_, err := reconciler.AddEventSource(versions)
	fmt.Println(err)
	// Output: <nil>
}

// A hook reads the dependents of a kind, typed.
func ExampleAs() {
	var hook component.Hook[*gadget.Gadget] = func(
		ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader,
	) error {
		found, err := dependents.List(ctx, schema.GroupKind{Kind: "ConfigMap"})
		if err != nil {
			return err
		}
		for _, object := range found {
			settings, err := component.As[*corev1.ConfigMap](object, nil)
			if err != nil {
				return err
			}
			fmt.Println(settings.Data["value"])
		}
		return nil
	}
	_ = hook

	_, err := component.As[*corev1.ConfigMap](nil, fmt.Errorf("no such dependent"))
	fmt.Println(err)
	// Output: no such dependent
}

// The manager's cache drops the inventories of components that had no pass for an hour.
func ExampleNewIdleInventory() {
	options := component.Options{Limits: component.Limits{IdleInventory: component.NewIdleInventory(time.Hour)}}
	fmt.Println(options.Cache().DefaultTransform != nil)
	// Output: true
}

// This hook refuses the deletion of a component while the component is still in use.
func ExampleRefuseDeletion() {
	hooks := component.Hooks[*gadget.Gadget]{
		PreDelete: func(context.Context, *gadget.Gadget, component.DependentReader) error {
			return component.RefuseDeletion(errors.New("orders are open; close them first"))
		},
	}
	_ = hooks
}

// This hook counts the Pods that the component renders itself.
func ExampleListAs() {
	reconciler := component.NewReconciler[*gadget.Gadget]("greeter.example.com", gadget.Generate, component.Options{})
	reconciler.WithHooks(component.Hooks[*gadget.Gadget]{
		PostPass: func(
			ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader, _ component.PassResult,
		) error {
			pods, err := component.ListAs[*corev1.Pod](dependents.List(ctx, schema.GroupKind{Kind: "Pod"}))
			fmt.Println(len(pods), "pods")
			return err
		},
	})
}

func ExampleKeyOf() {
	name := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	key, err := component.KeyOf(clientgoscheme.Scheme, &appsv1.Deployment{ObjectMeta: name})
	fmt.Println(key, err)
	// Output: Deployment.apps shop/web <nil>
}
