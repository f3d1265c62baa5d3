package externals

import (
	"bytes"
	"context"
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
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Prepare implements applier.Externals. It records the intents of all actions with one request for each Secret, and
// before that holds the credentials. Actions whose external changed since the plan was made are left out.
func (s *Session) Prepare(ctx context.Context, actions []plan.Action) (tokens map[manifests.Key]string, err error) {
	if !slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Key.IsExternal() }) {
		return nil, nil
	}
	o := s.owner
	o.recording.Lock()
	defer o.recording.Unlock()
	if err := o.load(ctx); err != nil {
		return nil, err
	}
	changes, secrets := s.prepare(actions)
	if err := s.holdCredentials(ctx, secrets); err != nil || len(changes) == 0 {
		return nil, err
	}
	tokens = map[manifests.Key]string{}
	for key, next := range changes {
		if next.Intent == externalstate.IntentCreate {
			tokens[key] = next.Token
		}
	}
	return tokens, s.recordIntents(ctx, changes)
}

// recordIntents writes the states before actions. It notes before the write which intents are ours, because the items
// are compared with the written states at once.
func (s *Session) recordIntents(ctx context.Context, changes map[manifests.Key]*externalstate.State) error {
	o := s.owner
	o.mu.Lock()
	for key, next := range changes {
		switch it := o.item(key); next.Intent {
		case externalstate.IntentCreate:
			it.ownIntent, it.recordedAt = intent{next.Token, next.Attempts, it.entry.Begun}, next.Began
		case externalstate.IntentDelete:
			it.recordedAt = next.Began
		case externalstate.IntentNone:
		}
	}
	o.mu.Unlock()
	err := o.write(ctx, changes)
	if err == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, next := range changes {
		// The intent may be recorded nevertheless. Only a new token shows that it is ours.
		if next.Attempts > 1 {
			o.item(key).ownIntent = intent{}
		}
	}
	return err
}

// prepare returns the states to record before actions, and the Secrets that their externals need and that have no
// finalizer yet.
func (s *Session) prepare(actions []plan.Action) (changes map[manifests.Key]*externalstate.State, secrets []string) {
	o := s.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	changes, s.prepared = map[manifests.Key]*externalstate.State{}, map[manifests.Key]bool{}
	for _, a := range actions {
		it := o.items[a.Key]
		if it == nil || !it.canAct() || it.isOutdated(a) {
			continue
		}
		s.prepared[a.Key] = true
		if next := it.stateBefore(a); next != nil {
			changes[a.Key] = next
			secrets = append(secrets, secretNames(next.References)...)
		}
	}
	secrets = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(secrets))), func(name string) bool {
		return slices.Contains(o.held, name)
	})
	return changes, secrets
}

// holdCredentials adds our finalizer to Secrets.
func (s *Session) holdCredentials(ctx context.Context, secrets []string) error {
	o := s.owner
	if len(secrets) == 0 {
		return nil
	}
	if err := o.manager.options.Credentials.Hold(ctx, o.owner, secrets); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = append(o.held, secrets...)
	o.released = slices.DeleteFunc(o.released, func(name string) bool { return slices.Contains(secrets, name) })
	return nil
}

// canAct reports whether an action can begin: a handler exists, no call is under way, and none failed just before.
func (it *item) canAct() bool {
	return it.driver != nil && it.account != nil && it.writing == nil && !it.saving && it.failure() == nil
}

// stateBefore returns the state to record before an action, or nil if nothing changes.
func (it *item) stateBefore(a plan.Action) *externalstate.State {
	now := it.owner.manager.now()
	switch {
	case a.Verb == plan.VerbCreate:
		return it.intended(a, now)
	case a.Object != nil && a.Reason.Adopts() && !it.isOwned():
		adopted := externalstate.State{Token: newToken(it.token()), ID: it.id()}
		adopted.Manifest, adopted.References = it.recorded(*a.Object)
		return &adopted
	case a.Object != nil && it.isOwned() && a.Verb != plan.VerbDelete && a.Verb != plan.VerbOrphan:
		return it.withReferences(*a.Object)
	case a.Verb == plan.VerbDelete && it.state != nil:
		return it.deleting(now)
	case a.Verb == plan.VerbOrphan && it.state != nil:
		next := *it.state
		next.Gone, next.Intent = true, externalstate.IntentNone
		return &next
	}
	return nil
}

// withReferences returns the state with the references of a manifest that is about to be applied, or nil if the state
// has all of them. Former references stay until no call needs them; see neededReferences.
func (it *item) withReferences(o manifests.Object) *externalstate.State {
	_, refs := it.recorded(o)
	refs = slices.DeleteFunc(refs, func(r metav1alpha1.Reference) bool { return slices.Contains(it.state.References, r) })
	if len(refs) == 0 {
		return nil
	}
	next := *it.state
	next.References = slices.Concat(it.state.References, refs)
	return &next
}

// intended returns the state with the intent of a create. The token stays the same until a create had an effect, or the
// spec changes: an external system may take a create with the same token and another spec for the former one. Each pass
// that creates the external writes the state, so that two operators cannot both do so.
func (it *item) intended(a plan.Action, now time.Time) *externalstate.State {
	manifest, refs := it.recorded(*a.Object)
	next := externalstate.State{Token: newToken(it.token()), Since: now}
	if s := it.state; s != nil && s.ID == "" && !s.Gone && it.damaged == "" && it.sameSpec(manifest) {
		next.Token, next.Attempts, next.Since = s.Token, s.Attempts, s.Since
	}
	next.Intent, next.Manifest, next.References = externalstate.IntentCreate, manifest, refs
	next.Attempts++
	next.Began, next.Window = now, it.width()
	return &next
}

// sameSpec reports whether a manifest has the spec of the recorded one.
func (it *item) sameSpec(manifest json.RawMessage) bool {
	var next map[string]any
	if it.state == nil || utiljson.Unmarshal(manifest, &next) != nil {
		return false
	}
	return bytes.Equal(spec(next), spec(it.applied()))
}

// recorded returns a manifest as it is recorded, and the references of its calls.
func (it *item) recorded(o manifests.Object) (json.RawMessage, []metav1alpha1.Reference) {
	whole, err := o.Whole()
	if err != nil {
		return nil, nil
	}
	text, err := json.Marshal(whole.Body.Object)
	if err != nil {
		return nil, nil
	}
	return text, it.referencesOf(whole.Body.Object)
}

// newToken returns a token that is newer than a former one: it begins with a number that counts the creations of the
// external, followed by random digits.
func newToken(former string) string {
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	return fmt.Sprintf("%08x%s", creation(former)+1, hex.EncodeToString(random))
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
