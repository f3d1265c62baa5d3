package templating

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// The functions of sprig convert, compare and print their arguments without limits: a map that contains itself
// overflows the stack, and a list that contains the same list twice, 40 levels deep, takes all memory. Therefore each
// function of the table whose parameters can hold maps or lists is charged for its arguments, unless it is known to
// read no more than the first level of its arguments, or charges its arguments itself.

// shallow are the functions that read at most the first level of their arguments.
var shallow = setOf(
	"default", "empty", "coalesce", "all", "any", "ternary", "compact", "mustCompact", "required",
	"typeOf", "typeIs", "typeIsLike", "kindOf", "kindIs", "list", "tuple", "get", "hasKey", "unset", "pluck", "keys",
	"values", "pick", "omit", "dig", "append", "push", "mustAppend", "mustPush", "prepend", "mustPrepend",
	"first", "mustFirst", "rest", "mustRest", "last", "mustLast", "initial", "mustInitial", "reverse", "mustReverse",
	"date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone", "ago", "duration", "durationRound",
	countedFunction, printableFunction,
)

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// argumentCosts charges functions for their arguments before it calls them.
type argumentCosts struct{ in *Input }

// chargeAll lets the functions of a table charge their arguments. The functions in paying charge their arguments
// themselves. Functions of the author of an operator are only checked: their arguments are not charged.
func (c argumentCosts) chargeAll(functions, paying, authored template.FuncMap) {
	for name, function := range functions {
		_, pays := paying[name]
		_, fromAuthor := authored[name]
		switch {
		case fromAuthor:
			functions[name] = c.checkAuthored(function)
		case pays || shallow[name]:
		default:
			functions[name] = c.charge(name, function)
		}
	}
}

// charge returns a function that charges the arguments of a function before it calls it.
func (c argumentCosts) charge(name string, function any) any {
	switch f := function.(type) {
	case func(any) int:
		return func(value any) (int, error) {
			if err := c.in.Budget.spendArguments(value); err != nil {
				return 0, err
			}
			return f(value), nil
		}
	case func(any) int64:
		return func(value any) (int64, error) {
			if err := c.in.Budget.spendArguments(value); err != nil {
				return 0, err
			}
			return f(value), nil
		}
	case func(any, any) int64:
		return func(a, b any) (int64, error) {
			if err := c.in.Budget.spendArguments(a, b); err != nil {
				return 0, err
			}
			return f(a, b), nil
		}
	case func(...any) int64:
		return func(values ...any) (int64, error) {
			if err := c.in.Budget.spendArguments(values...); err != nil {
				return 0, err
			}
			return f(values...), nil
		}
	case func(any, any) bool:
		return func(a, b any) (bool, error) {
			if err := c.in.Budget.spendArguments(a, b); err != nil {
				return false, err
			}
			return f(a, b), nil
		}
	default:
		return c.chargeOther(name, function)
	}
}

// chargeOther is charge for functions of any type. It knows which arguments of a function are read, and how often.
func (c argumentCosts) chargeOther(name string, function any) any {
	check := func(arguments []any) error { return c.in.Budget.spendArguments(arguments...) }
	switch name {
	case "dict":
		return c.dict
	case "slice", "mustSlice":
		check = func(arguments []any) error { return c.in.Budget.spendArguments(arguments[1:]...) }
	case "without", "mustWithout", "uniq", "mustUniq":
		check = c.spendComparisons
	case "chunk", "mustChunk":
		check = c.spendChunks
	}
	if strings.HasPrefix(name, "regex") || strings.HasPrefix(name, "mustRegex") {
		return checked(function, c.spendMatches)
	}
	if !canNest(reflect.TypeOf(function)) {
		return function
	}
	return checked(function, check)
}

