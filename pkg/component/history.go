package component

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// maxHistory is how many revisions the status tells of, and maxSource how long the name of a source may be there.
const (
	maxHistory = 10
	maxSource  = 256
)

// begun returns a history with one revision more, which ends the one before. An attempt of the same inputs that is not over has become that
// revision.
func begun(history []metav1alpha1.RevisionRecord, next metav1alpha1.RevisionRecord) []metav1alpha1.RevisionRecord {
	history = slices.Clone(history)
	if goesOn(history, next.Digest) {
		history = history[1:]
	}
	if at := newest(history); at >= 0 && !isOver(history[at]) {
		last := &history[at]
		last.Ended = new(next.Started)
		if last.Outcome != metav1alpha1.RevisionFailed {
			last.Outcome = metav1alpha1.RevisionSuperseded
		}
	}
	return trimmed(slices.Insert(history, 0, next))
}

// attempted returns a history with inputs that came to nothing, once for all passes that try them in a row.
func attempted(history []metav1alpha1.RevisionRecord, attempt metav1alpha1.RevisionRecord) []metav1alpha1.RevisionRecord {
	if !goesOn(history, attempt.Digest) {
		return trimmed(slices.Insert(slices.Clone(history), 0, attempt))
	}
	if history[0].Reason != attempt.Reason {
		history = slices.Clone(history)
		history[0].Reason = attempt.Reason
	}
	return history
}

// resumed returns a history in which an attempt is over, because the inputs of the revision before it are back. Who tries those of the attempt
// again, later, makes another one.
func resumed(history []metav1alpha1.RevisionRecord, now time.Time) []metav1alpha1.RevisionRecord {
	if len(history) == 0 || !isAttempt(history[0]) || isOver(history[0]) {
		return history
	}
	history = slices.Clone(history)
	history[0].Ended = new(metav1.NewTime(now))
	return history
}

// goesOn says that a history ends with an attempt of the given inputs that is not over.
func goesOn(history []metav1alpha1.RevisionRecord, digest string) bool {
	return len(history) > 0 && isAttempt(history[0]) && !isOver(history[0]) && history[0].Digest == digest
}

// trimmed makes room: attempts before the last one go first, however many there were, then the oldest revisions.
func trimmed(history []metav1alpha1.RevisionRecord) []metav1alpha1.RevisionRecord {
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

// judged returns a history in which the newest revision has come to a verdict. One that is over keeps the first: history does not tell how
// its dependents fared later.
func judged(history []metav1alpha1.RevisionRecord, v verdict, now time.Time) []metav1alpha1.RevisionRecord {
	at := newest(history)
	if at < 0 || isOver(history[at]) {
		return history
	}
	history = slices.Clone(history)
	last := &history[at]
	switch v.state {
	case metav1alpha1.StateReady:
		last.Outcome, last.Reason, last.Ended = metav1alpha1.RevisionReady, "", new(metav1.NewTime(now))
	case metav1alpha1.StateStalled:
		last.Outcome, last.Reason = metav1alpha1.RevisionFailed, v.reason
	case metav1alpha1.StateProgressing:
		last.Outcome, last.Reason = metav1alpha1.RevisionProgressing, ""
	case metav1alpha1.StateSuspended, metav1alpha1.StateDeleting, metav1alpha1.StateDeletionBlocked:
	}
	return history
}

// isOver says that nothing will be entered for a revision any more.
func isOver(r metav1alpha1.RevisionRecord) bool { return r.Ended != nil }

// isAttempt says of a record that its inputs made no revision, because they did not render.
func isAttempt(r metav1alpha1.RevisionRecord) bool { return r.Revision == 0 }

// newest returns where the newest revision is, -1 where there is none.
func newest(history []metav1alpha1.RevisionRecord) int {
	return slices.IndexFunc(history, func(r metav1alpha1.RevisionRecord) bool { return !isAttempt(r) })
}

// enterAttempt enters into the history that new inputs came to nothing, and why. What goes away by itself is tried again before anything is said.
func enterAttempt(component Component, in inputs, failure error, now time.Time) {
	p, status := condition.Of(failure), component.GetStatus()
	if !p.Terminal || in.standing(status) {
		return
	}
	record := newRecord(component, in, now)
	record.Revision, record.Outcome, record.Reason = 0, metav1alpha1.RevisionFailed, p.Reason
	status.History = attempted(status.History, record)
}

// newRecord returns the record of the revision that a component is about to apply.
func newRecord(component Component, in inputs, now time.Time) metav1alpha1.RevisionRecord {
	record := metav1alpha1.RevisionRecord{
		Revision: component.GetStatus().Revision, Generation: component.GetGeneration(), Digest: in.digest,
		Started: metav1.NewTime(now), Outcome: metav1alpha1.RevisionProgressing,
	}
	if in.source != nil {
		record.Source, record.SourceDigest = in.source.Location(), in.source.SHA256
	}
	if n, ok := component.(SourceNamer); ok {
		record.Source = n.SourceName()
	}
	for _, ref := range in.references {
		if record.Source == fmt.Sprintf("%s %s", ref.Kind, ref.Name) {
			record.SourceDigest = ref.content.digest
		}
	}
	record.Source = condition.Truncate(record.Source, maxSource)
	return record
}

// acknowledge enters into the status which request for a pass was answered, where somebody waits for the answer. A request that nobody waits
// for costs no write.
func acknowledge(component Component, name string) {
	annotations := component.GetAnnotations()
	request := annotations[name+"/"+AnnotationReconcileRequested]
	if request != "" && annotations[name+"/"+AnnotationReconcileAcknowledge] == request {
		component.GetStatus().LastHandledReconcileAt = condition.Truncate(request, maxSource)
	}
}

// suspension says that a component is suspended, and why if somebody noted that.
func suspension(component Component, name string) *condition.Error {
	message := "reconciling is suspended in the spec"
	if why := component.GetAnnotations()[name+"/"+AnnotationSuspendReason]; why != "" {
		message += ": " + condition.Truncate(why, maxSource)
	}
	return &condition.Error{Reason: metav1alpha1.ReasonSuspended, Message: message, State: metav1alpha1.StateSuspended}
}
