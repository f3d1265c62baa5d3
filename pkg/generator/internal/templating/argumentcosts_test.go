package templating

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

const (
	childVariable = "FAIRLEAD_TEST_HOSTILE_ARGUMENTS"
	childStack    = 32 << 20
	childMemory   = 1200 << 20
)

// Go cannot recover from a stack overflow, so the functions are called in another process.
func TestFunctionsSurviveHostileArguments(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		debug.SetMaxStack(childStack)
		callAll(t)
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil || usage.Maxrss<<10 > childMemory {
			t.Errorf("the calls took %d MiB, %v", usage.Maxrss>>10, err)
		}
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), childVariable+"=1", fmt.Sprintf("GOMEMLIMIT=%d", childMemory*3/4))
	output, err := child.CombinedOutput()
	text := string(output)
	if err != nil || !strings.Contains(text, "--- PASS") {
		t.Fatalf("%v\n%s", err, text[:min(len(text), 5000)])
	}
}

// hostile returns values that overflow the stack, or take all memory, if a function walks through them.
func hostile() map[string]any {
	cyclic := map[string]any{"a": "b"}
	cyclic["self"] = cyclic
	list := []any{"a", nil}
	list[1] = list
	doubled, deepList, deepMap := []any{"a"}, []any{}, map[string]any{}
	for range 60 {
		doubled = []any{doubled, doubled}
	}
	for i := range 1_000_000 {
		deepList = []any{deepList}
		if i%5 == 0 {
			deepMap = map[string]any{"a": deepMap}
		}
	}
	wide, keys := make([]any, 20_000), map[string]any{}
	for i := range wide {
		wide[i] = i
		keys[fmt.Sprintf("k%d", i%2000)] = i
	}
	return map[string]any{
		"cyclic": cyclic, "cyclicList": list, "cyclicValue": namedMap(cyclic), "doubled": doubled, "deepList": deepList,
		"deepMap": deepMap, "wide": wide, "keys": keys, "text": strings.Repeat("a: &a [*a, {", 2000),
	}
}

// namedMap is a map like the values of a chart.
type namedMap map[string]any

// callAll calls each function with each value as each argument.
func callAll(t *testing.T) {
	authored := template.FuncMap{"own": func(value any) string { return fmt.Sprintf("%#v", value) }}
	values := hostile()
	for _, options := range []Options{{Functions: authored}, {Chart: true}} {
		table := tableOf(options, nil)
		var files []rendering.File
		for _, name := range slices.Sorted(maps.Keys(table)) {
			files = append(files, callsOf(name, reflect.TypeOf(table[name]), values)...)
		}
		for name := range builtins {
			files = append(files, callsOf(name, reflect.TypeFor[func(any, ...any) any](), values)...)
		}
		t.Logf("%d calls of %d functions", len(files), len(table)+len(builtins))
		runAll(t, options, files, values)
	}
}

// callsOf returns templates that call a function with each value as each argument.
func callsOf(name string, of reflect.Type, values map[string]any) []rendering.File {
	const variadicArguments = 2
	count := of.NumIn()
	if of.IsVariadic() {
		count += variadicArguments - 1
	}
	var files []rendering.File
	for at := range count {
		for value := range values {
			for i, other := range []string{`(list 1 2)`, `.` + value} {
				if i == 1 && !of.IsVariadic() && count < 2 {
					continue
				}
				arguments := make([]string, count)
				for j := range arguments {
					arguments[j] = literal(of.In(min(j, of.NumIn()-1)), of.IsVariadic() && j >= of.NumIn()-1, other)
				}
				arguments[at] = "." + value
				text := fmt.Sprintf("{{ $x := %s %s }}{{ $x }}", name, strings.Join(arguments, " "))
				files = append(files, rendering.File{Name: fmt.Sprintf("%s-%d-%s-%d", name, at, value, i), Data: []byte(text)})
			}
		}
	}
	return files
}

// literal returns an argument of a type in a template.
func literal(of reflect.Type, variadic bool, other string) string {
	if variadic {
		of = of.Elem()
	}
	literals := map[reflect.Kind]string{
		reflect.String: `"a"`, reflect.Int: `1`, reflect.Int64: `1`, reflect.Float64: `1.5`,
		reflect.Map: `(dict "a" (dict "b" 1))`,
	}
	return cmp.Or(literals[of.Kind()], other)
}

func runAll(t *testing.T, options Options, files []rendering.File, values map[string]any) {
	set, err := Parse(files, options)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[bool]int{}
	for _, file := range files {
		began := time.Now()
		in := Input{
			Request: generator.Request{Target: generatortest.Lookup{}, Now: time.Unix(1, 0)},
			Budget:  NewBudget(t.Context(), generator.Limits{OutputBytes: 4 << 20}),
		}
		data := maps.Clone(values)
		for name, value := range data {
			if fields, ok := value.(map[string]any); ok && name != "cyclic" {
				data[name] = maps.Clone(fields)
			}
		}
		_, err := set.RenderItems(in, []Item{{Name: file.Name, Data: func() any { return data }}})
		outcomes[err == nil]++
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s takes %s", file.Data, took)
		}
	}
	t.Logf("%d calls succeeded, %d failed", outcomes[true], outcomes[false])
	if outcomes[true] == 0 || outcomes[false] == 0 {
		t.Error("the calls are not as expected")
	}
}

func TestEqIsThatOfTextTemplate(t *testing.T) {
	pointer := &struct{ a int }{}
	values := []any{
		nil, true, false, 0, 1, int64(1), uint(1), uint64(1) << 63, -1, 1.0, 1.5, float32(1), "", "1", "a", 'a', 1i,
		map[string]any(nil),
		map[string]any{},
		map[string]any{"a": 1},
		[]any(nil),
		[]any{1},
		[]string{"a"},
		[1]int{1},
		[1]int{2},
		struct{ A int }{1},
		struct{ A int }{2},
		struct{ A []int }{},
		pointer, (*struct{ a int })(nil), time.Second, func() {},
		namedMap{},
	}
	for _, text := range []string{
		"{{ eq .a .b }}", "{{ ne .a .b }}", "{{ eq .a .none }}", "{{ eq .none .b .a }}", "{{ eq .a }}",
		"{{ eq .list.none .b }}", "{{ eq .a nil }}",
	} {
		theirs := template.Must(template.New("").Parse(text))
		ours := template.Must(template.New("").Funcs(template.FuncMap{"eq": eq, "ne": ne}).Parse(text))
		for _, a := range values {
			for _, b := range values {
				var want, got strings.Builder
				data := map[string]any{"a": a, "b": b, "list": map[string]any{}}
				wantErr, gotErr := theirs.Execute(&want, data), ours.Execute(&got, data)
				if want.String() != got.String() || (wantErr == nil) != (gotErr == nil) {
					t.Errorf("%s with %T %v and %T %v: want %s, %v, got %s, %v", text, a, a, b, b, &want, wantErr, &got, gotErr)
				}
			}
		}
	}
}
