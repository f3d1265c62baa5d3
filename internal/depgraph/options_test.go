package depgraph_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const reconciler = "shop.example.com"

var options = normalise.Options{
	Reconciler: reconciler, Namespace: "shop",
	Owner: manifests.Owner{
		Cluster: "c", Reconciler: reconciler, Group: "example.com", Kind: "Shop", Namespace: "apps", Name: "shop",
	},
	ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		switch gvk.Kind {
		case "Namespace", "ClusterRole", "CustomResourceDefinition", "APIService", "ValidatingWebhookConfiguration":
			return manifests.ScopeCluster, nil
		case "Widget", "Gizmo":
			return manifests.ScopeUnknown, nil
		}
		return manifests.ScopeNamespaced, nil
	},
}
