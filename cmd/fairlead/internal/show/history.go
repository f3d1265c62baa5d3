package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/plural"
)

// History is the list of the last revisions of a component.
type History struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Component  Component `json:"component"`
	// Revisions are sorted by time.
	Revisions []Revision `json:"revisions"`
}

// Revision is a revision of a component, or inputs that made no revision because they could not be rendered.
type Revision struct {
	// Revision is zero if the inputs made no revision.
	Revision   int64 `json:"revision"`
	Generation int64 `json:"generation"`
	// Outcome is Progressing, Ready, Failed or Superseded. Reason explains the outcome Failed.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// Started is the time at which the operator began to apply the revision. Ended is the time at which the revision
	// was Ready for the first time, or at which the next revision started. For inputs that made no revision, Ended is
	// the time at which the inputs of the previous revision were restored.
	Started metav1.Time  `json:"started"`
	Ended   *metav1.Time `json:"ended,omitempty"`
	// Digest identifies the inputs.
	Digest       string `json:"digest,omitempty"`
	Source       string `json:"source,omitempty"`
	SourceDigest string `json:"sourceDigest,omitempty"`
	// SourceVersion is the name and the version of the source, such as a chart's.
	SourceVersion string `json:"sourceVersion,omitempty"`
	// Changes are the values that differ from those of the revision before.
	Changes []string `json:"changes,omitempty"`
	// Adopted are the first objects that the component took over, each with the one who had it. AdoptedCount counts all.
	Adopted      []string `json:"adopted,omitempty"`
	AdoptedCount int32    `json:"adoptedCount,omitempty"`
}

// NewHistory returns the revisions in a status.
func NewHistory(obj *unstructured.Unstructured, status metav1alpha1.Status) History {
	h := History{APIVersion: SchemaVersion, Kind: "History", Component: NewComponent(obj, status), Revisions: []Revision{}}
	for _, r := range slices.Backward(status.History) {
		h.Revisions = append(h.Revisions, Revision{
			Revision: r.Revision, Generation: r.Generation, Outcome: string(r.Outcome), Reason: r.Reason,
			Started: r.Started, Ended: r.Ended, Digest: r.Digest, Source: r.Source, SourceDigest: r.SourceDigest,
			SourceVersion: r.SourceVersion, Changes: r.Changes, Adopted: r.Adopted, AdoptedCount: r.AdoptedCount,
		})
	}
	return h
}

// Print writes the history. Ages are relative to now.
func (h History) Print(o Output, now time.Time) error {
	if o.Structured() {
		return o.write(h)
	}
	titles := []string{"REVISION", "STARTED", "TOOK", "OUTCOME", "SOURCE", "VERSION", "CHANGES"}
	if o.Format == FormatWide {
		titles = append(titles, "GENERATION", "DIGEST", "SOURCE DIGEST")
	}
	var rows [][]cell
	for i, r := range h.Revisions {
		cells := row(r.number(), duration.HumanDuration(now.Sub(r.Started.Time))+" ago", r.took(), "", orDash(r.Source),
			orDash(r.SourceVersion), orDash(h.changes(i, o.Format == FormatWide)))
		cells[3] = r.outcome()
		if o.Format == FormatWide {
			cells = append(cells, row(fmt.Sprint(r.Generation), orDash(r.Digest), orDash(r.SourceDigest))...)
		}
		rows = append(rows, cells)
	}
	return table(o, titles, rows)
}

// maxChanges is the number of changes of a revision in a table that is not wide.
const maxChanges = 3

// changes returns how a revision differs from the revision that was applied before it, and what was adopted for it.
func (h History) changes(at int, wide bool) string {
	r, texts := h.Revisions[at], []string(nil)
	if before := h.revisionBefore(at); before != nil {
		switch {
		case r.Source != before.Source:
			texts = append(texts, "other source")
		case r.SourceDigest != before.SourceDigest:
			texts = append(texts, "the source changed")
		}
	}
	switch {
	case r.AdoptedCount == 1 && len(r.Adopted) == 1:
		texts = append(texts, "adopted "+r.Adopted[0])
	case r.AdoptedCount > 0:
		texts = append(texts, "adopted "+plural.Of(int(r.AdoptedCount), "object"))
	}
	texts = append(texts, r.Changes...)
	if more := len(texts) - maxChanges; more > 0 && !wide {
		texts = append(texts[:maxChanges:maxChanges], fmt.Sprintf("and %d more", more))
	}
	return oneLine(strings.Join(texts, "; "))
}

// revisionBefore returns the revision before an entry, without inputs that made no revision. It returns nil if there is
// none.
func (h History) revisionBefore(at int) *Revision {
	for i := at - 1; i >= 0; i-- {
		if h.Revisions[i].Revision > 0 {
			return &h.Revisions[i]
		}
	}
	return nil
}

// number returns the number of a revision, or a dash if the inputs made no revision.
func (r Revision) number() string {
	if r.Revision == 0 {
		return "-"
	}
	return fmt.Sprint(r.Revision)
}

// took returns the time from the start to the end of a revision. It is empty if the revision has not ended.
func (r Revision) took() string {
	if r.Ended == nil {
		return "-"
	}
	return duration.HumanDuration(r.Ended.Sub(r.Started.Time))
}

func (r Revision) outcome() cell {
	c := cell{text: oneLine(r.Outcome), tone: terminal.Busy}
	switch metav1alpha1.RevisionOutcome(r.Outcome) {
	case metav1alpha1.RevisionReady:
		c.tone = terminal.Good
	case metav1alpha1.RevisionFailed:
		c.tone = terminal.Bad
	case metav1alpha1.RevisionProgressing, metav1alpha1.RevisionSuperseded:
	}
	if r.Reason != "" {
		c.text += ": " + oneLine(r.Reason)
	}
	return c
}
