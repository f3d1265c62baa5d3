package validate

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// checkDecoding decodes a manifest of a type of Kubernetes, as the API server does after it has compared the manifest
// with the schema. Quantities, times and bytes are texts in the schema, and only the decoder knows their form.
func checkDecoding(o manifests.Object) []Fault {
	target, err := clientgoscheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return nil // It is no type of Kubernetes.
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Body.Object, target)
	if err == nil {
		return nil
	}
	message := strings.TrimPrefix(err.Error(), "error decoding from json: ")
	return []Fault{{Message: "a value cannot be decoded: " + message}}
}
