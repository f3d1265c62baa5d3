package changes

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/fieldset"
)

// Manager is a field manager of a field.
type Manager struct {
	Name string `json:"name"`
	// Operation is Apply or Update. Subresource is the subresource of the write, if any.
	Operation   string    `json:"operation"`
	Subresource string    `json:"subresource,omitempty"`
	Time        time.Time `json:"time,omitzero"`
}

// Managers returns the managers of a field and of the fields below it, the latest write first. If a field has no
// managers, its value is a default of the API server.
func Managers(live *unstructured.Unstructured, path Path) []Manager {
	var found []Manager
	for _, e := range live.GetManagedFields() {
		if fields := fieldset.Decode(e.FieldsV1); fields == nil || !manages(fields, live.Object, path) {
			continue
		}
		m := Manager{Name: e.Manager, Operation: string(e.Operation), Subresource: e.Subresource}
		if e.Time != nil {
			m.Time = e.Time.UTC()
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b Manager) int {
		return cmp.Or(b.Time.Compare(a.Time),
			cmp.Compare(a.Name, b.Name))
	})
	return found
}

// manages reports whether a manager of fields, in the form of FieldsV1, manages the path. This is also true if it
// manages a parent of the path as a whole.
func manages(fields map[string]any, value any, path Path) bool {
	for i, step := range path {
		if i > 0 && len(without(fields, ".")) == 0 {
			return true
		}
		node, ok := nodeBelow(fields, value, step)
		if !ok {
			return false
		}
		fields = node
		if value, ok = below(value, step); !ok {
			return false
		}
	}
	return true
}

func nodeBelow(fields map[string]any, value any, step string) (map[string]any, bool) {
	items, isList := value.([]any)
	if !isList {
		node, ok := fields["f:"+step].(map[string]any)
		return node, ok
	}
	i := itemAt(items, step)
	if i < 0 {
		return nil, false
	}
	return nodeOf(items[i], fields)
}
