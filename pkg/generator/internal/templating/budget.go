package templating

import (
	"context"
	"fmt"
	"reflect"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// callCost is the cost, in bytes, of a function call or a loop iteration. elementCost is the cost of an element of a
// list or a map.
const (
	callCost    = 64
	elementCost = 4
)

// maxNesting is the maximum nesting of maps and lists in output. It detects maps and lists that contain themselves.
const maxNesting = 1000

// Budget counts the resources that a rendering uses, and returns an error when a limit is exceeded. It is not safe for
// concurrent use.
type Budget struct {
	ctx    context.Context
	limits generator.Limits
	spent  int
	depth  int
	// varies is set if another rendering of the same input may have another output; see Repeatable.
	varies bool
}

// NewBudget returns the budget of a rendering. It is exhausted when ctx is done.
func NewBudget(ctx context.Context, limits generator.Limits) *Budget {
	return &Budget{ctx: ctx, limits: limits.WithDefaults()}
}

// errNesting means that a value nests too deeply.
var errNesting = &limitError{
	fmt.Sprintf("maps and lists nest more than %d deep: one of them may contain itself", maxNesting),
}

// limitError means that a rendering exceeded a limit.
type limitError struct{ message string }

// Error returns the message.
func (e *limitError) Error() string { return e.message }

// spend charges bytes to the budget. It also returns an error if the context is done.
func (b *Budget) spend(bytes int) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if bytes < 0 || bytes > b.limits.OutputBytes-b.spent {
		b.spent = b.limits.OutputBytes
		return b.exceeded()
	}
	b.spent += bytes
	return nil
}

// exceeded returns the error of an exhausted budget.
func (b *Budget) exceeded() error {
	return &limitError{
		fmt.Sprintf(
			"the templates write more than %d bytes, where included templates and results of functions count too",
			b.limits.OutputBytes,
		),
	}
}

// isExhausted reports whether nothing is left, so that each further template would fail with the same error.
func (b *Budget) isExhausted() bool { return b.spent >= b.limits.OutputBytes }

// spendProduct charges times*bytes to the budget. It is safe against integer overflow.
func (b *Budget) spendProduct(times, bytes int) error {
	if times > 0 && bytes > b.limits.OutputBytes/times {
		return b.spend(b.limits.OutputBytes + 1)
	}
	return b.spend(max(times, 0) * bytes)
}

// spendWritten charges the size of the text form of values, before they are written. The text form can be much larger
// than the memory of the values: a template can put a map into itself, or put the same list twice into another list
// repeatedly.
func (b *Budget) spendWritten(values ...any) error {
	total := callCost
	for _, value := range values {
		switch value := value.(type) {
		case nil, bool, int, int64, float64:
			total += elementCost
		case string:
			total += len(value)
		default:
			size, err := b.writtenPlain(value, b.limits.OutputBytes-b.spent-total, 0)
			if err != nil {
				return err
			}
			total += size
		}
	}
	return b.spend(total)
}

// mergeCost is the cost, in bytes, of a value in a map or a list that is merged.
const mergeCost = 16

// spendMerged charges the merge of maps to the budget. The merged map shares its texts with these maps, and all values
// other than plain maps and lists, so only their number counts. What is written of the map later is charged then.
func (b *Budget) spendMerged(values ...map[string]any) error {
	total := callCost
	for _, value := range values {
		cost, err := merged(value, b.limits.OutputBytes-b.spent-total, 0)
		if err != nil {
			return err
		}
		total += cost
	}
	return b.spend(total)
}

