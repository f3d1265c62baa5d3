package component

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// maxHistory is how many revisions the status tells of, and maxSource how long the name of a source may be there.
const (
	maxHistory = 10
	maxSource  = 256
)

// begun returns a history with one revision more, which ends the one before.
func begun(history []metav1alpha1.RevisionRecord, next metav1alpha1.RevisionRecord) []metav1alpha1.RevisionRecord {
	history = slices.Insert(slices.Clone(history), 0, next)
	if len(history) > 1 && !isOver(history[1]) {
		last := &history[1]
		last.Ended = new(next.Started)
		if last.Outcome != metav1alpha1.RevisionFailed {
			last.Outcome = metav1alpha1.RevisionSuperseded
		}
	}
	return history[:min(len(history), maxHistory)]
}

// judged returns a history in which the newest revision has come to a verdict. One that is over keeps the first: history does not tell how
// its dependents fared later.
func judged(history []metav1alpha1.RevisionRecord, v verdict, now time.Time) []metav1alpha1.RevisionRecord {
	if len(history) == 0 || isOver(history[0]) {
		return history
	}
	history = slices.Clone(history)
	newest := &history[0]
	switch v.state {
	case metav1alpha1.StateReady:
		newest.Outcome, newest.Reason, newest.Ended = metav1alpha1.RevisionReady, "", new(metav1.NewTime(now))
	case metav1alpha1.StateStalled:
		newest.Outcome, newest.Reason = metav1alpha1.RevisionFailed, v.reason
	case metav1alpha1.StateProgressing:
		newest.Outcome, newest.Reason = metav1alpha1.RevisionProgressing, ""
	case metav1alpha1.StateSuspended, metav1alpha1.StateDeleting, metav1alpha1.StateDeletionBlocked:
	}
	return history
}

// isOver says that nothing will be entered for a revision any more.
func isOver(r metav1alpha1.RevisionRecord) bool { return r.Ended != nil }

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
	record.Source = truncate(record.Source, maxSource)
	return record
}

// acknowledge enters into the status which request for a pass was answered, where somebody waits for the answer. A request that nobody waits
// for costs no write.
func acknowledge(component Component, name string) {
	annotations := component.GetAnnotations()
	request := annotations[name+"/"+AnnotationReconcileRequested]
	if request != "" && annotations[name+"/"+AnnotationReconcileAcknowledge] == request {
		component.GetStatus().LastHandledReconcileAt = truncate(request, maxSource)
	}
}

// suspension says that a component is suspended, and why if somebody noted that.
func suspension(component Component, name string) *problem {
	message := "reconciling is suspended in the spec"
	if why := component.GetAnnotations()[name+"/"+AnnotationSuspendReason]; why != "" {
		message += ": " + truncate(why, maxSource)
	}
	return &problem{reason: metav1alpha1.ReasonSuspended, message: message, state: metav1alpha1.StateSuspended}
}
