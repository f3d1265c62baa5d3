package values

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/yamltext"
)

// Input is the value of an input.
type Input struct {
	Name string
	// Path is the place among the values, with dots between the names. It is empty if it is not given.
	Path  string
	Value any
}

// pathOfInput is the pattern of the path of an input; see v1alpha1.Input.
var pathOfInput = regexp.MustCompile(`^[^.]+(\.[^.]+)*$`)

// Inputs reads the values of inputs from assignments NAME=FILE or NAME:PATH=FILE. A file is a JSON or YAML document
// with any value; "-" is stdin. Whole numbers have type int64, other numbers have type float64.
func Inputs(assignments []string, stdin io.Reader) ([]Input, error) {
	inputs, known, stdinRead := make([]Input, 0, len(assignments)), map[string]bool{}, false
	for _, assignment := range assignments {
		place, file, found := strings.Cut(assignment, "=")
		name, path, hasPath := strings.Cut(place, ":")
		switch {
		case !found || name == "" || file == "":
			return nil, fmt.Errorf("--input %s: want NAME=FILE, such as rates=rates.json", assignment)
		case hasPath && !pathOfInput.MatchString(path):
			return nil, fmt.Errorf("--input %s: want NAME:PATH=FILE, such as rates:shop.rates=rates.json", assignment)
		case known[name]:
			return nil, fmt.Errorf("--input %s: the input %s is given twice", assignment, name)
		case file == "-" && stdinRead:
			return nil, errors.New("stdin is used twice as the value of an input")
		}
		stdinRead, known[name] = stdinRead || file == "-", true
		value, err := readInput(file, stdin)
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", assignment, err)
		}
		inputs = append(inputs, Input{Name: name, Path: path, Value: value})
	}
	return inputs, nil
}

// ByName returns the values of inputs by their names. It returns an error if an input has a path, because a component
// has the paths of its inputs.
func ByName(inputs []Input) (map[string]any, error) {
	given := map[string]any{}
	for _, input := range inputs {
		if input.Path != "" {
			return nil, fmt.Errorf("--input %s:%s: leave the path out, spec.inputs of the component has it; want NAME=FILE",
				input.Name, input.Path)
		}
		given[input.Name] = input.Value
	}
	return given, nil
}

func readInput(file string, stdin io.Reader) (value any, err error) {
	var text []byte
	if file == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	if err := bounded.YAML(text, bounded.Limits{}); err != nil {
		return nil, err
	}
	asJSON, _, err := yamltext.ToJSON(text)
	if err != nil {
		return nil, located(file, err)
	}
	if err := json.Unmarshal(asJSON, &value); err != nil {
		return nil, err
	}
	if value == nil {
		return nil, errors.New("the file contains no value")
	}
	return value, nil
}
