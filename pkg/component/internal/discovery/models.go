package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-io/fairlead/internal/budget"
)

// models are the schemas of an OpenAPI document, by name, not decoded.
type models map[string]json.RawMessage

// models splits a document into its schemas.
func (d document) models() (models, error) {
	if err := budget.Reserve(d.ctx, int64(len(d.text))); err != nil {
		return nil, err
	}
	var parts struct {
		Components struct {
			Schemas models `json:"schemas"`
		} `json:"components"`
	}
	err := json.Unmarshal(d.text, &parts)
	return parts.Components.Schemas, err
}

// compile returns the schema of a kind. It is nil if the document does not describe the kind. Only the models that the
// kind refers to are decoded, one kind at a time.
func (m models) compile(ctx context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	root := m.nameOf(gvk)
	if root == "" {
		return nil, nil
	}
	needed := m.reachable(root)
	nodes := 0
	for _, name := range needed {
		nodes += bytes.Count(m[name], []byte{'{'})
	}
	if nodes > maxSchemaNodes {
		return nil, fmt.Errorf("the schema of %s has more than %d fields", gvk, maxSchemaNodes)
	}
	ctx, end := budget.Scope(ctx)
	defer end()
	if err := budget.Reserve(ctx, int64(nodes)*schemaNodeBytes); err != nil {
		return nil, err
	}
	decoded := make(map[string]*spec.Schema, len(needed))
	for _, name := range needed {
		decoded[name] = &spec.Schema{}
		if err := json.Unmarshal(m[name], decoded[name]); err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", name, err)
		}
	}
	return managedfields.NewTypeConverter(decoded, false)
}

const (
	// schemaNodeBytes is an estimate of the memory of a decoded field.
	schemaNodeBytes = 1 << 10
	// maxSchemaNodes bounds the memory for the schema of a kind. The definitions of most kinds have less than 10,000
	// fields.
	maxSchemaNodes = 100_000
)

// kindKey is the extension that names the kinds that a model describes.
const kindKey = "x-kubernetes-group-version-kind"

// nameOf returns the name of the model of a kind; empty if there is none.
func (m models) nameOf(gvk schema.GroupVersionKind) string {
	for name, text := range m {
		if !bytes.Contains(text, []byte(kindKey)) {
			continue
		}
		var described struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		// A model for options describes the kinds of all groups, so a model counts only if it describes one kind.
		if json.Unmarshal(text, &described) == nil && len(described.Kinds) == 1 && described.Kinds[0] == gvk {
			return name
		}
	}
	return ""
}

var modelReference = regexp.MustCompile(`"\$ref"\s*:\s*"#/components/schemas/([^"]+)"`)

// reachable returns the names of a model and of all models that it refers to.
func (m models) reachable(root string) []string {
	names, seen := []string{root}, map[string]bool{root: true}
	for i := 0; i < len(names); i++ {
		for _, found := range modelReference.FindAllSubmatch(m[names[i]], -1) {
			name := string(found[1])
			if _, defined := m[name]; defined && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}
