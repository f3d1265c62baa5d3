package discovery

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// operations are the paths of an OpenAPI document with their operations, not decoded.
type operations map[string]json.RawMessage

// actionVerbs are the verbs of the actions in a document that write an object.
var actionVerbs = map[string]string{"post": "create", "put": "update", "patch": "patch"}

// writesOf returns the verbs with which clients write the objects of a kind, sorted. known is false if the document
// does not have the paths of the kind.
func (o operations) writesOf(gvk schema.GroupVersionKind) (verbs []string, known bool) {
	quoted := []byte(`"` + gvk.Kind + `"`)
	for path, item := range o {
		if strings.Contains(path, "/{name}/") || !bytes.Contains(item, quoted) {
			// Only subresources have a part after the name.
			continue
		}
		var methods map[string]json.RawMessage
		if json.Unmarshal(item, &methods) != nil {
			continue
		}
		for _, method := range methods {
			var operation struct {
				Action string                  `json:"x-kubernetes-action"`
				Kind   schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
			}
			// A path also has members that are no operations, such as its parameters.
			if json.Unmarshal(method, &operation) != nil || operation.Kind != gvk {
				continue
			}
			known = true
			if verb := actionVerbs[operation.Action]; verb != "" {
				verbs = append(verbs, verb)
			}
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs), known
}

// Supports reports whether the API server may support a verb for the objects of the kind, as far as its document tells.
// It is false without a schema, because nothing is known then.
func (t *Type) Supports(verb string) bool {
	return t != nil && (!t.listed || slices.Contains(t.writes, verb))
}

// IsSubresource reports whether an API server serves a kind only as a subresource, according to the last list of its
// group and version. It sends no request.
func (r *Reader) IsSubresource(gvk schema.GroupVersionKind) bool {
	found := false
	for _, resource := range r.lists.last(gvk.GroupVersion()) {
		other := resource.Group != "" && resource.Group != gvk.Group ||
			resource.Version != "" && resource.Version != gvk.Version
		switch {
		case resource.Kind != gvk.Kind || other:
		case isMain(resource):
			return false
		default:
			found = true
		}
	}
	return found
}
