package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// The values are untrusted input, because everybody who may write the ConfigMap can change them.
func FuzzValues(f *testing.F) {
	f.Add("a: 1\nb: {c: d}\n", "b: {c: null, e: [f]}\n")
	f.Add("# nothing\n", "---\na: yes\n")
	f.Add("a: &a {b: c}\nd: {<<: *a}\n", "{\"a\": 1.5}")
	f.Add("a: &a [*a]", "- 1")
	fuzzing.Run(f, func(t *testing.T, below, above string) {
		base, _, err := parseValues([]byte(below))
		if err != nil {
			return
		}
		over, _, err := parseValues([]byte(above))
		if err != nil {
			return
		}
		baseBefore, overBefore := runtime.DeepCopyJSON(base), runtime.DeepCopyJSON(over)
		merged := merge(base, over)
		if difference := cmp.Diff(baseBefore, base) + cmp.Diff(overBefore, over); difference != "" {
			t.Errorf("merge changes its inputs:\n%s", difference)
		}
		if difference := cmp.Diff(merged, merge(merged, over)); difference != "" {
			t.Errorf("a second merge of the same values changes the result:\n%s", difference)
		}
		for key := range base {
			if _, found := merged[key]; !found {
				t.Errorf("the result lacks the key %q", key)
			}
		}
		for key, value := range over {
			if _, isMap := value.(map[string]any); !isMap && !cmp.Equal(merged[key], value) {
				t.Errorf("the key %q does not have the value of over", key)
			}
		}
	})
}
