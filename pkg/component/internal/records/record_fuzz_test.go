package records

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// Whoever may write Secrets can replace a record.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`["a","b"]`), "digest/3/cluster/namespace/name", "inventory-0123456789012345678901234567890123456789-a-1")
	f.Add([]byte(`[{"object":{"a":[1,{}]},"phase":"pre-delete"}]`), "/0///", "phases-a-b-0")
	f.Add([]byte("\x1f\x8b"), "", "externals-0123456789012345678901234567890123456789-7")
	f.Add([]byte("\x1f\x8b"), "", "-")
	fuzzing.Run(f, func(t *testing.T, content []byte, origin, name string) {
		var zipped bytes.Buffer
		writer := gzip.NewWriter(&zipped)
		if _, err := writer.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{content, zipped.Bytes()} {
			for kind, into := range map[Kind]any{Inventory: new([]string), Phases: new([]map[string]any)} {
				if err := decode(t.Context(), kind, data, into); err != nil && !IsLost(err) {
					t.Errorf("the error of a damaged record is %v", err)
				}
			}
		}
		if parsed := parseOrigin(origin); parsed != nil && parsed.Revision <= 0 {
			t.Errorf("%q has the revision %d", origin, parsed.Revision)
		}
		if IsName(name) && (kindOf(name) == "" || IDOf(name) == "") {
			t.Errorf("%q is a name of kind %q with id %q", name, kindOf(name), IDOf(name))
		}
	})
}
