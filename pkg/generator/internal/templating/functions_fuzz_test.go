package templating

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// expensive are the beginnings of names of functions that take seconds for keys and hashes. They read texts only.
var expensive = []string{"gen", "bcrypt", "htpasswd", "derivePassword"}

// callable is a function of the table, and the number of its arguments, -1 for any number.
type callable struct {
	name  string
	count int
}

// callables returns the functions of a table in the order of their names.
func callables(options Options) []callable {
	table := tableOf(options, nil)
	var all []callable
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if slices.ContainsFunc(expensive, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		c := callable{name: name, count: -1}
		if of := reflect.TypeOf(table[name]); !of.IsVariadic() {
			c.count = of.NumIn()
		}
		all = append(all, c)
	}
	for _, name := range slices.Sorted(maps.Keys(builtins)) {
		all = append(all, callable{name: name, count: -1})
	}
	return all
}

// Each function of the table must end with a result or an error, for any arguments. The number selects the function,
// and the program makes the arguments.
func FuzzFunctions(f *testing.F) {
	tables := map[bool][]callable{false: callables(Options{}), true: callables(Options{Chart: true})}
	for i := 0; i < len(tables[false]); i += 20 {
		f.Add(uint16(i), false, []byte{8, 0, 1, 6}, "a")
		f.Add(uint16(i+7), true, []byte{0, 7, 251, 1}, "a: {b: [c]}")
		f.Add(uint16(i+14), false, []byte{0, 0, 1, 1}, "10.0.0.0/8")
	}
	sets := map[string]*Set{}
	fuzzing.Run(f, func(t *testing.T, number uint16, chart bool, program []byte, text string) {
		called := tables[chart][int(number)%len(tables[chart])]
		values := made(program, text)
		if called.count >= 0 {
			values = values[:min(len(values), called.count)]
		}
		data, call := map[string]any{}, called.name
		for i, value := range values {
			data[fmt.Sprintf("v%d", i)] = value
			call += fmt.Sprintf(" .Values.v%d", i)
		}
		key := fmt.Sprint(chart, call)
		if sets[key] == nil {
			file := rendering.File{Name: "a", Data: fmt.Appendf(nil, "{{ $x := %s }}{{ $x }}", call)}
			set, err := Parse([]rendering.File{file}, Options{Chart: chart})
			if err != nil {
				return
			}
			sets[key] = set
		}
		in := Input{
			Request: generator.Request{Target: generatortest.Lookup{}, Now: time.Unix(1, 0)}, Values: data,
			Budget: NewBudget(t.Context(), generator.Limits{OutputBytes: 1 << 20}),
		}
		var err error
		if chart {
			top := map[string]any{"Values": data}
			_, err = sets[key].RenderItems(in, []Item{{Name: "a", Data: func() any { return top }}})
		} else {
			_, err = sets[key].Render(in, []string{"a"})
		}
		if err != nil && err.Error() == "" {
			t.Errorf("%s returned an error without a text", call)
		}
	})
}

// made returns the values that a program makes: each byte adds a value, or combines the last values.
func made(program []byte, text string) []any {
	const (
		maxSteps  = 32
		maxValues = 5
	)
	var values []any
	last := func() any {
		if len(values) == 0 {
			return text
		}
		value := values[len(values)-1]
		values = values[:len(values)-1]
		return value
	}
	for _, step := range program[:min(len(program), maxSteps)] {
		values = append(values, valueOf(step, text, last))
	}
	return values[max(0, len(values)-maxValues):]
}

// valueOf returns the value of a step of a program.
func valueOf(step byte, text string, last func() any) any {
	switch step % 16 {
	case 0:
		return text
	case 1:
		return int(step / 16)
	case 2:
		return int64(step) << 40
	case 3:
		return 1.5 * float64(step)
	case 4:
		return step > 127
	case 5:
		return nil
	case 6:
		return []any{last(), last()}
	case 7:
		return map[string]any{"a": last(), text: last()}
	case 8:
		cyclic := map[string]any{"a": last()}
		cyclic["self"] = cyclic
		return cyclic
	case 9:
		cyclic := []any{last(), nil}
		cyclic[1] = cyclic
		return cyclic
	case 10:
		return repeated(last(), int(step)/4, func(value any) any { return []any{value, value} })
	case 11:
		return repeated(last(), int(step)*400, func(value any) any { return []any{value} })
	case 12:
		return repeated(last(), int(step)*400, func(value any) any { return map[string]any{"a": value} })
	case 13:
		return namedMap{"a": last()}
	case 14:
		return []string{text, text}
	default:
		return strings.Repeat(text, int(step))
	}
}

func repeated(value any, times int, wrap func(any) any) any {
	for range times {
		value = wrap(value)
	}
	return value
}
