package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// UnservedState identifies a state of a definition that serves nothing: its UID, and a number that changes when it may
// have served something in between.
func UnservedState(uid types.UID, number int64) string {
	return fmt.Sprintf("%.8s.%d", uid, number)
}

// NeverServed reports whether a definition whose live state is known serves nothing and never did, by its live state and
// the recorded one. A CustomResourceDefinition whose spec never changed proves that by itself.
func NeverServed(recorded, live string, definition bool, uid types.UID) bool {
	return live != "" && (live == recorded || definition && live == UnservedState(uid, 1))
}

// unserved returns the state in which a definition that served nothing since we created it was seen last; empty if it
// is another object, or may have served something. What is not observed now is compared when it is.
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
