package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// UnservedState returns a text that identifies the state of a definition that serves no version of its type. The text
// has the UID of the definition and a number. The number changes if the definition may have served a version in the
// meantime.
func UnservedState(uid types.UID, number int64) string {
	return fmt.Sprintf("%.8s.%d", uid, number)
}

// NeverServed reports whether a definition serves no version now and never served a version. live is its current state,
// and recorded is the state in the inventory; both are results of UnservedState. A CustomResourceDefinition (definition
// is set) needs no record if its generation is 1, because its spec never changed.
func NeverServed(recorded, live string, definition bool, uid types.UID) bool {
	return live != "" && (live == recorded || definition && live == UnservedState(uid, 1))
}

// unserved returns the value of InventoryEntry.Unserved: the last observed state of a definition that has served no
// version since the reconciler created it. The value is empty for other objects, and for a definition that may have
// served a version. A definition that is not observed now keeps its recorded state.
func (c candidate) unserved() string {
	recorded, live := c.entry.Unserved, c.live.Unserved
	switch {
	case c.live.Presence != Present || live == recorded:
		return recorded
	case live == "":
		return ""
	case c.result.Verb == VerbCreate && c.result.Observed != nil && c.result.Observed.UID == c.live.UID:
		return live
	case !IsDefinition(c.object.Key):
		return ""
	}
	first := recorded == "" && live == UnservedState(c.live.UID, 1)
	ours := c.written() && recorded == UnservedState(c.live.UID, c.live.Generation-1)
	if first || ours {
		return live
	}
	return ""
}
