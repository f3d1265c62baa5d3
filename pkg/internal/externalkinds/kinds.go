package externalkinds

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// Check returns a function that checks the manifest of an external of a component, as in
// normalise.Options.CheckExternal. A kind that no driver handles is an error, and so is a spec that its driver
// finds invalid. The driver must know the fields of a partial spec.
func Check(
	component client.Object, drivers []external.Driver,
) func(body *unstructured.Unstructured, partial bool) error {
	return func(body *unstructured.Unstructured, partial bool) error {
		for _, d := range drivers {
			if d.Info().Kind != body.GetKind() {
				continue
			}
			spec, err := json.Marshal(body.Object["spec"])
			if err != nil {
				return err
			}
			return d.Check(external.Request{Component: component, Spec: spec, Partial: partial}).Invalid
		}
		return NoHandler(body.GetKind(), drivers)
	}
}

// NoHandler returns the error for a kind of externals without a driver.
func NoHandler(kind string, drivers []external.Driver) error {
	known := "no kind is registered"
	if len(drivers) > 0 {
		var kinds []string
		for _, d := range drivers {
			kinds = append(kinds, d.Info().Kind)
		}
		known = "registered are " + strings.Join(kinds, ", ")
	}
	return fmt.Errorf("no handler is registered for externals of the kind %s; %s", kind, known)
}
