package fieldset_test

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// Managed fields of an object come from any client. A copy of the fields must have the same elements.
func FuzzFields(f *testing.F) {
	f.Add([]byte(`{"f:a":{"k:{\"b\":1}":{".":{}},"v:\"c\"":{}}}`), []byte(`{"b":1}`), `k:{"b":1}`)
	f.Add([]byte(`{"f:a":1,"k:":[]}`), []byte(`"c"`), `v:"c"`)
	f.Add([]byte(`[]`), []byte(`[{}]`), "k:{")
	fuzzing.Run(f, func(t *testing.T, fields, item []byte, element string) {
		entry := &metav1.FieldsV1{}
		if entry.UnmarshalJSON(fields) != nil {
			return
		}
		decoded, copied := fieldset.Decode(entry), map[string]any{}
		fieldset.Unite(copied, decoded)
		if got, want := len(fieldset.Elements(copied)), len(fieldset.Elements(decoded)); got != want {
			t.Errorf("the copy has %d elements, want %d", got, want)
		}
		var value any
		if json.Unmarshal(item, &value) == nil && element == fieldset.ValueElement(value) && !fieldset.Matches(value,
			element) {
			if _, isMap := value.(map[string]any); !isMap {
				t.Errorf("%s does not match its own element", item)
			}
		}
	})
}