// checkAuthored returns a function that checks the nesting of the arguments of a function before it calls it.
func (c argumentCosts) checkAuthored(function any) any {
	if !canNest(reflect.TypeOf(function)) {
		return function
	}
	return checked(function, func(arguments []any) error {
		for _, argument := range arguments {
			if err := c.in.Budget.fits(argument); err != nil {
				return err
			}
		}
		return nil
	})
}

var errorType = reflect.TypeFor[error]()

// checked returns a function that calls check with the arguments of a function, and then the function.
func checked(function any, check func(arguments []any) error) any {
	value, of := reflect.ValueOf(function), reflect.TypeOf(function)
	in := make([]reflect.Type, of.NumIn())
	for i := range in {
		in[i] = of.In(i)
	}
	result := of.Out(0)
	wrapped := reflect.FuncOf(in, []reflect.Type{result, errorType}, of.IsVariadic())
	return reflect.MakeFunc(wrapped, func(arguments []reflect.Value) []reflect.Value {
		if err := check(flattened(arguments, of.IsVariadic())); err != nil {
			return []reflect.Value{reflect.Zero(result), reflect.ValueOf(&err).Elem()}
		}
		call := value.Call
		if of.IsVariadic() {
			call = value.CallSlice
		}
		results := call(arguments)
		if len(results) == 1 {
			results = append(results, reflect.Zero(errorType))
		}
		return results
	}).Interface()
}

// flattened returns arguments as a list, in which the elements of the variadic argument follow the others.
func flattened(arguments []reflect.Value, variadic bool) []any {
	var all []any
	for i, argument := range arguments {
		if variadic && i == len(arguments)-1 {
			for j := range argument.Len() {
				all = append(all, argument.Index(j).Interface())
			}
			continue
		}
		all = append(all, argument.Interface())
	}
	return all
}

// canNest reports whether a parameter of a function can hold maps or lists of any type.
func canNest(function reflect.Type) bool {
	for parameter := range function.Ins() {
		if holdsAny(parameter) {
			return true
		}
	}
	return false
}

func holdsAny(of reflect.Type) bool {
	if of.Kind() == reflect.Interface {
		return true
	}
	containers := []reflect.Kind{reflect.Slice, reflect.Array, reflect.Map}
	return slices.Contains(containers, of.Kind()) && holdsAny(of.Elem())
}

// spendArguments charges the maps and lists among the arguments of a function. Scalar values are free.
func (b *Budget) spendArguments(values ...any) error {
	for _, value := range values {
		switch value.(type) {
		case nil, bool, string, int, int32, int64, float64, time.Time, time.Duration:
			continue
		}
		if err := b.spendWritten(value); err != nil {
			return err
		}
	}
	return nil
}

// fits returns an error if a value nests too deeply, or if its text form exceeds the rest of the budget.
func (b *Budget) fits(value any) error {
	size, err := b.writtenPlain(value, b.limits.OutputBytes-b.spent, 0)
	if err == nil && size > b.limits.OutputBytes-b.spent {
		err = b.exceeded()
	}
	return err
}

// comparisonsPerByte is the number of bytes that are compared for the price of one byte of output.
const comparisonsPerByte = 16

// spendComparisons charges the arguments of a function that compares each element of a list with others: with the
// other arguments, or with all other elements if there are none.
func (c argumentCosts) spendComparisons(arguments []any) error {
	before := c.in.Budget.spent
	if err := c.in.Budget.spendArguments(arguments...); err != nil {
		return err
	}
	others := len(arguments) - 1
	if list := reflect.ValueOf(arguments[0]); others == 0 && list.Kind() == reflect.Slice {
		others = list.Len()
	}
	return c.in.Budget.spendProduct(others, (c.in.Budget.spent-before)/comparisonsPerByte)
}

// spendChunks charges the lists that chunk makes of the elements of a list.
func (c argumentCosts) spendChunks(arguments []any) error {
	if list := reflect.ValueOf(arguments[1]); list.Kind() == reflect.Slice {
		return c.in.Budget.spendProduct(list.Len(), callCost)
	}
	return nil
}

