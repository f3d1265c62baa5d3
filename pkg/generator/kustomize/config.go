package kustomize

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ConfigFile is the name of the file that says that the files of its folder are templates.
const ConfigFile = ".fairlead-kustomize.yaml"

// configuration is what a ConfigFile says.
type configuration struct {
	// Suffix is that of templates; where it is empty all manifests are templates.
	Suffix     string     `yaml:"suffix"`
	Delimiters delimiters `yaml:"delimiters"`
	// MissingKeys is Fail or Empty.
	MissingKeys string `yaml:"missingKeys"`
	// IgnoreFile names a file with patterns of files that are no templates.
	IgnoreFile string `yaml:"ignoreFile"`
	// Include are folders elsewhere in the source whose files are templates of this group, too.
	Include []string `yaml:"include"`
	// Values are those that a component need not have.
	Values yaml.Node `yaml:"values"`

	// defaults is what Values means.
	defaults map[string]any
}

type delimiters struct {
	Left  string `yaml:"left"`
	Right string `yaml:"right"`
}

// parseConfiguration reads a ConfigFile. Each error names file and line.
func parseConfiguration(file string, text []byte, limitOfAliases int) (*configuration, error) {
	if err := manifests.CheckAliases(text, limitOfAliases); err != nil {
		return nil, errorsIn(file, err.Error())
	}
	c := &configuration{}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil && len(strings.TrimSpace(withoutComments(text))) > 0 {
		if mistakes, ok := errors.AsType[*yaml.TypeError](err); ok {
			return nil, errorsIn(file, mistakes.Errors...)
		}
		return nil, errorsIn(file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, errorsIn(file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := c.check(file, &root); err != nil {
		return nil, err
	}
	return c, c.readDefaults(file)
}

var comment = regexp.MustCompile(`(?m)^\s*(#.*|---)$`)

// withoutComments tells a file without content, for which the decoder has an error.
func withoutComments(text []byte) string { return comment.ReplaceAllString(string(text), "") }

var (
	placeInMessage = regexp.MustCompile(`^line (\d+): `)
	unknownField   = regexp.MustCompile(`^field (\S+) not found in type .*$`)
)

// errorsIn returns what a parser says as errors of a file.
func errorsIn(file string, messages ...string) error {
	errs := make([]error, 0, len(messages))
	for _, message := range messages {
		mistake := &manifests.FileError{File: file, Line: 1}
		if found := placeInMessage.FindStringSubmatch(message); found != nil {
			if line, err := strconv.Atoi(found[1]); err == nil {
				mistake.Line, message = line, strings.TrimPrefix(message, found[0])
			}
		}
		const known = "suffix, delimiters (left, right), missingKeys, ignoreFile, include and values"
		mistake.Err = errors.New(unknownField.ReplaceAllString(message, "unknown field $1: there are "+known))
		errs = append(errs, mistake)
	}
	return errors.Join(errs...)
}

// check reports all fields with values that they cannot have.
func (c *configuration) check(file string, root *yaml.Node) error {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, &manifests.FileError{File: file, Line: lineOf(root, field), Err: fmt.Errorf(field+": "+format, args...)})
	}
	if strings.Contains(c.Suffix, "/") {
		fail("suffix", "%q is a path: want the end of a name, such as .tmpl", c.Suffix)
	}
	if (c.Delimiters.Left == "") != (c.Delimiters.Right == "") {
		fail("delimiters", "only one of left and right is set: set both")
	}
	switch c.MissingKeys {
	case "", "Fail", "Empty":
	default:
		fail("missingKeys", "%q is neither Fail nor Empty", c.MissingKeys)
	}
	for _, folder := range c.Include {
		target := path.Join(path.Dir(file), folder)
		switch {
		case folder == "" || path.IsAbs(folder):
			fail("include", "%q is no relative path of a folder", folder)
		case target == ".." || strings.HasPrefix(target, "../"):
			fail("include", "%q leaves the source", folder)
		}
	}
	return errors.Join(errs...)
}

// lineOf returns the line of a field; 1 where there is none.
func lineOf(root *yaml.Node, field string) int {
	if len(root.Content) == 0 {
		return 1
	}
	fields := root.Content[0].Content
	for i := 0; i < len(fields)-1; i += 2 {
		if fields[i].Value == field {
			return fields[i].Line
		}
	}
	return 1
}

// readDefaults reads the values as those of a component are read: as YAML that kubectl understands.
func (c *configuration) readDefaults(file string) error {
	if c.Values.IsZero() {
		return nil
	}
	if c.Values.Kind != yaml.MappingNode && c.Values.Tag != "!!null" {
		return &manifests.FileError{File: file, Line: c.Values.Line, Err: errors.New("values: want a map, such as replicas: 2")}
	}
	text, err := yaml.Marshal(&c.Values)
	if err == nil {
		text, err = sigsyaml.YAMLToJSONStrict(text)
	}
	if err == nil {
		err = utiljson.Unmarshal(text, &c.defaults)
	}
	if err != nil {
		return &manifests.FileError{File: file, Line: c.Values.Line, Err: fmt.Errorf("values: %w", err)}
	}
	return nil
}
