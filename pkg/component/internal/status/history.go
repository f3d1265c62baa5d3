package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// maxHistory is the maximum number of entries in the history of a status. MaxSource is the maximum length of the name
// of a source in an entry, in bytes. maxAdopted is the maximum number of adopted objects that an entry names, and
// maxAdoptedText the maximum length of the text about one of them.
const (
	maxHistory     = 10
	MaxSource      = 256
	maxAdopted     = 10
	maxAdoptedText = 512
)

// BeginRevision adds an entry for a new revision to the history, and ends the entry of the previous revision. If the
// latest entry is an attempt with the same inputs that has not ended, the new entry replaces it.
func BeginRevision(
	history []metav1alpha1.RevisionRecord,
	next metav1alpha1.RevisionRecord,
) []metav1alpha1.RevisionRecord {
	history = slices.Clone(history)
	if isOpenAttempt(history, next.Digest) {
		history = history[1:]
	}
	if at := latestRevision(history); at >= 0 && !hasEnded(history[at]) {
		last := &history[at]
		last.Ended = new(next.Started)
		if last.Outcome != metav1alpha1.RevisionFailed {
			last.Outcome = metav1alpha1.RevisionSuperseded
		}
	}
	return bound(slices.Insert(history, 0, next))
}

// AddAttempt adds an attempt to the history: an entry for inputs that could not be rendered. Consecutive passes with
// the same inputs share a single entry.
func AddAttempt(
	history []metav1alpha1.RevisionRecord,
	attempt metav1alpha1.RevisionRecord,
) []metav1alpha1.RevisionRecord {
	if !isOpenAttempt(history, attempt.Digest) {
		return bound(slices.Insert(slices.Clone(history), 0, attempt))
	}
	if history[0].Reason != attempt.Reason {
		history = slices.Clone(history)
		history[0].Reason = attempt.Reason
	}
	return history
}

// EndAttempt ends the latest entry of a history if it is an attempt. EndAttempt is called when a user has restored the
// inputs of the current revision, so that the failed inputs are not used any more.
func EndAttempt(history []metav1alpha1.RevisionRecord, now time.Time) []metav1alpha1.RevisionRecord {
	if len(history) == 0 || !isAttempt(history[0]) || hasEnded(history[0]) {
		return history
	}
	history = slices.Clone(history)
	history[0].Ended = new(metav1.NewTime(now))
	return history
}

// isOpenAttempt reports whether the history begins with an attempt of the given inputs that has not ended.
func isOpenAttempt(history []metav1alpha1.RevisionRecord, digest string) bool {
	return len(history) > 0 && isAttempt(history[0]) && !hasEnded(history[0]) && history[0].Digest == digest
}

// bound shortens a history to maxHistory entries. bound removes attempts first, except for the latest entry, and then
// the oldest revisions.
func bound(history []metav1alpha1.RevisionRecord) []metav1alpha1.RevisionRecord {
	for len(history) > maxHistory {
		at := len(history) - 1
		for i := at; i > 0; i-- {
			if isAttempt(history[i]) {
				at = i
				break
			}
		}
		history = slices.Delete(history, at, at+1)
	}
	return history
}

// enterResult enters a result into the entry of the latest revision. If this revision has ended, its entry is not
// changed, because the history does not contain the later health of dependents.
func enterResult(history []metav1alpha1.RevisionRecord, v PassResult, now time.Time) []metav1alpha1.RevisionRecord {
	at := latestRevision(history)
	if at < 0 || hasEnded(history[at]) {
		return history
	}
	history = slices.Clone(history)
	last := &history[at]
	switch v.State {
	case metav1alpha1.StateReady:
		last.Outcome, last.Reason, last.Ended = metav1alpha1.RevisionReady, "", new(metav1.NewTime(now))
	case metav1alpha1.StateStalled:
		last.Outcome, last.Reason = metav1alpha1.RevisionFailed, v.Reason
	case metav1alpha1.StateProgressing:
		last.Outcome, last.Reason = metav1alpha1.RevisionProgressing, ""
	case metav1alpha1.StateSuspended, metav1alpha1.StateDeleting, metav1alpha1.StateDeletionBlocked:
	}
	return history
}

// enterAdoptions enters the objects that a pass adopted into the entry of the latest revision, also after this revision
// has ended: an object that replaced a dependent is adopted again.
func enterAdoptions(history []metav1alpha1.RevisionRecord, changes []result.Change) []metav1alpha1.RevisionRecord {
	at, copied := latestRevision(history), false
	for _, c := range changes {
		if !Adopts(c) || at < 0 {
			continue
		}
		if !copied {
			history, copied = slices.Clone(history), true
			history[at].Adopted = slices.Clone(history[at].Adopted)
		}
		latest := &history[at]
		latest.AdoptedCount++
		text := passerror.Truncate(fmt.Sprintf("%s from %s", c.Key, c.From), maxAdoptedText)
		if len(latest.Adopted) < maxAdopted && !slices.Contains(latest.Adopted, text) {
			latest.Adopted = append(latest.Adopted, text)
		}
	}
	return history
}

// Adopts reports whether a change is an adoption.
func Adopts(c result.Change) bool { return c.From != "" }

// hasEnded reports whether the revision or attempt of an entry has ended, so that the entry does not change any more.
func hasEnded(r metav1alpha1.RevisionRecord) bool { return r.Ended != nil }

// isAttempt reports whether an entry is an attempt: its inputs could not be rendered, so it has no revision number.
func isAttempt(r metav1alpha1.RevisionRecord) bool { return r.Revision == 0 }

// latestRevision returns the index of the entry of the latest revision, and -1 if all entries are attempts.
func latestRevision(history []metav1alpha1.RevisionRecord) int {
	return slices.IndexFunc(history, func(r metav1alpha1.RevisionRecord) bool { return !isAttempt(r) })
}
