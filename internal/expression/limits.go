package expression

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// Limits of values.
const (
	// maxWeight bounds a value that an expression constructs: a byte of text weighs 1, and any other node 16.
	maxWeight  = 1 << 18
	nodeWeight = 16
	// maxDepth bounds the nesting of a value.
	maxDepth = 100
	// maxQuantityInput bounds each text of the input of an expression that parses quantities, in bytes. The time to parse
	// a quantity grows with the square of its length, and no limit interrupts a call.
	maxQuantityInput = 1 << 16
	// maxShown bounds a text in a message, in bytes.
	maxShown = 200
)

// costs are the costs of the functions of Kubernetes, by their estimator.
type costs struct{}

// CallCost implements interpreter.ActualCostEstimator. The cost of functions that do not belong to Kubernetes is nil,
// which selects the cost of cel-go.
func (costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if function == "served" {
		return nil
	}
	return (&library.CostEstimator{}).CallCost(function, overload, args, result)
}

// limited is a call or a literal whose value is checked.
type limited struct{ interpreter.InterpretableV2 }

// limitValue makes the evaluation fail as soon as a call, a list or a map contains a value that is too large. Each step
// can double a value at no cost, because lists share their elements.
func limitValue(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch inner := i.(type) {
	case interpreter.InterpretableAttribute, interpreter.InterpretableConst:
		return i, nil
	case interpreter.InterpretableCall:
		return limited{inner}, nil
	case interpreter.InterpretableConstructor:
		return limited{inner}, nil
	}
	return i, nil
}

// Eval implements interpreter.Interpretable.
func (l limited) Eval(activation interpreter.Activation) ref.Val {
	return checked(l.InterpretableV2.Eval(activation))
}

// Exec implements interpreter.InterpretableV2.
func (l limited) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return checked(l.InterpretableV2.Exec(frame))
}

func checked(value ref.Val) ref.Val {
	left := maxWeight
	if !weigh(value, &left, 0) {
		return types.NewErr("a value of the expression is too large, or nests more than %d deep", maxDepth)
	}
	return value
}

// weigh subtracts the weight of a value from left. It returns false, and stops, if left is exceeded.
func weigh(value ref.Val, left *int, depth int) bool {
	*left -= nodeWeight
	if *left < 0 || depth > maxDepth {
		return false
	}
	switch v := value.(type) {
	case types.String:
		*left -= len(v)
	case types.Bytes:
		*left -= len(v)
	case *types.Optional:
		return !v.HasValue() || weigh(v.GetValue(), left, depth+1)
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !weigh(it.Next(), left, depth+1) {
				return false
			}
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if !weigh(key, left, depth+1) || !weigh(v.Get(key), left, depth+1) {
				return false
			}
		}
	}
	return *left >= 0
}

// toJSON converts a value to a JSON value. The value must not exceed the limits.
func toJSON(value ref.Val) (any, error) {
	if types.IsUnknownOrError(checked(value)) {
		return nil, fmt.Errorf("the value of the expression is too large, or nests more than %d deep", maxDepth)
	}
	return convert(value)
}

func convert(value ref.Val) (any, error) {
	switch v := value.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return convert(v.GetValue())
	case traits.Lister:
		return convertList(v)
	case traits.Mapper:
		return convertMap(v)
	case types.Uint, types.Double:
		return convertNumber(v)
	case types.Null:
		return nil, nil
	case types.Bool, types.Int, types.String:
		return v.Value(), nil
	case types.Duration:
		return v.String(), nil
	case types.Timestamp:
		return v.Format(time.RFC3339Nano), nil
	}
	return nil, fmt.Errorf("the value is of type %s, which has no form in JSON", value.Type().TypeName())
}

func convertNumber(value ref.Val) (any, error) {
	switch v := value.Value().(type) {
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), nil
		}
	case float64:
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("the number %v has no form in JSON", value.Value())
}

func convertList(value traits.Lister) (any, error) {
	list := []any{}
	for it := value.Iterator(); it.HasNext() == types.True; {
		element, err := convert(it.Next())
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	return list, nil
}

func convertMap(value traits.Mapper) (any, error) {
	object := map[string]any{}
	for it := value.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("the key %v of a map is no text", key.Value())
		}
		element, err := convert(value.Get(key))
		if err != nil {
			return nil, err
		}
		object[string(name)] = element
	}
	return object, nil
}

// kindOf returns the type of a JSON value for messages.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// shorten returns a text in a single line of at most maxShown bytes.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}

func textFunction(name string, do func(string) string) cel.FunctionOpt {
	return cel.MemberOverload("string_"+name, []*cel.Type{cel.StringType}, cel.StringType,
		cel.UnaryBinding(func(text ref.Val) ref.Val { return types.String(do(textOf(text))) }))
}

// textOf returns the text of a value whose type is string by the declaration of the function.
func textOf(value ref.Val) string {
	text, _ := value.Value().(string)
	return text
}

func lowerASCII(text string) string { return strings.ToLower(text) }

func trim(text string) string { return strings.TrimSpace(text) }

// split implements text.split(separator).
func split(text, separator ref.Val) ref.Val {
	return types.DefaultTypeAdapter.NativeToValue(strings.Split(textOf(text), textOf(separator)))
}

// hasLongText reports whether a JSON value has a text of more than maxQuantityInput bytes, or nests too deep.
func hasLongText(value any, depth int) bool {
	if depth > maxDepth {
		return true
	}
	switch v := value.(type) {
	case string:
		return len(v) > maxQuantityInput
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasLongText(e, depth+1) })
	case map[string]any:
		for key, e := range v {
			if len(key) > maxQuantityInput || hasLongText(e, depth+1) {
				return true
			}
		}
	}
	return false
}
