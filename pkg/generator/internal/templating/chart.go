package templating

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// chartGroup is the only group of a chart.
const chartGroup = "."

// Item is a template of a chart. Data returns its input when it is executed.
type Item struct {
	Name string
	Data func() any
}

// RenderItems executes templates of a chart, and returns their output in the same order. The returned error joins all
// errors.
func (s *Set) RenderItems(in Input, items []Item) ([]rendering.File, error) {
	session := s.session()
	session.Input = in
	defer func() {
		session.Input, session.group = Input{}, nil
		select {
		case s.idle <- session:
		default:
		}
	}()
	group, err := session.bound(s.groups[chartGroup])
	if err != nil {
		return nil, err
	}
	session.group = group
	files := make([]rendering.File, 0, len(items))
	var errs []error
	for _, item := range items {
		text, err := session.execute(group.Lookup(item.Name), item.Data())
		if ended := in.Budget.ctx.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			errs = append(errs, renderError(item.Name, err))
			if in.Budget.isExhausted() {
				break
			}
			continue
		}
		files = append(files, rendering.File{Name: item.Name, Data: []byte(strings.ReplaceAll(text, noValue, ""))})
	}
	return files, errors.Join(errs...)
}

// chartHas reports whether Helm has a function with this name: a function of sprig, except two, or one of Helm's own
// functions.
func chartHas(name string) bool {
	_, fromSprig := sprigFunctions[name]
	own := []string{
		"toToml", "fromToml", "toYaml", "toYamlPretty", "fromYaml", "fromYamlArray", "toJson", "fromJson", "fromJsonArray",
		"include", "tpl", "required", "lookup", "getHostByName", countedFunction, printableFunction, "print", "println",
		"printf", "html", "js", "urlquery", "eq", "ne",
	}
	return fromSprig && name != "env" && name != "expandenv" || slices.Contains(own, name)
}

// chartFunctions returns the functions that only Helm has, or that behave differently in Helm. For example, Helm's
// conversions return no errors, and charts rely on that.
func (s *session) chartFunctions() template.FuncMap {
	encodings, target := encodings{&s.Input}, targetOf(&s.Input)
	target.asHelm = true
	silent := func(encode func(any) (string, error)) any {
		return encodings.encoder(func(value any) (string, error) {
			text, err := encode(value)
			if err != nil {
				return "", nil
			}
			return text, nil
		})
	}
	return template.FuncMap{
		"toYaml":        silent(toYAML),
		"toYamlPretty":  silent(toPrettyYAML),
		"toJson":        silent(toJSON),
		"toToml":        encodings.encoder(toChartTOML),
		"fromYaml":      decoder[map[string]any](encodings, encodings.yamlWithin, unmarshalYAML, failedMap),
		"fromYamlArray": decoder[[]any](encodings, encodings.yamlWithin, unmarshalYAML, failedList),
		"fromJson":      decoder[map[string]any](encodings, jsonWithin, json.Unmarshal, failedMap),
		"fromJsonArray": decoder[[]any](encodings, jsonWithin, json.Unmarshal, failedList),
		"fromToml":      decoder[map[string]any](encodings, tomlWithin, toml.Unmarshal, failedMap),
		"tpl": func(text string, data any) (string, error) {
			written, err := s.tpl(text, data)
			return strings.ReplaceAll(written, noValue, ""), err
		},
		"lookup":        target.lookup,
		"getHostByName": func(string) string { return "" },
	}
}

func toPrettyYAML(value any) (string, error) {
	var text strings.Builder
	encoder := goyaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// toChartTOML encodes a value as TOML. Like Helm, it returns the text of an error instead of the document.
func toChartTOML(value any) (string, error) {
	var text strings.Builder
	if err := toml.NewEncoder(&text).Encode(value); err != nil {
		return err.Error(), nil
	}
	return text.String(), nil
}

func unmarshalYAML(text []byte, into any) error { return yaml.Unmarshal(text, into) }

// decoder returns a function that decodes a text. Like Helm, the function puts the text of an error into its result,
// with failed, instead of returning an error.
func decoder[T any](
	e encodings,
	within func([]byte) error,
	decode func([]byte, any) error,
	failed func(T, error) T,
) func(string) (T, error) {
	return func(text string) (T, error) {
		var value T
		if err := e.spendParsed(text, within); err != nil {
			return value, err
		}
		if err := decode([]byte(text), &value); err != nil {
			// If a text contains several errors, any of them may be returned.
			e.in.Budget.varies = true
			return failed(value, err), nil
		}
		return value, nil
	}
}

func failedMap(value map[string]any, err error) map[string]any {
	if value == nil {
		value = map[string]any{}
	}
	value["Error"] = err.Error()
	return value
}

func failedList(_ []any, err error) []any { return []any{err.Error()} }
