package operator

import (
	"fmt"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// shortestSecret is the minimum length of a text that is redacted. The redaction of shorter texts would make messages
// unreadable, and would protect no secrets.
const shortestSecret = 4

// secretTexts returns the lines of text that come from Secrets, in values and in the items of a function, the longest
// first.
func secretTexts(component *v1alpha1.Component, references generator.References) []string {
	var texts []string
	for _, from := range component.Spec.ValuesFrom {
		if from.Kind != metav1alpha1.SecretReference {
			continue
		}
		values, _, err := valuesFrom(from, component.Namespace, references)
		if err != nil {
			continue // Values with an error were not rendered.
		}
		texts = appendTexts(texts, values)
	}
	texts = append(texts, itemTexts(component, references)...)
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	return texts
}

// itemTexts returns the contents of the Secrets that are sent to a function.
func itemTexts(component *v1alpha1.Component, references generator.References) []string {
	if component.Spec.Function == nil {
		return nil
	}
	var texts []string
	for _, item := range component.Spec.Function.Items {
		if item.Kind != metav1alpha1.SecretReference {
			continue
		}
		for _, content := range references[generator.Reference{
			Kind: item.Kind, Namespace: component.Namespace,
			Name: item.Name,
		}] {
			texts = appendTexts(texts, string(content))
		}
	}
	return texts
}

func appendTexts(texts []string, value any) []string {
	switch value := value.(type) {
	case string:
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= shortestSecret {
				texts = append(texts, line)
			}
		}
	case int64, float64:
		texts = appendTexts(texts, fmt.Sprint(value))
	case map[string]any:
		for _, v := range value {
			texts = appendTexts(texts, v)
		}
	case []any:
		for _, v := range value {
			texts = appendTexts(texts, v)
		}
	}
	return texts
}

// redact removes texts from the message of an error. This is necessary because errors of templates contain values, and
// the messages are written to conditions and logs.
func redact(err error, texts []string) error {
	message := withoutTexts(err.Error(), texts)
	if message == err.Error() {
		return err
	}
	return &redactedError{message: message, err: err}
}

func withoutTexts(message string, texts []string) string {
	for _, text := range texts {
		message = strings.ReplaceAll(message, text, "(redacted)")
	}
	return message
}

// redactedError preserves the types of the wrapped error.
type redactedError struct {
	message string
	err     error
}

func (e *redactedError) Error() string { return e.message }
func (e *redactedError) Unwrap() error { return e.err }
