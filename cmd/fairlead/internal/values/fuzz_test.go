package values_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// Files of values and assignments come from anywhere.
func FuzzSources(f *testing.F) {
	f.Add("a: 1\nb: {c: [d]}\n", "b.c[0]=e,f={1,2}")
	f.Add("# nothing\n---\n", "a[3].b=null,a[3].c=true")
	f.Add("apiVersion: v1\nkind: ConfigMap\n", `a\.b="c,d"`)
	f.Add("a: &a [*a]", "a[65536][65536]=1")
	file := filepath.Join(f.TempDir(), "values.yaml")
	fuzzing.Run(f, func(t *testing.T, text, assignment string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		options := values.Options{
			Files: []string{file}, Assigned: values.Assignments{Plain: []string{assignment}},
			Warn: func(error) {},
		}
		loaded, err := options.Load()
		if (err == nil) != (loaded != nil) {
			t.Errorf("got %v, %v", loaded, err)
		}
	})
}
