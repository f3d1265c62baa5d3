package values

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	yamlnode "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/yamltext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// parse returns the first YAML document of a text, which must be a map. A text without a document contains no values.
// Whole numbers have type int64, other numbers have type float64.
func parse(file string, text []byte, warn func(error)) (map[string]any, error) {
	values := map[string]any{}
	if err := bounded.YAML(text, bounded.Limits{}); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	root, ignored, err := firstDocument(file, yamltext.TrimMarks(text))
	if err != nil {
		return values, err
	}
	if ignored != nil {
		warn(ignored)
	}
	if root == nil {
		return values, nil
	}
	if root.Kind != yamlnode.MappingNode {
		return nil, &manifests.FileError{
			File: file, Line: root.Line,
			Err: errors.New("want a map of values, such as replicas: 2"),
		}
	}
	asJSON, duplicates, err := yamltext.ToJSON(text)
	if err != nil {
		return nil, located(file, err)
	}
	for _, duplicate := range duplicates {
		warn(&manifests.FileError{File: file, Line: duplicate.Line, Err: errors.New(duplicate.String())})
	}
	if err := json.Unmarshal(asJSON, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return values, checkNoManifest(file, values)
}

// errManifest is the second part of the error for a manifest that is used as a file of values.
var errManifest = errors.New("and -f expects values, such as replicas: 2; kubectl apply -f applies a manifest; " +
	"to make it part of a component, put it into the folder: fairlead apply NAME DIR")

// checkNoManifest returns an error if values are a manifest, that is, if apiVersion and kind are texts.
func checkNoManifest(file string, values map[string]any) error {
	_, hasVersion := values["apiVersion"].(string)
	kind, hasKind := values["kind"].(string)
	if !hasVersion || !hasKind {
		return nil
	}
	return fmt.Errorf("%s: this is a manifest of kind %s, %w", file, kind, errManifest)
}

// firstDocument returns the root of the first document, or nil if this document is empty. The error ignored describes
// further documents, which are not read. Helm ignores them without a warning.
func firstDocument(file string, text []byte) (root *yamlnode.Node, ignored, err error) {
	documents := yamlnode.NewDecoder(bytes.NewReader(text))
	var first, second yamlnode.Node
	if err := documents.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, located(file, err)
	}
	switch err := documents.Decode(&second); {
	case err == nil:
		ignored = &manifests.FileError{
			File: file, Line: second.Line,
			Err: errors.New("a second document begins here; as in Helm, only the first document is read"),
		}
	case !errors.Is(err, io.EOF):
		ignored = fmt.Errorf("%w; as in Helm, only the first document is read", located(file, err))
	}
	if root := first.Content[0]; root.Tag != "!!null" {
		return root, ignored, nil
	}
	return nil, ignored, nil
}

// parserMessage splits a message of the YAML parsers into the line number and the rest.
var parserMessage = regexp.MustCompile(`(?s)^(?:error converting YAML to JSON: )?(?:yaml: )?` +
	`(?:unmarshal errors:\s+)?(?:line (\d+): )?(.*)$`)

func located(file string, err error) error {
	parts := parserMessage.FindStringSubmatch(err.Error())
	line, noLine := strconv.Atoi(parts[1])
	if noLine != nil {
		return fmt.Errorf("%s: invalid YAML: %s", file, parts[2])
	}
	return &manifests.FileError{File: file, Line: line, Err: fmt.Errorf("invalid YAML: %s", parts[2])}
}
