package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var service = schema.GroupKind{Kind: "Service"}

// checkService suspects a Service with several ports whose names are missing or equal. The API server checks that in
// code, so the schema does not say it.
func checkService(o manifests.Object) []Fault {
	if o.Key.GroupKind() != service {
		return nil
	}
	ports, _, _ := unstructured.NestedSlice(o.Body.Object, "spec", "ports")
	var faults []Fault
	seen := map[string]bool{}
	for i, item := range ports {
		port, _ := item.(map[string]any)
		name, _ := port["name"].(string)
		at := fmt.Sprintf("spec.ports[%d].name", i)
		switch {
		case name == "" && len(ports) > 1:
			faults = append(faults, Fault{Field: at, Message: "Required value: a Service with several ports needs their names"})
		case name != "" && seen[name]:
			faults = append(faults, Fault{Field: at, Message: fmt.Sprintf("Duplicate value: %q", name)})
		}
		seen[name] = true
	}
	return faults
}
