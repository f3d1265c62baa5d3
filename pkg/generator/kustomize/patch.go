package kustomize

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// compile validates a patch and converts it to a form that kustomize accepts. The result is JSON, because kustomize
// rejects lists in YAML's flow style. It has a name, because kustomize requires a name even if the patch has a target.
// The errors of compile name the field with the mistake; errors of kustomize do not.
func (p Patch) compile() (types.Patch, error) {
	content, err := onlyDocument(p.Patch)
	if err != nil {
		return types.Patch{}, err
	}
	if err := p.Target.check(); err != nil {
		return types.Patch{}, fmt.Errorf("target: %w", err)
	}
	switch content := content.(type) {
	case []any:
		err = p.checkOperations(content)
	case map[string]any:
		err = p.identify(content)
	default:
		err = errors.New("want a strategic merge patch, which is a map, or a list of JSON patch operations")
	}
	if err != nil {
		return types.Patch{}, err
	}
	text, err := json.Marshal(content)
	return types.Patch{Patch: string(text), Target: p.Target.selector()}, err
}

func onlyDocument(text string) (any, error) {
	if err := bounded.YAML([]byte(text), bounded.Limits{}); err != nil {
		return nil, err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var content any
	for found := false; ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
		var next any
		if err := yaml.UnmarshalStrict(document, &next, useNumber); err != nil {
			return nil, fmt.Errorf("the patch is not valid YAML: %w", err)
		}
		if next == nil {
			continue
		}
		if found {
			return nil, errors.New("the patch has a second document: make it an entry of its own")
		}
		content, found = next, true
	}
}

func useNumber(d *json.Decoder) *json.Decoder {
	d.UseNumber()
	return d
}

// identify requires a merge patch to name its object. With a target the name has no effect.
func (p Patch) identify(patch map[string]any) error {
	if p.Target == nil {
		return checkIdentity(patch)
	}
	if patch["kind"] == nil {
		patch["kind"] = "Any"
	}
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	if metadata["name"] == nil {
		metadata["name"] = "any"
	}
	return nil
}

func checkIdentity(patch map[string]any) error {
	metadata, _ := patch["metadata"].(map[string]any)
	for _, field := range []struct {
		name  string
		value any
	}{{"kind", patch["kind"]}, {"metadata.name", metadata["name"]}} {
		if text, ok := field.value.(string); !ok || text == "" {
			return fmt.Errorf("the patch has no %s: add it, or a target, to select the object to change", field.name)
		}
	}
	return nil
}

// The operations of a JSON patch, RFC 6902, and the field that each needs besides op and path.
var operations = map[string]string{
	"add":     "value",
	"replace": "value",
	"test":    "value",
	"move":    "from",
	"copy":    "from",
	"remove":  "",
}

func (p Patch) checkOperations(list []any) error {
	if p.Target == nil {
		return errors.New("no target: JSON patch operations need a target that selects the objects to change")
	}
	if len(list) == 0 {
		return errors.New("no operations")
	}
	for i, entry := range list {
		operation, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("operation %d: want a map with op and path", i+1)
		}
		op, _ := operation["op"].(string)
		needs, known := operations[op]
		if !known {
			return fmt.Errorf("operation %d: op %q: want one of add, copy, move, remove, replace, test", i+1, op)
		}
		if path, ok := operation["path"].(string); !ok || !strings.HasPrefix(path, "/") {
			return fmt.Errorf("operation %d: want a path such as /spec/replicas", i+1)
		}
		if _, ok := operation[needs]; needs != "" && !ok {
			return fmt.Errorf("operation %d: %s needs %s", i+1, op, needs)
		}
	}
	return nil
}

func (t *Target) selector() *types.Selector {
	if t == nil {
		return nil
	}
	return &types.Selector{
		ResId: resid.ResId{
			Gvk: resid.Gvk{Group: t.Group, Version: t.Version, Kind: t.Kind}, Name: t.Name, Namespace: t.Namespace,
		},
		LabelSelector: t.LabelSelector, AnnotationSelector: t.AnnotationSelector,
	}
}

func (t *Target) check() error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, pattern := range []string{t.Group, t.Version, t.Kind, t.Namespace, t.Name} {
		if _, err := bounded.Pattern(pattern); err != nil {
			return err
		}
	}
	if _, err := types.NewSelectorRegex(t.selector()); err != nil {
		errs = append(errs, err)
	}
	for _, selector := range []string{t.LabelSelector, t.AnnotationSelector} {
		if _, err := labels.Parse(selector); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
