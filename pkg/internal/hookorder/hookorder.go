package hookorder

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Hooks that run before the other objects of a chart have orders from -First on, and hooks that run after them from
// First on. Each hook takes up to two orders: its own, and its purge order.
const (
	First = 20_000
	Max   = 3_000
)

// annotation contains the events of a Helm hook.
const annotation = "helm.sh/hook"

// Set reports whether the order of an object is that of a Helm hook.
func Set(object *unstructured.Unstructured, order int) bool {
	return object.GetAnnotations()[annotation] != "" && (inRange(order+First) || inRange(order-First))
}

func inRange(rank int) bool { return rank >= 0 && rank < 2*Max }

// Services returns the names of the Services that an APIService or a webhook configuration refers to.
func Services(object *unstructured.Unstructured) []types.NamespacedName {
	configs := []any{object.Object["spec"]}
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	for _, w := range webhooks {
		if webhook, ok := w.(map[string]any); ok {
			configs = append(configs, webhook["clientConfig"])
		}
	}
	var names []types.NamespacedName
	for _, c := range configs {
		config, _ := c.(map[string]any)
		namespace, _, _ := unstructured.NestedString(config, "service", "namespace")
		name, _, _ := unstructured.NestedString(config, "service", "name")
		if name != "" {
			names = append(names, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return names
}
