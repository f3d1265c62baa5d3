package cel

import (
	"context"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Limits of an evaluation. The cost limit is that of the API server for one expression.
const (
	maxCost        = 10_000_000
	checkFrequency = 100
)

// Filter removes the objects for which an expression is false. It is a generator.Transformer.
type Filter struct {
	expression string
	program    cel.Program
}

var (
	_ generator.Transformer = (*Filter)(nil)
	_ generator.Versioner   = (*Filter)(nil)
)

// NewFilter returns a filter that keeps the objects for which the expression is true. The variables of the expression
// are object (the manifest), parameters (the parameters of the component), and component (a map with the keys namespace
// and name, under which the component is deployed). The expression may use optional types and the extensions for
// strings, lists and sets. NewFilter returns an error for an invalid expression.
func NewFilter(expression string) (*Filter, error) {
	environment, err := cel.NewEnv(
		cel.Variable("object", cel.DynType), cel.Variable("parameters", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("component", cel.MapType(cel.StringType, cel.StringType)),
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Lists(), ext.Sets(),
	)
	if err != nil {
		return nil, err
	}
	checked, issues := environment.Compile(expression)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	// Fields of a manifest have their types only at evaluation.
	if kind := checked.OutputType(); !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf(
			"filter: the expression is of type %s; want a boolean expression, such as object.kind != \"Ingress\"",
			kind,
		)
	}
	program, err := environment.Program(checked, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(checkFrequency))
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return &Filter{expression: expression, program: program}, nil
}

// Transform returns the objects for which the expression is true. An error names the object.
func (f *Filter) Transform(
	ctx context.Context,
	req generator.Request,
	objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	parameters := req.Parameters
	if parameters == nil {
		parameters = map[string]any{}
	}
	var kept []*unstructured.Unstructured
	for _, object := range objects {
		result, _, err := f.program.ContextEval(ctx, map[string]any{
			"object":     object.Object,
			"parameters": parameters,
			"component":  map[string]string{"namespace": req.Namespace, "name": req.Name},
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("filter: %s: %w", describe(object), err)
		}
		keep, ok := result.Value().(bool)
		if !ok {
			return nil, fmt.Errorf(
				"filter: %s: the value of the expression is of type %s; want true or false",
				describe(object),
				result.Type().TypeName(),
			)
		}
		if keep {
			kept = append(kept, object)
		}
	}
	return kept, nil
}

// Version returns the expression.
func (f *Filter) Version() string { return "cel filter " + f.expression }

func describe(object *unstructured.Unstructured) manifests.Key {
	return manifests.Key{
		Group:     object.GroupVersionKind().Group,
		Kind:      object.GetKind(),
		Namespace: object.GetNamespace(),
		Name:      object.GetName(),
	}
}
