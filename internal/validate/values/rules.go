package values

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

const (
	// maxRules is the maximum number of rules of a type. The rules of a type with more of them are not compiled.
	maxRules = 500
	// ruleBytes is an estimate of the memory of a compiled rule, and ruleTextBytes of that for each byte of its text.
	ruleBytes, ruleTextBytes = 64 << 10, 512
)

// ruleSize is the number of validation rules in a schema, and the length of their texts.
type ruleSize struct{ rules, text int }

// RulesMemory is an estimate of the memory of the compiled rules. They are compiled when the first object is checked.
func (t *Type) RulesMemory() int64 {
	if t == nil || t.rules == nil {
		return 0
	}
	return int64(t.size.rules)*ruleBytes + int64(t.size.text)*ruleTextBytes
}

// WithoutRules returns the check without the validation rules, for an object that lacks fields. A rule may judge any
// field below its own one.
func (t *Type) WithoutRules() *Type {
	if t == nil || t.rules == nil {
		return t
	}
	return &Type{structural: t.structural, schema: t.schema, transitions: t.transitions}
}

// currentRules returns those rules that need neither a previous version of the object nor its status. A rule that needs
// a previous version is a Transition.
func currentRules(rules apiextensionsv1.ValidationRules, size *ruleSize) apiextensionsv1.ValidationRules {
	var current apiextensionsv1.ValidationRules
	for _, rule := range rules {
		if previous.MatchString(rule.Rule) || previous.MatchString(rule.MessageExpression) || state.MatchString(rule.Rule) {
			continue
		}
		size.rules++
		size.text += len(rule.Rule) + len(rule.MessageExpression)
		current = append(current, rule)
	}
	return current
}

// addRules adds the rules in the schema of the type, which are compiled at their first use.
func (t *Type) addRules(size ruleSize) {
	if size.rules == 0 || size.rules > maxRules {
		return
	}
	t.size = size
	t.rules = sync.OnceValue(func() *cel.Validator { return cel.NewValidator(t.structural, true, celconfig.PerCallLimit) })
}

// broken returns the faults of an object without other faults, because an API server evaluates no rule of another one.
// It has none if the evaluation costs more than an API server allows, whose versions count differently.
func (t *Type) broken(object map[string]any) []Fault {
	if t.rules == nil {
		return nil
	}
	// A number such as 1.0 is an integer in the request.
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	sent := map[string]any{}
	if err := utiljson.Unmarshal(text, &sent); err != nil {
		return nil
	}
	ctx := context.Background() //nolint:forbidigo // The cost limits the time.
	errs, rest := t.rules().Validate(ctx, nil, t.structural, t.decoded(sent), nil, celconfig.RuntimeCELCostBudget)
	if rest < 0 {
		return nil
	}
	var faults []Fault
	for _, err := range errs {
		if slices.ContainsFunc(notCompiled, func(prefix string) bool { return strings.HasPrefix(err.Detail, prefix) }) {
			continue
		}
		path := err.Field
		if path == "<nil>" {
			path = ""
		}
		faults = append(faults, Fault{Field: path, Message: err.Detail})
	}
	return faults
}

// notCompiled begin the details about a rule that this version of the library cannot compile, which say nothing about
// the object. The library has no type for them.
var notCompiled = []string{"rule compile error: ", "rule compiler initialization error: "}
