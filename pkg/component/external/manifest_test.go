package external_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

func TestManifestOfAnExternal(t *testing.T) {
	obj, err := external.Manifest("Alias", "www", Alias{Host: "www.example.com", Target: "web"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "external.fairlead.io/v1", "kind": "Alias", "metadata": map[string]any{"name": "www"},
		"spec": map[string]any{"host": "www.example.com", "target": "web"},
	}
	if !reflect.DeepEqual(obj.Object, want) {
		t.Errorf("the manifest is %v", obj.Object)
	}
	if obj, err = external.Manifest("Alias", "www", nil); err != nil || obj.Object["spec"] != nil {
		t.Errorf("without a spec: %v, %v", obj, err)
	}
	if _, err = external.Manifest("Alias", "www", func() {}); err == nil || !strings.Contains(err.Error(),
		"spec of Alias www") {
		t.Errorf("a spec that is no JSON: %v", err)
	}
}
