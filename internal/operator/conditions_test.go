package operator

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestConditionsSeeInputsAtTheirPlaces(t *testing.T) {
	g := NewWithT(t)
	object := &v1alpha1.ObjectInput{APIVersion: "v1", Kind: "ConfigMap", Name: "logging"}
	c := &v1alpha1.Component{Spec: v1alpha1.ComponentSpec{
		Values: &runtime.RawExtension{Raw: []byte(`{"log":{"level":"warn"}}`)},
		Inputs: []v1alpha1.Input{
			{Name: "rates", Poll: &v1alpha1.PollInput{URL: "https://rates.example.com"}},
			{Name: "logging", Path: "log", Object: object},
		},
	}}
	polls := map[string]any{"rates": map[string]any{"EUR": int64(2)}}
	given := map[string]any{"logging": map[string]any{"level": "info", "json": true}}
	parameters, err := conditionParameters(t.Context(), generator.Request{
		Component: c, Inputs: map[string]any{polledInput: polls, givenInput: given},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parameters).To(Equal(map[string]any{
		"inputs": map[string]any{
			"rates":  map[string]any{"EUR": int64(2)},
			"polled": map[string]any{"rates": map[string]any{"EUR": int64(2)}},
		},
		"log": map[string]any{"level": "warn", "json": true},
	}))

	c.Spec.Inputs = nil
	g.Expect(conditionParameters(t.Context(), generator.Request{Component: c})).To(BeNil())
}
