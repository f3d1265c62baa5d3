package component

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
)

// maxSource bounds the name of a source in the history, in bytes.
const maxSource = 256

// enterAttempt enters into the history that new inputs came to nothing, and why. What goes away by itself is tried again before anything is said.
func enterAttempt(component Component, in inputs, failure error, now time.Time) {
	p, st := condition.Of(failure), component.GetStatus()
	if !p.Terminal || in.standing(st) {
		return
	}
	record := newRecord(component, in, now)
	record.Revision, record.Outcome, record.Reason = 0, metav1alpha1.RevisionFailed, p.Reason
	st.History = status.AddAttempt(st.History, record)
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
