package manifests_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

const reconciler = "shop.example.com"

var testOwner = manifests.Owner{
	Cluster: "c", Reconciler: reconciler, Group: "example.com", Kind: "Shop", Namespace: "apps", Name: "shop",
}

var options = normalise.Options{
	Reconciler: reconciler, Namespace: "shop", Owner: testOwner,
	ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		if gvk.Kind == "CustomResourceDefinition" || gvk.Kind == "APIService" {
			return manifests.ScopeCluster, nil
		}
		return manifests.ScopeNamespaced, nil
	},
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Decode("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