// merged returns the cost of merging a value. If the cost exceeds limit, the result is a number above limit.
func merged(value any, limit, depth int) (int, error) {
	if depth > maxNesting {
		return 0, errNesting
	}
	total := mergeCost
	add := func(element any) (exceeded bool, err error) {
		cost, err := merged(element, limit-total, depth+1)
		total += cost
		return total > limit, err
	}
	switch value := value.(type) {
	case map[string]any:
		for _, element := range value {
			if exceeded, err := add(element); exceeded || err != nil {
				return total, err
			}
		}
	case []any:
		for _, element := range value {
			if exceeded, err := add(element); exceeded || err != nil {
				return total, err
			}
		}
	default:
		of, plain := reflect.ValueOf(value), reflect.TypeFor[map[string]any]()
		if of.Kind() == reflect.Map && of.Type().ConvertibleTo(plain) {
			return merged(of.Convert(plain).Interface(), limit, depth)
		}
		if of.Kind() == reflect.Map {
			total += of.Len() * mergeCost
		}
	}
	return total, nil
}

// writtenPlain is written for values that are most often plain data: it needs no reflection for them.
func (b *Budget) writtenPlain(value any, limit, depth int) (int, error) {
	if depth > maxNesting {
		return 0, errNesting
	}
	total := elementCost
	switch value := value.(type) {
	case nil, bool, int, int64, float64:
		return total, nil
	case string:
		return len(value) + total, nil
	case map[string]any:
		for key, element := range value {
			size, err := b.writtenPlain(element, limit-total, depth+1)
			if err != nil {
				return 0, err
			}
			if total += len(key) + elementCost + size; total > limit {
				break
			}
		}
		return total, nil
	case []any:
		for _, element := range value {
			size, err := b.writtenPlain(element, limit-total, depth+1)
			if err != nil {
				return 0, err
			}
			if total += elementCost + size; total > limit {
				break
			}
		}
		return total, nil
	default:
		return b.written(reflect.ValueOf(value), limit, depth)
	}
}

// written returns the size of the text form of a value. If the size exceeds limit, the result is a number above limit.
func (b *Budget) written(value reflect.Value, limit, depth int) (int, error) {
	if depth > maxNesting {
		return 0, errNesting
	}
	kind := value.Kind()
	if kind == reflect.Interface {
		if value.IsNil() || !value.CanInterface() {
			return b.written(value.Elem(), limit, depth)
		}
		return b.writtenPlain(value.Interface(), limit, depth)
	}
	if kind == reflect.String {
		return value.Len() + elementCost, nil
	}
	if kind == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
		return value.Len(), nil
	}
	if kind == reflect.Slice || kind == reflect.Array || kind == reflect.Map {
		return b.writtenElements(value.Seq2(), limit, depth)
	}
	b.varies = b.varies || mayHaveAddress(kind)
	return elementCost, nil
}

// writtenElements returns the size of the text form of all keys and elements. It stops when the size exceeds limit,
// because counting all elements could take too long.
func (b *Budget) writtenElements(
	elements func(yield func(key, element reflect.Value) bool), limit, depth int,
) (int, error) {
	total := elementCost
	for key, element := range elements {
		for _, part := range []reflect.Value{key, element} {
			size, err := b.written(part, limit-total, depth+1)
			if err != nil {
				return 0, err
			}
			total += size
		}
		if total > limit {
			return total, nil
		}
	}
	return total, nil
}

// counted charges the size of a function's result to the budget, and returns the result. Instrumented templates call it
// after each function.
func (b *Budget) counted(result reflect.Value) (reflect.Value, error) {
	value := result
	for value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	cost := callCost
	if kind := value.Kind(); kind == reflect.String {
		cost += value.Len()
	} else if kind == reflect.Slice || kind == reflect.Map {
		cost += value.Len() * elementCost
	}
	return result, b.spend(cost)
}

// printable charges the text form of a map or list to the budget, and returns the value. Instrumented templates call it
// before an action writes the value.
func (b *Budget) printable(value reflect.Value) (reflect.Value, error) {
	inner := value
	for inner.Kind() == reflect.Interface || inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	kind := inner.Kind()
	if kind == reflect.Map || kind == reflect.Slice || kind == reflect.Array {
		return value, b.spendWritten(inner.Interface())
	}
	b.varies = b.varies || mayHaveAddress(kind)
	return value, nil
}
