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
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// parse reads one YAML document that is a map. No document is no values. Whole numbers become int64, others float64.
func parse(file string, text []byte) (map[string]any, error) {
	values := map[string]any{}
	root, err := onlyDocument(file, text)
	if err != nil || root == nil {
		return values, err
	}
	if root.Kind != yamlnode.MappingNode {
		return nil, &manifests.FileError{File: file, Line: root.Line, Err: errors.New("want a map of values, such as replicas: 2")}
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, located(file, err)
	}
	if err := json.Unmarshal(asJSON, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return values, nil
}

// onlyDocument returns the root of the only document, or nil where there is none or nothing in it. Helm's parser would drop further
// documents silently.
func onlyDocument(file string, text []byte) (*yamlnode.Node, error) {
	documents := yamlnode.NewDecoder(bytes.NewReader(text))
	var first, second yamlnode.Node
	if err := documents.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, located(file, err)
	}
	switch err := documents.Decode(&second); {
	case err == nil:
		return nil, &manifests.FileError{File: file, Line: second.Line, Err: errors.New("a second document begins; want one")}
	case !errors.Is(err, io.EOF):
		return nil, located(file, err)
	}
	if root := first.Content[0]; root.Tag != "!!null" {
		return root, nil
	}
	return nil, nil
}

// parserMessage takes apart what the YAML parsers say; they give the line in the text alone.
var parserMessage = regexp.MustCompile(`(?s)^(?:error converting YAML to JSON: )?(?:yaml: )?(?:unmarshal errors:\s+)?(?:line (\d+): )?(.*)$`)

func located(file string, err error) error {
	parts := parserMessage.FindStringSubmatch(err.Error())
	line, noLine := strconv.Atoi(parts[1])
	if noLine != nil {
		return fmt.Errorf("%s: invalid YAML: %s", file, parts[2])
	}
	return &manifests.FileError{File: file, Line: line, Err: fmt.Errorf("invalid YAML: %s", parts[2])}
}
