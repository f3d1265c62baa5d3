package rendering

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Objects converts decoded manifests to the result type of a generator.
func Objects(decoded []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, len(decoded))
	for i, object := range decoded {
		objects[i] = object
	}
	return objects
}

// Warn returns a function that reports mistakes of files, which do not prevent the rendering, as warnings to req.
func Warn(req generator.Request) func(*manifests.FileError) {
	return func(mistake *manifests.FileError) {
		req.Tell(generator.Result{Severity: generator.SeverityWarning, Message: mistake.Error()})
	}
}

// Stream joins the output of templates, each below its name, as helm template --debug prints output that is no valid
// YAML.
func Stream(outputs []File) []byte {
	var stream bytes.Buffer
	for _, output := range outputs {
		if text := bytes.TrimSpace(output.Data); len(text) > 0 {
			fmt.Fprintf(&stream, "---\n# Source: %s\n%s\n", output.Name, text)
		}
	}
	return stream.Bytes()
}
