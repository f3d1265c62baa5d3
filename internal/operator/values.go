package operator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/yamltext"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

const defaultValuesKey = "values.yaml"

// valuesOf returns the values of a Component. It merges spec.valuesFrom in order, then the values of its inputs, and
// then spec.values. Later values override earlier values. warn receives a text for each key that occurs twice in a map;
// it may be nil.
func valuesOf(
	component *v1alpha1.Component, references generator.References, inputs map[string]any, warn func(string),
) (map[string]any, error) {
	values := map[string]any{}
	for i, from := range component.Spec.ValuesFrom {
		more, duplicates, err := valuesFrom(from, component.Namespace, references)
		if err != nil {
			return nil, fmt.Errorf("spec.valuesFrom[%d]: %w", i, err)
		}
		for _, duplicate := range duplicates {
			if warn != nil {
				warn(fmt.Sprintf("spec.valuesFrom[%d]: %s", i, duplicate))
			}
		}
		values = merge(values, more)
	}
	values = merge(values, inputs)
	if component.Spec.Values != nil {
		if _, err := bounded.JSON(component.Spec.Values.Raw, bounded.Limits{}); err != nil {
			return nil, fmt.Errorf("spec.values: %w", err)
		}
	}
	own, err := component.GetParameters()
	if err != nil {
		return nil, err
	}
	return merge(values, own), nil
}

// valuesFrom returns the values of a reference, and a text for each of its keys that occurs twice in a map. The text
// does not quote a Secret.
func valuesFrom(
	from metav1alpha1.ValuesReference, namespace string, references generator.References,
) (values map[string]any, duplicates []string, err error) {
	reference := generator.Reference{Kind: from.Kind, Namespace: namespace, Name: from.Name}
	if from.Kind == metav1alpha1.ComponentReference {
		values, err = exportedValue(from, reference, references)
		return values, nil, err
	}
	data, found := references[reference]
	if !found && from.Optional {
		return nil, nil, nil
	}
	if !found {
		return nil, nil, fmt.Errorf("%s: not found", describe(reference))
	}
	key := from.ValuesKey
	if key == "" {
		key = defaultValuesKey
	}
	text, found := data[key]
	if !found && from.Optional {
		return nil, nil, nil
	}
	if !found {
		return nil, nil, fmt.Errorf("%s has no key %q; its keys are %s", describe(reference), key, keysOf(data))
	}
	values, twice, err := parseValues(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s, key %q: %w", describe(reference), key, withheld(from.Kind, err))
	}
	for _, found := range twice {
		text := found.String()
		if from.Kind == metav1alpha1.SecretReference {
			text = "a key occurs twice in a map; the last value is used"
		}
		duplicates = append(duplicates, fmt.Sprintf("%s, key %q: line %d: %s", describe(reference), key, found.Line, text))
	}
	return values, duplicates, nil
}

func keysOf(data map[string][]byte) string {
	if len(data) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(data)), ", ")
}

// parseValues parses a single YAML document, which must be a map. As in Helm, an empty document contains no values.
// parseValues also returns the keys that occur twice in a map.
func parseValues(text []byte) (map[string]any, []yamltext.Duplicate, error) {
	if err := bounded.YAML(text, bounded.Limits{}); err != nil {
		if limit, ok := errors.AsType[*bounded.LimitError](err); ok && !limit.Quotes {
			return nil, nil, &valuesError{text: err.Error()}
		}
		return nil, nil, err
	}
	asJSON, duplicates, err := yamltext.ToJSON(text)
	if err != nil {
		return nil, nil, invalidYAML(err)
	}
	root, err := onlyDocument(yamltext.TrimMarks(text))
	if err != nil || root == nil {
		return nil, nil, err
	}
	if root.Kind != yamlnode.MappingNode {
		return nil, nil, &valuesError{text: fmt.Sprintf("line %d: want a map of values, such as replicas: 2", root.Line)}
	}
	var values map[string]any
	if err := json.Unmarshal(asJSON, &values); err != nil {
		return nil, nil, invalidYAML(err)
	}
	return values, duplicates, nil
}

// onlyDocument returns the root of the only document in a text, or nil if the document is empty. It uses another parser
// than Helm, because Helm's parser neither reports lines nor detects further documents.
func onlyDocument(text []byte) (*yamlnode.Node, error) {
	documents := yamlnode.NewDecoder(bytes.NewReader(text))
	var first, second yamlnode.Node
	if err := documents.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, invalidYAML(err)
	}
	if err := documents.Decode(&second); err == nil {
		return nil, &valuesError{text: fmt.Sprintf("line %d: a second document begins; want a single document", second.Line)}
	} else if !errors.Is(err, io.EOF) {
		return nil, invalidYAML(err)
	}
	root := first.Content[0]
	if root.Tag == "!!null" {
		return nil, nil
	}
	return root, nil
}

// valuesError is an error in a document of values. Its text never contains values, because the document may be in a
// Secret.
type valuesError struct{ text string }

func (e *valuesError) Error() string { return e.text }

// parserPrefixes matches the prefixes of messages of the YAML libraries. These prefixes are removed.
var parserPrefixes = regexp.MustCompile(`^error converting YAML to JSON: |^yaml: (unmarshal errors:\s+)?`)

func invalidYAML(err error) error {
	message := parserPrefixes.ReplaceAllString(parserPrefixes.ReplaceAllString(err.Error(), ""), "")
	return fmt.Errorf("invalid YAML: %s", message)
}

var lineOfMessage = regexp.MustCompile(`line \d+`)

// withheld replaces the error of a document in a Secret by an error that names only the line, because messages of
// parsers contain parts of their input.
func withheld(kind metav1alpha1.ReferenceKind, err error) error {
	var quotesNothing *valuesError
	if kind != metav1alpha1.SecretReference || errors.As(err, &quotesNothing) {
		return err
	}
	where := lineOfMessage.FindString(err.Error())
	if where == "" {
		where = "unknown line"
	}
	return fmt.Errorf("invalid YAML: %s (the parser's message could quote the Secret, so it is withheld)", where)
}