// spendMatches checks the size of a regular expression, and charges the list of its matches in a text.
func (c argumentCosts) spendMatches(arguments []any) error {
	if len(arguments) < 2 {
		return nil
	}
	pattern, _ := arguments[0].(string)
	if _, err := bounded.Pattern(pattern); err != nil {
		return &limitError{err.Error()}
	}
	if len(arguments) < 3 {
		return nil
	}
	text, _ := arguments[1].(string)
	if most, isNumber := arguments[2].(int); isNumber {
		matches := len(text) + 1
		if most >= 0 {
			matches = min(matches, most)
		}
		return c.in.Budget.spendProduct(matches, elementCost)
	}
	return nil
}

// dict returns a new map of keys and values, in turn.
func (c argumentCosts) dict(values ...any) (map[string]any, error) {
	for i := 0; i < len(values); i += 2 {
		if err := c.in.Budget.spendArguments(values[i]); err != nil {
			return nil, err
		}
	}
	return sprigDict(values...), nil
}

var sprigDict, _ = sprigFunctions["dict"].(func(...any) map[string]any)

// eq is the function eq of text/template: it reports whether the first argument equals one of the others. The errors of
// text/template print the values, which can be endless and secret; these errors name only the types.
func eq(first reflect.Value, others ...reflect.Value) (bool, error) {
	if len(others) == 0 {
		return false, fmt.Errorf("missing argument for comparison")
	}
	first = inner(first)
	for _, other := range others {
		if equal, err := equals(first, inner(other)); equal || err != nil {
			return equal, err
		}
	}
	return false, nil
}

func ne(a, b reflect.Value) (bool, error) {
	equal, err := eq(a, b)
	return !equal, err
}

// inner returns the value in an interface.
func inner(value reflect.Value) reflect.Value {
	if value.Kind() == reflect.Interface {
		return value.Elem()
	}
	return value
}

func equals(a, b reflect.Value) (bool, error) {
	if !a.IsValid() || !b.IsValid() {
		return isNil(a) && isNil(b), nil
	}
	if equal, areNumbers := equalNumbers(a, b); areNumbers {
		return equal, nil
	}
	switch {
	case a.Kind() != b.Kind():
		return false, fmt.Errorf("incompatible types for comparison: %v and %v", a.Type(), b.Type())
	case a.Kind() == reflect.Bool:
		return a.Bool() == b.Bool(), nil
	case a.Kind() == reflect.String:
		return a.String() == b.String(), nil
	case isNil(a) || isNil(b):
		return isNil(a) && isNil(b), nil
	case !b.Type().Comparable():
		return false, fmt.Errorf("values of type %v cannot be compared", b.Type())
	default:
		return a.Interface() == b.Interface(), nil
	}
}

// equalNumbers compares numbers. The second result is false for values that are not numbers of the same kind.
func equalNumbers(a, b reflect.Value) (equal, areNumbers bool) {
	switch {
	case a.CanInt() && b.CanInt():
		return a.Int() == b.Int(), true
	case a.CanUint() && b.CanUint():
		return a.Uint() == b.Uint(), true
	case a.CanInt() && b.CanUint():
		return equalSigned(a.Int(), b.Uint()), true
	case a.CanUint() && b.CanInt():
		return equalSigned(b.Int(), a.Uint()), true
	case a.CanFloat() && b.CanFloat():
		return a.Float() == b.Float(), true
	case a.CanComplex() && b.CanComplex():
		return a.Complex() == b.Complex(), true
	default:
		return false, false
	}
}

func equalSigned(a int64, b uint64) bool { return a >= 0 && uint64(a) == b }

// isNil reports whether a value is missing, or is the nil of its type.
func isNil(value reflect.Value) bool {
	kinds := []reflect.Kind{reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice}
	return !value.IsValid() || slices.Contains(kinds, value.Kind()) && value.IsNil()
}
