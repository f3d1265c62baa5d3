package plan

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
)

// Exports are the values that a live object exports to other objects of its component. The values may come from a
// Secret, so the texts of Exports show none.
type Exports struct {
	values   map[string]any
	failures map[string]ExportFailure
	// unread is set if only a read of the object can show the values.
	unread bool
}

// ExportFailure says why an export has no value.
type ExportFailure struct {
	// Message has no data of Secrets.
	Message string
	// Missing is set if the object has no such value yet. Otherwise the evaluation failed.
	Missing bool
}

// NewExports returns Exports with values, which must be JSON values, and with the failures of the other exports.
func NewExports(values map[string]any, failures map[string]ExportFailure) *Exports {
	return &Exports{values: values, failures: failures}
}

// UnreadExports returns the Exports of an object whose expressions a watch did not evaluate, because they would take
// too long there.
func UnreadExports() *Exports { return &Exports{unread: true} }

// areUnread reports whether only a read of an object of the type can show its exports. Exports may be nil: a watch
// shows the exports of all types that have a status.
func (e *Exports) areUnread(gk schema.GroupKind) bool {
	if e == nil {
		return !builtintypes.HasStatus(gk)
	}
	return e.unread
}

// Value returns the value of an export. If the export has no value, ok is false, and failure is the reason. Exports may
// be nil.
func (e *Exports) Value(name string) (value any, failure ExportFailure, ok bool) {
	if e == nil || e.unread {
		return nil, ExportFailure{Message: "its exports are not known yet", Missing: true}, false
	}
	if value, ok = e.values[name]; ok {
		return value, ExportFailure{}, true
	}
	if failure, found := e.failures[name]; found {
		return nil, failure, false
	}
	return nil, ExportFailure{
		Message: "the live object does not have the annotation of this export yet",
		Missing: true,
	}, false
}

// String returns a text without values.
func (e *Exports) String() string { return "exports" }

// GoString returns a text without values.
func (e *Exports) GoString() string { return e.String() }
