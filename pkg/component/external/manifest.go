package external

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
)

// Manifest returns the manifest of an external, for a generator. spec has the type S of the Kind that handles it, or is
// nil for a manifest without a spec. generator.Settings.Annotate adds settings. The error says that spec cannot be
// written as JSON.
func Manifest(kind, name string, spec any) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(Group + "/" + Version)
	obj.SetKind(kind)
	obj.SetName(name)
	if spec == nil {
		return obj, nil
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("spec of %s %s: %w", kind, name, err)
	}
	var plain any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &plain); err != nil {
		return nil, fmt.Errorf("spec of %s %s: %w", kind, name, err)
	}
	obj.Object["spec"] = plain
	return obj, nil
}
