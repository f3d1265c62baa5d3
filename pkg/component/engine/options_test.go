package engine_test

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
)

func TestRulesOfIgnoredFieldsAreNoOptionOfAnEngine(t *testing.T) {
	_, err := engine.New(t.Context(), "shops.test.fairlead.io", &rest.Config{}, engine.Options{
		Dependents: component.Dependents{Ignore: []metav1alpha1.IgnoreRule{{Paths: []string{"spec.replicas"}}}},
	})
	if err == nil || !strings.Contains(err.Error(), "normalise.Manifests") {
		t.Errorf("want an error that says where the rules belong, got %v", err)
	}
}
