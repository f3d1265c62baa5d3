package externals

import (
	"slices"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
)

// recorded is what the Secret with states and the inventory say about an external. The mark of an entry (Begun) is
// written after the intent of a create, and before the call. So the records say in which step a process ended:
//
//	value in the Secret   entry with the mark   meaning
//	none, or intent       no                    Create was not called
//	intent                yes                   Create may have been called: the result is uncertain
//	id                    yes                   it was created
//	none                  yes                   the Secret was edited, removed or restored: the result is uncertain
//	id                    no                    the entry was lost: the external is entered again if the inventory is
//	                                            rebuilt, and is reported and left alone otherwise
//	gone                  yes                   it was deleted or released, and the entry is dropped next
type recorded struct {
	// state is the recorded state; nil if there is none, or if it cannot be used. damaged says why it cannot.
	state   *externalstate.State
	damaged string
	// entry is the recorded entry of the inventory; zero if there is none.
	entry    metav1alpha1.InventoryEntry
	attempts attempts
	// reported is set after an Event said that the inventory lacks the external.
	reported bool
}

// attempts says which process stored an attempt to create or to delete the external, and until when the call of another
// process may take effect.
type attempts struct {
	// own is the intent of a create that this process stored. ownAt is the time at which it stored its last attempt to
	// create or to delete the external.
	own   intent
	ownAt time.Time
	// lost is the token of a create of another process whose recorded state is lost.
	lost string
	// foreignDelete is the time of the last attempt of another process to delete the external, and foreignUntil the time
	// until which its call may take effect.
	foreignDelete, foreignUntil time.Time
}

// intent identifies a recorded intent of a create. Each process that continues a create counts another attempt.
type intent struct {
	token    string
	attempts int
	// recorded is set if the entry of the inventory said before that a create has begun.
	recorded bool
}

const olderVersion = "an older version of its Secret was restored"

// last returns the recorded state, or a zero state if there is none.
func (r *recorded) last() externalstate.State {
	if r.state == nil {
		return externalstate.State{}
	}
	return *r.state
}

// isIntended reports whether the state has the intent of a create, and no id.
func (r *recorded) isIntended() bool {
	return r.last().Intent == externalstate.IntentCreate && r.state.ID == ""
}

// isOwned reports whether the state says that the external with its id belongs to the component.
func (r *recorded) isOwned() bool { return r.last().ID != "" && !r.state.Gone }

// isClaimed reports whether a person gave the id of the external, and no observation has confirmed it.
func (r *recorded) isClaimed() bool {
	return r.isOwned() && r.state.Intent == externalstate.IntentCreate
}

func (r *recorded) isDeleting() bool {
	return r.last().Intent == externalstate.IntentDelete && !r.state.Gone
}

// isGone reports whether the external was deleted or released, as its state says.
func (r *recorded) isGone() bool { return r.last().Gone }

// isLost reports whether the external was created, as its entry says, and its state was removed or is damaged.
func (r *recorded) isLost() bool { return r.state == nil && r.entry.Begun }

// token returns the token of the external, or that of the inventory if the state is lost.
func (r *recorded) token() string {
	if r.state != nil {
		return r.state.Token
	}
	return r.entryToken()
}

// entryToken returns the token of the last creation that the inventory records.
func (r *recorded) entryToken() string {
	if r.isCreationRecorded() {
		return r.entry.CreationToken
	}
	return string(r.entry.UID)
}

// isCreationRecorded reports whether the inventory has the start of a create, and not its effect.
func (r *recorded) isCreationRecorded() bool {
	return creation(r.entry.CreationToken) > creation(string(r.entry.UID))
}

// attempt identifies the recorded attempt to create the external.
func (r *recorded) attempt() intent {
	return intent{token: r.last().Token, attempts: r.last().Attempts}
}

// applied returns the manifest that was applied last, or nil.
func (r *recorded) applied() map[string]any {
	var manifest map[string]any
	if utiljson.Unmarshal(r.last().Manifest, &manifest) != nil {
		return nil
	}
	return manifest
}

// mayBeBegun reports whether the recorded create of an external with an entry may have been called by a process: the
// intent is not ours, or another process may have written the entry. In a pass, Create follows the records at once.
func (r *recorded) mayBeBegun() bool {
	return r.isIntended() && r.entry.Begun && r.attempts.own != intent{r.state.Token, r.state.Attempts, true}
}

// knowsLostCreation reports whether the create that the inventory records has ended, or when its call has ended,
// although its state is lost: this process made the call, or waits for the end of a call of another process.
func (r *recorded) knowsLostCreation() bool {
	return slices.Contains([]string{r.attempts.own.token, r.attempts.lost}, r.entry.CreationToken)
}

// isOwnDeletion reports whether this process stored the last attempt to delete the external.
func (r *recorded) isOwnDeletion() bool {
	return r.isDeleting() && !r.attempts.ownAt.IsZero() && r.attempts.ownAt.Equal(r.state.Began)
}

// creationOf is the creation that the answers about an external belong to, and the damage of its record.
type creationOf struct{ token, damaged string }

func (r *recorded) creation() creationOf { return creationOf{r.last().Token, r.damaged} }
