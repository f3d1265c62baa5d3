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

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ConfigFile is the name of the configuration file for templates. If a folder contains it, the files of the folder are
// templates.
const ConfigFile = ".fairlead-kustomize.yaml"

// configuration is the content of a ConfigFile.
type configuration struct {
	// Suffix is the suffix of the names of templates. If it is empty, all manifests are templates.
	Suffix     string     `yaml:"suffix"`
	Delimiters delimiters `yaml:"delimiters"`
	// MissingKeys is Fail or Empty.
	MissingKeys string `yaml:"missingKeys"`
	// IgnoreFile is the path of a file with patterns, like a .gitignore. Files that match a pattern are not templates.
	IgnoreFile string `yaml:"ignoreFile"`
	// Include are other folders of the source whose templates can be used in this folder.
	Include []string `yaml:"include"`
	// Values are the defaults of parameters.
	Values yaml.Node `yaml:"values"`

	// defaults is the decoded form of Values.
	defaults map[string]any
}

type delimiters struct {
	Left  string `yaml:"left"`
	Right string `yaml:"right"`
}

// parseConfiguration parses a ConfigFile. Each error names file and line.
func parseConfiguration(file string, text []byte, limitOfAliases int) (*configuration, error) {
	if err := bounded.YAML(text, bounded.Limits{AliasBytes: limitOfAliases}); err != nil {
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

// withoutComments removes comments. It is used to detect a file without content, for which the decoder would return an
// error.
func withoutComments(text []byte) string { return comment.ReplaceAllString(string(text), "") }

var (
	placeInMessage = regexp.MustCompile(`^line (\d+): `)
	unknownField   = regexp.MustCompile(`^field (\S+) not found in type .*$`)
)

// errorsIn converts an error of the parser to errors of a file.
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

// check returns an error for each field with an invalid value.
func (c *configuration) check(file string, root *yaml.Node) error {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(
			errs,
			&manifests.FileError{File: file, Line: lineOf(root, field), Err: fmt.Errorf(field+": "+format, args...)},
		)
	}
	if strings.Contains(c.Suffix, "/") {
		fail("suffix", "%q is a path: want the end of a name, such as .tmpl", c.Suffix)
	}
	if (c.Delimiters.Left == "") != (c.Delimiters.Right == "") {
		fail("delimiters", "only one of the delimiters left and right is set: set both or neither")
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
			fail("include", "%q is not a relative path of a folder", folder)
		case target == ".." || strings.HasPrefix(target, "../"):
			fail("include", "%q leaves the source", folder)
		}
	}
	return errors.Join(errs...)
}

// lineOf returns the line of a field, or 1 if it is not set.
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

// readDefaults decodes the default values with the same YAML rules as the values of a component.
func (c *configuration) readDefaults(file string) error {
	if c.Values.IsZero() {
		return nil
	}
	if c.Values.Kind != yaml.MappingNode && c.Values.Tag != "!!null" {
		return &manifests.FileError{
			File: file,
			Line: c.Values.Line,
			Err:  errors.New("values: want a map, such as replicas: 2"),
		}
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
