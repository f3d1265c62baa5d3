package cluster_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

func FuzzReference(f *testing.F) {
	for _, seed := range []string{"shop", "widgets.v1.demo.example.com/shop", "/", "a/b/c", "..", "%2f"} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		reference, err := cluster.ParseReference(text)
		if err != nil {
			return
		}
		again := reference.Name
		if reference.Type != "" {
			again = reference.Type + "/" + again
		}
		if again != text || reference.Name == "" {
			t.Errorf("%q is parsed as %+v", text, reference)
		}
	})
}
