package externals

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// stateBefore returns the state to store before an action, or nil if nothing changes.
func (a action) stateBefore(s *situation) *externalstate.State {
	r := &s.recorded
	switch {
	case a.Verb == plan.VerbCreate:
		return a.intended(s)
	case a.Object != nil && a.Reason.Adopts() && !r.isOwned():
		adopted := externalstate.State{Token: newToken(r.token()), ID: s.id()}
		adopted.Manifest, adopted.References = s.wanted.toRecord(a.Object)
		return &adopted
	case a.Object != nil && r.isOwned() && a.Verb != plan.VerbDelete && a.Verb != plan.VerbOrphan:
		return a.withReferences(s)
	case a.Verb == plan.VerbDelete && r.state != nil:
		return deleting(*r.state, s.wanted.width(), s.now)
	case a.Verb == plan.VerbOrphan && r.state != nil:
		next := *r.state
		next.Gone, next.Intent = true, externalstate.IntentNone
		return &next
	}
	return nil
}

// withReferences returns the state with the references of a manifest that is about to be applied, or nil if the state
// has all of them. Previous references stay until no call needs them; see neededReferences.
func (a action) withReferences(s *situation) *externalstate.State {
	next := *s.recorded.state
	refs := s.wanted.referencesOf(manifestOf(a.Object))
	refs = slices.DeleteFunc(refs, func(r metav1alpha1.Reference) bool { return slices.Contains(next.References, r) })
	if len(refs) == 0 {
		return nil
	}
	next.References = slices.Concat(next.References, refs)
	return &next
}

// intended returns the state with the intent of a create. The token stays the same until a create had an effect, or the
// spec changes: an external system may take a create with the same token and another spec for the previous one. Each
// pass that creates the external writes the state, so that two operators cannot both do so.
func (a action) intended(s *situation) *externalstate.State {
	manifest, refs := s.wanted.toRecord(a.Object)
	next := externalstate.State{Token: newToken(s.recorded.token()), Since: s.now}
	if last := s.recorded.state; last != nil && last.ID == "" && !last.Gone && s.recorded.hasSpecOf(manifest) {
		next.Token, next.Attempts, next.Since = last.Token, last.Attempts, last.Since
	}
	next.Intent, next.Manifest, next.References = externalstate.IntentCreate, manifest, refs
	next.Attempts++
	next.Began, next.Window = s.now, s.wanted.width()
	return &next
}

// hasSpecOf reports whether the recorded manifest has the spec of another one.
func (r *recorded) hasSpecOf(manifest json.RawMessage) bool {
	var other map[string]any
	return utiljson.Unmarshal(manifest, &other) == nil && bytes.Equal(spec(other), spec(r.applied()))
}

// deleting returns a state with the intent of a deletion, whose call has a window of the given width.
func deleting(next externalstate.State, width time.Duration, now time.Time) *externalstate.State {
	if next.Intent != externalstate.IntentDelete {
		next.Intent, next.Since = externalstate.IntentDelete, now
	}
	next.Began, next.Window = now, width
	return &next
}

// note notes, before a state is stored, that its intent is that of this process: the situation is compared with the
// stored state at once. begun is set if the inventory has the start of the create already.
func (a *attempts) note(next *externalstate.State, begun bool) {
	switch next.Intent {
	case externalstate.IntentCreate:
		a.own, a.ownAt = intent{next.Token, next.Attempts, begun}, next.Began
	case externalstate.IntentDelete:
		a.ownAt = next.Began
	case externalstate.IntentNone:
	}
}

// doubt notes that an error leaves it open whether a state was stored. If it was, only a new token shows that its
// intent is that of this process.
func (a *attempts) doubt(next *externalstate.State) {
	if next.Attempts > 1 {
		a.own = intent{}
	}
}

// newToken returns a token that is newer than a previous one: it begins with a number that counts the creations of the
// external, followed by random digits.
func newToken(previous string) string {
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	return fmt.Sprintf("%08x%s", creation(previous)+1, hex.EncodeToString(random))
}

// creation returns the number of the creation that a token belongs to, and zero for no token.
func creation(token string) int64 {
	if len(token) < countDigits {
		return 0
	}
	n, err := strconv.ParseInt(token[:countDigits], 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// countDigits is the number of hexadecimal digits of a token that count the creations.
const countDigits = 8
