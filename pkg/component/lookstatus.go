package component

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// record returns a look-up as it is entered into the status.
func (l look) record(status bool) metav1alpha1.Lookup {
	entry := l.key.record()
	entry.State = l.state
	if l.state == metav1alpha1.LookupFound {
		entry.Digest, entry.Status = l.content.of(status), status
	}
	return entry
}

// enter records looks in the status.
func (l looks) enter(status *metav1alpha1.Status) error {
	lines := make([]string, 0, len(l.all))
	for _, seen := range l.all {
		lines = append(lines, seen.record(l.status).String())
	}
	digest, err := lookupsDigest(l.capabilities, lines)
	if err != nil {
		return err
	}
	status.Lookups, status.LookupsDigest = lines, digest
	if len(lines) > maxLookups || len(lines) == 0 {
		status.Lookups = nil
	}
	return nil
}

func lookupsDigest(capabilities string, lines []string) (string, error) {
	return manifests.Digest(append([]string{capabilities}, lines...))
}

// recorded says that the status tells of the same looks. Where it names none, because there are none or too many, the digest decides. The
// second result says whether the rendering reads the status of what it looks up, as far as that is recorded.
func (l looks) recorded(status *metav1alpha1.Status) (same, readsStatus bool) {
	former, ok := recordedLookups(status)
	if !ok {
		return false, false
	}
	for _, entry := range former {
		readsStatus = readsStatus || entry.Status
	}
	lines := make([]string, 0, len(l.all))
	for _, seen := range l.all {
		entry := seen.record(readsStatus)
		was, known := former[seen.key]
		wasOwn := known && was.State == metav1alpha1.LookupOwn && entry.State == metav1alpha1.LookupMissing
		if known && (entry.State == metav1alpha1.LookupOwn || wasOwn) {
			entry = was
		}
		lines = append(lines, entry.String())
	}
	digest, err := lookupsDigest(l.capabilities, lines)
	return err == nil && digest == status.LookupsDigest, readsStatus
}

// recordedLookups reads the look-ups of a status; false where they cannot be read.
func recordedLookups(status *metav1alpha1.Status) (map[lookupKey]metav1alpha1.Lookup, bool) {
	entries := make(map[lookupKey]metav1alpha1.Lookup, len(status.Lookups))
	for _, line := range status.Lookups {
		entry, err := metav1alpha1.ParseLookup(line)
		if err != nil {
			return nil, false
		}
		entries[keyOf(entry)] = entry
	}
	return entries, true
}
