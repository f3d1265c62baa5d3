package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/validate/values"
)

// models are the schemas of an OpenAPI document, by name, not decoded.
type models map[string]json.RawMessage

// models splits a document into its schemas and its operations.
func (d document) models() (models, operations, error) {
	if err := budget.Reserve(d.ctx, int64(len(d.text))); err != nil {
		return nil, nil, err
	}
	var parts struct {
		Paths      operations `json:"paths"`
		Components struct {
			Schemas models `json:"schemas"`
		} `json:"components"`
	}
	err := json.Unmarshal(d.text, &parts)
	return parts.Components.Schemas, parts.Paths, err
}

// compile returns the schema of a kind whose model has the given name, and an estimate of its fields. It is nil without
// a name. Only the models that the kind refers to are decoded, one kind at a time. The error says that the schema has
// more fields than there is room for, that its memory is not available, or that it cannot be compiled.
func (m models) compile(ctx context.Context, group, root string, room int) (*Type, int, error) {
	if root == "" {
		return nil, 0, nil
	}
	needed := m.reachable(root)
	nodes := 0
	for _, name := range needed {
		nodes += nodesOf(m[name])
	}
	if limit := min(room, maxSchemaNodes); nodes > limit {
		return nil, 0, fmt.Errorf("the schema of %s has more than %d fields", root, limit)
	}
	ctx, end := budget.Scope(ctx)
	defer end()
	if err := budget.Reserve(ctx, int64(nodes)*schemaNodeBytes); err != nil {
		return nil, 0, err
	}
	decoded := make(map[string]*spec.Schema, len(needed))
	for _, name := range needed {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		decoded[name] = &spec.Schema{}
		if err := json.Unmarshal(m[name], decoded[name]); err != nil {
			return nil, 0, fmt.Errorf("the schema of %s: %w", name, err)
		}
	}
	types, err := managedfields.NewTypeConverter(decoded, false)
	if err != nil {
		return nil, 0, err
	}
	compiled := &Type{TypeConverter: types}
	if builtintypes.IsBuiltIn(group) || !m.isCustom(root) {
		compiled.builtIn = values.BuiltIn(decoded, root)
	} else if compiled.custom, err = values.Pack(m[root]); err != nil {
		compiled.custom = nil
	}
	return compiled, nodes, nil
}

// metaModels begins the names of the models of metadata.
const metaModels = "io.k8s.apimachinery.pkg.apis.meta."

// isCustom reports whether a model may be the schema of a CustomResourceDefinition, which refers to the models of
// metadata only.
func (m models) isCustom(root string) bool {
	for _, found := range modelReference.FindAllSubmatch(m[root], -1) {
		if !strings.HasPrefix(string(found[1]), metaModels) {
			return false
		}
	}
	return true
}

// nodesOf returns an estimate of the fields of a model, which grows with whatever takes memory in it: its fields, its
// values, and its texts.
func nodesOf(model []byte) int {
	values := bytes.Count(model, []byte{','}) + bytes.Count(model, []byte{'['})
	return 1 + bytes.Count(model, []byte{'{'}) + values/8 + len(model)/512
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

// roots returns the names of the models of the kinds of a group and version, by kind.
func (m models) roots(gv schema.GroupVersion) map[string]string {
	names := map[string]string{}
	for name, text := range m {
		if !bytes.Contains(text, []byte(kindKey)) {
			continue
		}
		var described struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		// A model for options describes the kinds of all groups, so a model counts only if it describes one kind.
		if json.Unmarshal(text, &described) != nil || len(described.Kinds) != 1 || described.Kinds[0].GroupVersion() != gv {
			continue
		}
		kind := described.Kinds[0].Kind
		if first, found := names[kind]; !found || name < first {
			names[kind] = name
		}
	}
	return names
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
