package bundle_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/bundle"
)

func TestWhatIsPortableIsWhatAPersonSaidOfAnObject(t *testing.T) {
	metadata := func(labels, annotations map[string]any) map[string]any {
		return map[string]any{"name": "shop", "namespace": "apps", "labels": labels, "annotations": annotations}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "fairlead.io/v1alpha1", "kind": "Component",
		"metadata": metadata(
			map[string]any{"app": "shop", "fairlead.io/owner-id": "hash"},
			map[string]any{
				"who": "me", "fairlead.io/owner-id": "cluster/owner", "fairlead.io/digest": "d.s", "fairlead.io/order": "1",
				"fairlead.io/reconcile-requested-at": "1", "fairlead.io/reconcile-acknowledge": "1",
				"kubectl.kubernetes.io/last-applied-configuration": "{}",
			}),
		"spec": map[string]any{"suspend": true}, "status": map[string]any{"revision": int64(3)},
	}}
	obj.SetUID("uid")
	want := map[string]any{
		"apiVersion": "fairlead.io/v1alpha1", "kind": "Component", "spec": map[string]any{"suspend": true},
		"metadata": metadata(map[string]any{"app": "shop"}, map[string]any{"who": "me", "fairlead.io/order": "1"}),
	}
	if got := bundle.Portable(obj).Object; !reflect.DeepEqual(got, want) {
		t.Errorf("Portable returned the wrong object %v", got)
	}
}
