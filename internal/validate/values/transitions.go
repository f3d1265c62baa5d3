package values

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transition is a validation rule of a custom type that compares an object with its previous version.
type Transition struct {
	// Path is the path of the field that has the rule, such as spec.ports[].name. An index and the key of a map are [].
	Path string
	// Message is the text with which an API server refuses an object. It is empty if an expression returns the text.
	Message string
	// Creates is set if the rule also judges new objects, which have no previous version, and ReadsStatus if it may read
	// the status.
	Creates, ReadsStatus bool
}

// Transitions returns the rules of the type that compare an object with its previous version.
func (t *Type) Transitions() []Transition {
	if t == nil {
		return nil
	}
	return t.transitions
}

// state matches the name of the status in a rule. What such a rule says can change while earlier objects of a set are
// applied, so only the write of the object shows it.
var state = regexp.MustCompile(`\bstatus\b`)

// previous matches the name of the previous version in a rule. A text in the rule may also contain the name. Such a
// rule costs a dry run, and nothing else.
var previous = regexp.MustCompile(`\boldSelf\b`)

// transitionsIn returns the rules of a schema, and of the schemas in it, that compare an object with its previous
// version, in the order of their paths.
func transitionsIn(s *apiextensionsv1.JSONSchemaProps, path string) []Transition {
	var found []Transition
	for _, rule := range s.XValidations {
		if !previous.MatchString(rule.Rule) {
			continue
		}
		t := Transition{
			Path: path, Creates: rule.OptionalOldSelf != nil && *rule.OptionalOldSelf, ReadsStatus: state.MatchString(rule.Rule),
		}
		if rule.MessageExpression == "" {
			t.Message = cmp.Or(strings.TrimSpace(rule.Message), "failed rule: "+strings.TrimSpace(rule.Rule))
		}
		found = append(found, t)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		found = append(found, transitionsIn(&property, strings.TrimPrefix(path+"."+name, "."))...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		found = append(found, transitionsIn(s.Items.Schema, path+"[]")...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		found = append(found, transitionsIn(s.AdditionalProperties.Schema, path+"[]")...)
	}
	for i := range s.AllOf {
		found = append(found, transitionsIn(&s.AllOf[i], path)...)
	}
	return found
}

// index matches an index, or the key of a map, in the path of a field.
var index = regexp.MustCompile(`\[[^]]*\]`)

// Refuses reports whether a cause in the answer of an API server says that the rule refused an object. The path in the
// cause may be that of a field below the field with the rule.
func (t Transition) Refuses(cause metav1.StatusCause) bool {
	path := index.ReplaceAllString(cause.Field, "[]")
	at, below := strings.CutPrefix(path, t.Path)
	inside := t.Path == "" || below && (at == "" || at[0] == '.' || at[0] == '[')
	return t.Message != "" && inside && strings.Contains(cause.Message, t.Message)
}
