package values

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/util/json"
)

// Assignments are assignments of values, with the syntax and the types of Helm's flags of these names. Whatever their
// order on the command line, those of a later field override those of an earlier field, as in Helm.
type Assignments struct {
	// JSON contains the values of --set-json: each value is a JSON document.
	JSON []string
	// Plain contains the values of --set: a whole number is an int64, true and false are booleans, null is nil, and
	// anything else is a text.
	Plain []string
	// Text contains the values of --set-string: each value is a text.
	Text []string
	// Files contains the values of --set-file: each value is the path of a file, whose content is a text. "-" is stdin.
	Files []string
	// Literal contains the values of --set-literal: the rest of the assignment is a text, whatever characters it has.
	Literal []string
}

func (a Assignments) given() bool {
	return len(a.JSON)+len(a.Plain)+len(a.Text)+len(a.Files)+len(a.Literal) > 0
}

// otherType matches the message of Helm's parser about an assignment below a value that is neither a map nor a list.
var otherType = regexp.MustCompile(
	`^unable to parse key: interface conversion: interface \{\} is (\S+)(?: \{\})?, not (\S+)`)

// typeNames are the names of types in YAML.
var typeNames = map[string]string{
	"string": "a text", "bool": "a boolean", "int64": "a number", "float64": "a number",
	"map[string]interface": "a map", "[]interface": "a list",
}

// explained returns an error of Helm's parser in the words of YAML.
func explained(err error) error {
	found := otherType.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	return fmt.Errorf("it assigns a part of %s, but a file of values or an earlier assignment makes that %s",
		cmp.Or(typeNames[found[2]], found[2]), cmp.Or(typeNames[found[1]], found[1]))
}

// into assigns the values in a map, and returns the result. Whole numbers have type int64, other numbers have type
// float64. An error contains the name of the flag and the number of the assignment among those of this flag.
func (a Assignments) into(values map[string]any, stdin *onceReader) (map[string]any, error) {
	content := func(path []rune) (any, error) {
		text, err := stdin.readFile(string(path))
		return string(text), err
	}
	for _, kind := range []struct {
		flag        string
		assignments []string
		parse       func(string, map[string]any) error
	}{
		{"--set-json", a.JSON, parseJSON},
		{"--set", a.Plain, strvals.ParseInto},
		{"--set-string", a.Text, strvals.ParseIntoString},
		{"--set-file", a.Files, func(text string, values map[string]any) error {
			return strvals.ParseIntoFile(text, values, content)
		}},
		{"--set-literal", a.Literal, strvals.ParseLiteralInto},
	} {
		for i, assignment := range kind.assignments {
			if err := kind.parse(assignment, values); err != nil {
				return nil, fmt.Errorf("%s number %d: %w", kind.flag, i+1, explained(err))
			}
		}
	}
	if len(a.JSON) == 0 {
		return values, nil
	}
	// Helm's parser decodes each number of --set-json as a float64.
	text, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("--set-json: %w", err)
	}
	decoded := map[string]any{}
	return decoded, json.Unmarshal(text, &decoded)
}

// parseJSON assigns values in a map: name=JSON, or one JSON object with all values, as Helm 4 accepts it.
func parseJSON(assignment string, values map[string]any) error {
	if !strings.HasPrefix(strings.TrimSpace(assignment), "{") {
		return strvals.ParseJSON(assignment, values)
	}
	object := map[string]any{}
	if err := json.Unmarshal([]byte(assignment), &object); err != nil {
		return err
	}
	maps.Copy(values, merge(values, object))
	return nil
}
