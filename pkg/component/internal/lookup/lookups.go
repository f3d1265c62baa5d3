package lookup

import (
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
)

// maxRecorded is the maximum number of look-ups that a status names. If there are more, the status contains only their
// digest, and the component is rendered again after a restart, because the look-ups cannot be read again and compared.
const maxRecorded = 100

// Lookups are the results of the look-ups of a rendering, and the capabilities of the target for which the rendering
// was made.
type Lookups struct {
	// Served identifies the capabilities of the target.
	Served discovery.Summary
	// Asked are the API versions that the rendering asked for; nil if they are not known.
	Asked *Asked
	// Results are the results of the look-ups, sorted by their texts in the status.
	Results []Result
	// Exports are the exports that the rendering asked for, sorted by name.
	Exports []metav1alpha1.AskedExport
	// ReadsStatus is set if the rendering uses the status of looked-up objects.
	ReadsStatus bool
}

// Lines returns the lines and the digest that are entered into the status as Status.Lookups and Status.LookupsDigest.
func (l Lookups) Lines() (lines []string, digest string, err error) {
	lines = make([]string, 0, len(l.Results))
	for _, r := range l.Results {
		lines = append(lines, r.entry(l.ReadsStatus).String())
	}
	digest, err = digestOf(l.Served.Digest, lines)
	if len(lines) > maxRecorded || len(lines) == 0 {
		lines = nil
	}
	return lines, digest, err
}

func digestOf(capabilities string, lines []string) (string, error) {
	return digests.Of(append([]string{capabilities}, lines...))
}

// EqualRecorded reports whether the status has equal look-ups, and whether the recorded rendering used the status of
// looked-up objects. If the recorded rendering did not use the status, the recorded digests do not cover the status.
// Then EqualRecorded returns false if a looked-up object has a status now.
func (l Lookups) EqualRecorded(status *metav1alpha1.Status) (equal, readsStatus bool) {
	recorded, ok := recordedLookups(status)
	if !ok {
		return false, false
	}
	for _, entry := range recorded {
		readsStatus = readsStatus || entry.Status
	}
	unknown := !readsStatus && slices.ContainsFunc(l.Results, Result.hasStatus)
	equal = !unknown && l.exportsRecorded(status) && l.match(recorded, readsStatus, status.LookupsDigest)
	return equal, readsStatus
}

// AreRecorded reports whether the status already contains the lines and the digest that Lines returns.
func (l Lookups) AreRecorded(status *metav1alpha1.Status) bool {
	recorded, ok := recordedLookups(status)
	return ok && l.exportsRecorded(status) && l.match(recorded, l.ReadsStatus, status.LookupsDigest)
}

// SameCapabilities reports whether the rendering in the status is for the same capabilities. It returns false if there
// were too many look-ups for the status.
func (l Lookups) SameCapabilities(status *metav1alpha1.Status) bool {
	digest, err := digestOf(l.Served.Digest, status.Lookups)
	return err == nil && digest == status.LookupsDigest
}

// match reports whether the look-ups have the recorded digest. For an object that is or was a dependent of the
// component itself, match uses the recorded look-up, because changes of such an object are ignored.
func (l Lookups) match(recorded map[key]metav1alpha1.Lookup, readsStatus bool, recordedDigest string) bool {
	lines := make([]string, 0, len(l.Results))
	for _, r := range l.Results {
		entry := r.entry(readsStatus)
		was, known := recorded[r.key]
		wasOwn := known && was.State == metav1alpha1.LookupOwn && entry.State == metav1alpha1.LookupMissing
		if known && (entry.State == metav1alpha1.LookupOwn || wasOwn) {
			entry = was
		}
		lines = append(lines, entry.String())
	}
	digest, err := digestOf(l.Served.Digest, lines)
	return err == nil && digest == recordedDigest
}

// recordedLookups parses the look-ups of a status; ok is false if they cannot be parsed.
func recordedLookups(status *metav1alpha1.Status) (entries map[key]metav1alpha1.Lookup, ok bool) {
	entries = make(map[key]metav1alpha1.Lookup, len(status.Lookups))
	for _, line := range status.Lookups {
		entry, err := metav1alpha1.ParseLookup(line)
		if err != nil {
			return nil, false
		}
		entries[keyOf(entry)] = entry
	}
	return entries, true
}
