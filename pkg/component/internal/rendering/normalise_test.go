package rendering

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

func TestNormaliseReturnsARetriedErrorOnlyForDiscovery(t *testing.T) {
	manifest := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		}}
	}
	for _, c := range []struct {
		name     string
		manifest *unstructured.Unstructured
		answer   error
		reason   string
		terminal bool
	}{
		{"a manifest without a name is a terminal error", manifest(""), nil, metav1alpha1.ReasonInvalidManifests, true},
		{
			"a failed discovery of the scope is retried", manifest("a"), errors.New("no answer in time"),
			metav1alpha1.ReasonRetrying, false,
		},
		{"a correct manifest is not an error", manifest("a"), nil, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Normalise([]*unstructured.Unstructured{c.manifest}, normalise.Options{
				Reconciler: "a.example.com", Namespace: "shop",
				ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, c.answer },
			})
			p := passerror.Of(err)
			if p == nil {
				p = &passerror.Error{}
			}
			if p.Reason != c.reason || p.Terminal != c.terminal {
				t.Errorf("want %q, terminal %t; got %q, terminal %t", c.reason, c.terminal, p.Reason, p.Terminal)
			}
		})
	}
}
