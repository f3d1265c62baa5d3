package render

import (
	"bytes"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// WriteRaw writes objects as a stream of YAML documents.
func WriteRaw(out io.Writer, objects []*unstructured.Unstructured) error {
	var stream bytes.Buffer
	for _, object := range objects {
		if err := write(&stream, "", object); err != nil {
			return err
		}
	}
	_, err := out.Write(stream.Bytes())
	return err
}

// WriteDependents writes dependents as a stream of YAML documents, each below a comment with its wave, or with the
// objects that it depends on.
func WriteDependents(out io.Writer, objects []manifests.Object) error {
	var stream bytes.Buffer
	for _, object := range objects {
		manifest, err := marks.Unmarked(object, operator.ReconcilerName)
		if err == nil {
			err = write(&stream, "# "+when(object)+"\n", manifest)
		}
		if err != nil {
			return err
		}
	}
	_, err := out.Write(stream.Bytes())
	return err
}

func write(stream *bytes.Buffer, comment string, object *unstructured.Unstructured) error {
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	stream.WriteString("---\n")
	stream.WriteString(comment)
	stream.Write(text)
	return nil
}

func when(o manifests.Object) string {
	if o.InGraph() {
		return "depends on " + o.DependsOn()
	}
	s := o.Settings
	if s.Phase != manifests.PhaseApply {
		return fmt.Sprintf("%s, wave %d", s.Phase, s.Order)
	}
	if s.PurgeOrder != nil {
		return fmt.Sprintf("wave %d, purged after wave %d", s.Order, *s.PurgeOrder)
	}
	return fmt.Sprintf("wave %d", s.Order)
}
