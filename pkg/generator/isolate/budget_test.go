package isolate

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// The result of a child is decoded only if the memory for it is available. The child did nothing wrong.
func TestResultsAreReservedBeforeTheyAreDecoded(t *testing.T) {
	const mebibyte = 1 << 20
	large := make([]any, 400_000)
	for i := range large {
		large[i] = map[string]any{}
	}
	source := fstest.MapFS{"charts/web/Chart.yaml": {Data: []byte(strings.Repeat("a", 8*mebibyte))}}
	for _, c := range []struct {
		name     string
		act      string
		value    any
		source   fstest.MapFS
		bytes    int64
		tooLarge bool
	}{
		{name: "objects that others leave no memory for", act: "echo", value: large, bytes: 80 * mebibyte},
		{name: "objects that need more than all memory", act: "echo", value: large, bytes: 10 * mebibyte, tooLarge: true},
		{name: "a source that others leave no memory for", act: "inputs", source: source, bytes: 80 * mebibyte},
		{
			name: "a source that needs more than all memory", act: "inputs", source: source, bytes: 10 * mebibyte,
			tooLarge: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGenerator(t)
			b := budget.New(c.bytes, 1<<40)
			if !c.tooLarge {
				busy, lease := b.Begin(t.Context(), types.NamespacedName{Name: "others"}, func() {})
				defer lease.End()
				if err := budget.Reserve(busy, c.bytes-5*mebibyte); err != nil {
					t.Fatal(err)
				}
			}
			ctx, lease := b.Begin(t.Context(), types.NamespacedName{Name: "web"}, func() {})
			req := requestOf(c.act, c.value)
			if c.source != nil {
				req.Source = c.source
			}
			_, err := g.Generate(ctx, req)
			_, tooLarge := errors.AsType[*budget.TooLargeError](err)
			_, killed := errors.AsType[*generator.KilledError](err)
			if tooLarge != c.tooLarge || killed || !tooLarge && !errors.Is(err, budget.ErrWait) {
				t.Errorf("got %v", err)
			}
			lease.End()
			mustWork(t, g)
		})
	}
}
