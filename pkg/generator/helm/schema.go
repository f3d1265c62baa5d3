package helm

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/fairlead-io/fairlead/internal/plural"
)

// schemaName is the name of a schema in errors. It is a URL, because the compiler prepends the working directory of the
// process to other names, and messages of conditions must not depend on the process.
const schemaName = "chart:///values.schema.json"

// compileSchemas compiles the schemas of a chart and its sub-charts. Helm's own validation would fetch references over
// HTTP and read local files.
func compileSchemas(c *chart.Chart, schemas map[string]*jsonschema.Schema) error {
	if c.Schema != nil {
		file := path.Join(c.ChartFullPath(), "values.schema.json")
		document, err := decodeSchema(c.Schema)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(noLoader{})
		compiler.UseRegexpEngine(new(patterns).compile)
		if err := compiler.AddResource(schemaName, document); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		compiled, err := compiler.Compile(schemaName)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		schemas[string(c.Schema)] = compiled
	}
	for _, sub := range c.Dependencies() {
		if err := compileSchemas(sub, schemas); err != nil {
			return err
		}
	}
	return nil
}

// noLoader refuses to load schemas from other places. The schemas of the JSON schema drafts are built into the library.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf(
		"the schema refers to %s: other files and URLs are not read; move the definition into the schema, or leave the "+
			"validation out with skipSchema (fairlead: --skip-schema)", url)
}

// validate validates the values of a chart and of its sub-charts. Each error contains the full path of the value.
// Errors do not quote strings from the values, because these may be secret.
func (p *parsedChart) validate(c *chart.Chart, values map[string]any, at string) []error {
	var errs []error
	if schema := p.schemas[string(c.Schema)]; schema != nil {
		if err := checkEvaluations(schema, values); err != nil {
			return []error{fmt.Errorf("%s: %w", at, err)}
		}
		errs = append(errs, violationsOf(schema, values, at)...)
	}
	for _, sub := range c.Dependencies() {
		if subValues, ok := values[sub.Name()].(map[string]any); ok {
			errs = append(errs, p.validate(sub, subValues, at+"."+sub.Name())...)
		}
	}
	return errs
}

// violationsOf validates values, and returns the violations in order, up to a maximum number.
func violationsOf(schema *jsonschema.Schema, values map[string]any, at string) []error {
	err := schema.Validate(values)
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []error{fmt.Errorf("%s: %w", at, err)}
	}
	found := violations(invalid, at)
	// The library iterates over maps in random order.
	slices.SortFunc(found, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if more := len(found) - maxViolations; more > 0 {
		found = append(found[:maxViolations], fmt.Errorf("%s: %s of the schema", at, plural.Of(more, "more violation")))
	}
	return found
}

// compilePattern compiles a regular expression of a schema.
func compilePattern(expression string) (jsonschema.Regexp, error) { return regexp.Compile(expression) }

func violations(invalid *jsonschema.ValidationError, at string) []error {
	if len(invalid.Causes) > 0 {
		var errs []error
		for _, cause := range invalid.Causes {
			errs = append(errs, violations(cause, at)...)
		}
		return errs
	}
	place := strings.Join(append([]string{at}, invalid.InstanceLocation...), ".")
	return []error{fmt.Errorf("%s: %s", place, describe(invalid.ErrorKind))}
}

// describe returns the requirement of a schema, without the value that the library would quote.
func describe(violation jsonschema.ErrorKind) string {
	switch violation := violation.(type) {
	case *kind.AdditionalProperties:
		slices.Sort(violation.Properties)
		return violation.LocalizedString(message.NewPrinter(language.English))
	case *kind.Pattern:
		return fmt.Sprintf("does not match the pattern %q", violation.Want)
	case *kind.Format:
		return fmt.Sprintf("is not a valid %s", violation.Want)
	default:
		return violation.LocalizedString(message.NewPrinter(language.English))
	}
}
