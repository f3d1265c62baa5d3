package plan

import (
	"cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// occurrences holds the objects of the apply set that stand at several points of the order: by key, in apply order. It
// is nil if there are none.
//
// The entry of such an object describes one occurrence: those before it are over, and those after it are to come. The
// object advances to its next occurrence when the waves before that are ready. The entry is recorded before anything is
// written at the new occurrence, so that no occurrence is applied twice after a crash.
type occurrences map[manifests.Key][]*manifests.Object

func occurrencesOf(desired []manifests.Object) occurrences {
	var found occurrences
	for i := range desired {
		if desired[i].Occurrence == 0 {
			continue
		}
		if found == nil {
			found = occurrences{}
		}
		found[desired[i].Key] = nil
	}
	for i := range desired {
		if all, several := found[desired[i].Key]; several {
			found[desired[i].Key] = append(all, &desired[i])
		}
	}
	return found
}

// current returns the number of the occurrence that is to be applied, or was applied last. A new content of any
// occurrence begins with the first one, unless the object is applied once. A new rendition of the same revision does
// not: it does not run again what ran.
func (s occurrences) current(f Facts, key manifests.Key, e metav1alpha1.InventoryEntry) int {
	all := s[key]
	if len(all) == 0 {
		return 0
	}
	recorded := min(e.Occurrence, len(all)) - 1
	once := cmp.Or(all[0].Settings.ReconcilePolicy, f.Defaults.Reconcile) == metav1alpha1.ReconcileOnce
	sameRun := once || e.Revision == f.Revision && (e.Revision != 0 || e.Digest == "")
	switch {
	case e.Occurrence == 0 && e.Digest == "":
		return numberOf(all, f.Live.Of(key).Digest)
	case sameRun && e.Occurrence == 0:
		// It had a single order when it was applied: what was added since is no new run.
		return len(all) - 1
	case sameRun, e.Occurrence > 0 && manifests.SameContent(e.Digest, all[recorded].Digest):
		return recorded
	}
	return 0
}

// numberOf returns the occurrence that a live object was written for, and 0 if that is not known: the object does not
// exist, or its entry was lost and recovered.
func numberOf(all []*manifests.Object, digest string) int {
	for i, o := range all {
		if o.Digest == digest {
			return i
		}
	}
	return 0
}

// several returns how many occurrences an object has.
func (s occurrences) several(key manifests.Key) int { return max(1, len(s[key])) }

// recordedNumber returns the occurrence of an object as its entry has it: from 1, and 0 if there is only one.
func (c candidate) recordedNumber() int {
	if c.object.Occurrence == 0 && c.last {
		return 0
	}
	return c.object.Occurrence + 1
}

// isLast reports whether an object has no later occurrence.
func (s occurrences) isLast(o *manifests.Object) bool { return o.Occurrence == s.several(o.Key)-1 }

// advance moves the entry of an object to its next occurrence, at which it was never applied. The UID is kept: the
// object of the occurrence before may exist.
func (p *Plan) advance(f Facts, o *manifests.Object) {
	e := p.Inventory[o.Key]
	e.Occurrence, e.Order = o.Occurrence+1, o.Settings.Order
	e.Revision, e.Rendition = f.Revision, f.Rendition
	e.Digest, e.Fields, e.Values, e.Trigger, e.AppliedAt, e.Completed, e.Failed = "", "", "", "", 0, false, ""
	p.Inventory[o.Key] = e
	p.Record = true
}
