package externalstate

import "fmt"

// Cause is the reason why a recorded state cannot be used.
type Cause string

// The causes.
const (
	// Edited means that the value or the index has another digest than the recorded one.
	Edited Cause = "Edited"
	// Swapped means that the content belongs to another component, another external or another Secret.
	Swapped Cause = "Swapped"
	// Removed means that the index has the key, and the Secret has no value; or that the Secret is gone.
	Removed Cause = "Removed"
	// Older means that an older version of the Secret was restored since this process loaded or wrote it.
	Older Cause = "Older"
	// Unreadable means that the content cannot be decoded.
	Unreadable Cause = "Unreadable"
	// TooLarge means that the content exceeds a limit, and was not decoded.
	TooLarge Cause = "TooLarge"
	// Newer means that a newer version of the operator wrote the content. Write does not replace it.
	Newer Cause = "Newer"
)

var explanations = map[Cause]string{
	Edited:     "it was edited",
	Swapped:    "it was copied from another Secret or another external",
	Removed:    "it was removed",
	Older:      "an older version of the Secret was restored",
	Unreadable: "it is damaged",
	TooLarge:   "it exceeds a limit",
	Newer:      "a newer version of the operator wrote it; use that version again",
}

// Damage says why the recorded state of an external cannot be used.
type Damage struct {
	// Secret is the Secret with the state: namespace/name.
	Secret string
	Cause  Cause
	// Shown is the state that the Secret shows, nil if it shows none. Anybody who may write Secrets can have written it,
	// so it needs another proof.
	Shown *State
}

// String returns a sentence about the damage.
func (d Damage) String() string {
	return fmt.Sprintf("the state in Secret %s cannot be used: %s", d.Secret, explanations[d.Cause])
}
