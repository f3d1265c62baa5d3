package manifests_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shop.example.com"

var testOwner = manifests.Owner{
	Cluster: "c", Reconciler: reconciler, Group: "example.com", Kind: "Shop", Namespace: "apps", Name: "shop",
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Decode("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
