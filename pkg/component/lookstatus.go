package component

import (
	"slices"

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
	digest, err := lookupsDigest(l.served.Digest, lines)
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

// recorded says that the status tells of the same looks. The second result says whether the rendering reads the status of what it looks up, as far
// as that is recorded. Where it does not, nothing is recorded of such a status; who has one now may have had another, and is not the same.
func (l looks) recorded(status *metav1alpha1.Status) (same, readsStatus bool) {
	former, ok := recordedLookups(status)
	if !ok {
		return false, false
	}
	for _, entry := range former {
		readsStatus = readsStatus || entry.Status
	}
	unknown := !readsStatus && slices.ContainsFunc(l.all, look.hasStatus)
	return !unknown && l.match(former, readsStatus, status.LookupsDigest), readsStatus
}

// entered says that the status tells of the looks what enter would enter.
func (l looks) entered(status *metav1alpha1.Status) bool {
	former, ok := recordedLookups(status)
	return ok && l.match(former, l.status, status.LookupsDigest)
}

// servedAlike says that the status tells of a rendering for a target that served the same. Where there were too many look-ups to name them, that is
// not known.
func (l looks) servedAlike(status *metav1alpha1.Status) bool {
	digest, err := lookupsDigest(l.served.Digest, status.Lookups)
	return err == nil && digest == status.LookupsDigest
}

// match compares the looks with those that are recorded. Where none are, because there are none or too many, the digest decides.
func (l looks) match(former map[lookupKey]metav1alpha1.Lookup, readsStatus bool, recorded string) bool {
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
	digest, err := lookupsDigest(l.served.Digest, lines)
	return err == nil && digest == recorded
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
