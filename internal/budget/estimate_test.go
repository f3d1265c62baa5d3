package budget_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/budget"
)

// heapOf returns the memory of what a function returns.
func heapOf(t *testing.T, build func() any) (data any, bytes int64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	data = build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return data, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// The estimates of decoded data are never much less than the memory that it takes, and not many times as much.
func TestEstimates(t *testing.T) {
	const elements = 10_000
	list := func(element func(i int) string) string {
		var text strings.Builder
		text.WriteString("[")
		for i := range elements {
			if i > 0 {
				text.WriteString(",")
			}
			text.WriteString(element(i))
		}
		return text.String() + "]"
	}
	manifest := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a-name","namespace":"shop","labels":` +
		`{"app.kubernetes.io/name":"shop","app.kubernetes.io/version":"1.2.3"}},"data":{"level":"one","list":"a,b,c"}}`
	for name, text := range map[string]string{
		"empty maps":        list(func(int) string { return "{}" }),
		"empty lists":       list(func(int) string { return "[]" }),
		"numbers":           list(func(i int) string { return fmt.Sprint(i) }),
		"texts":             list(func(i int) string { return fmt.Sprintf(`"text %d"`, i) }),
		"maps of one key":   list(func(i int) string { return fmt.Sprintf(`{"k%d":1}`, i) }),
		"maps of nine keys": list(func(int) string { return `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}` }),
		"nested lists":      list(func(int) string { return "[[[[]]]]" }),
		"a map with all keys": strings.NewReplacer("[", "{", "]",
			"}").Replace(list(func(i int) string { return fmt.Sprintf(`"k%d":1`, i) })),
		"manifests": list(func(int) string { return manifest }),
	} {
		data, taken := heapOf(t, func() any {
			var data any
			if err := json.Unmarshal([]byte(text), &data); err != nil {
				t.Fatal(err)
			}
			return data
		})
		nodes, err := bounded.JSON([]byte(text), bounded.Limits{Nodes: 10_000_000})
		if err != nil {
			t.Fatal(err)
		}
		for what, estimate := range map[string]int64{
			"value": budget.Value(data), "nodes": int64(nodes)*budget.NodeBytes + int64(len(text)),
		} {
			t.Logf("%s: %d bytes, estimate by %s: %.2f times as much", name, taken, what, float64(estimate)/float64(taken))
			if float64(estimate) < 0.8*float64(taken) {
				t.Errorf("%s: %d bytes, but the estimate by %s is %d", name, taken, what, estimate)
			}
		}
		if estimate := budget.Value(data); estimate > 4*taken {
			t.Errorf("%s: %d bytes, but the estimate is %d", name, taken, estimate)
		}
		runtime.KeepAlive(data)
	}
}

func TestATextIsReadWithinTheBudget(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), mebibyte/10)
	for _, limit := range []int64{0, 1, int64(len(text)) - 1, int64(len(text)), int64(len(text)) + 1, 100 * mebibyte} {
		got, err := budget.ReadAll(t.Context(), bytes.NewReader(text), limit)
		if err != nil || !bytes.Equal(got, text[:min(int64(len(text)), limit+1)]) {
			t.Errorf("limit %d: got %d bytes, %v", limit, len(got), err)
		}
	}
	l := newLine(t)
	ctx, lease := l.begin("a/x")
	defer lease.End()
	endless := io.LimitReader(zeros{}, 1<<40)
	if _, err := budget.ReadAll(ctx, endless, 1<<39); !budget.Refused(err) {
		t.Errorf("got %v", err)
	}
	if used := l.Usage().Reserved; used > 100*mebibyte {
		t.Errorf("%d bytes are reserved", used)
	}
	broken := errors.New("broken")
	if _, err := budget.ReadAll(t.Context(), io.MultiReader(bytes.NewReader(text), failing{broken}),
		1<<30); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
