package plan

import (
	"cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// occurrences contains the objects of the apply set that are applied at several points of the apply order. occurrences
// lists the occurrences of each object by key, in apply order. occurrences is nil if there are no such objects.
//
// The inventory entry of such an object describes its current occurrence. The object advances to its next occurrence
// when the waves before that occurrence are ready. The changed entry is written before the object is written at the new
// occurrence, so that no occurrence is applied twice after a crash.
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

// current returns the number of the occurrence that is to be applied, or was applied last. If the content of an
// occurrence changes in a new revision, the object begins with its first occurrence again, unless its reconcile policy
// is once. A new rendition of the same revision does not repeat the occurrences that were applied.
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
		// The object had a single occurrence when it was applied. Occurrences that were added later are not applied.
		return len(all) - 1
	case sameRun, e.Occurrence > 0 && digests.SameContent(e.Digest, all[recorded].Digest):
		return recorded
	}
	return 0
}

// numberOf returns the number of the occurrence that has the given digest, the digest of the live object. numberOf
// returns 0 if no occurrence has this digest, for example because the object does not exist.
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

// recordedNumber returns the number of the occurrence in the form of the inventory entry: it counts from 1, and is 0 if
// the object has a single occurrence.
func (c candidate) recordedNumber() int {
	if c.object.Occurrence == 0 && c.last {
		return 0
	}
	return c.object.Occurrence + 1
}

// isLast reports whether an object has no later occurrence.
func (s occurrences) isLast(o *manifests.Object) bool { return o.Occurrence == s.several(o.Key)-1 }

// advance changes the entry of an object to its next occurrence, which has not been applied yet. The UID stays in the
// entry, because the object of the previous occurrence may still exist.
func (p *Plan) advance(f Facts, o *manifests.Object) {
	e := p.Inventory[o.Key]
	e.Occurrence, e.Order = o.Occurrence+1, o.Settings.Order
	e.Revision, e.Rendition = f.Revision, f.Rendition
	e.Digest, e.Fields, e.Values, e.Trigger, e.AppliedAt, e.Completed, e.Failed = "", "", "", "", 0, false, ""
	p.Inventory[o.Key] = e
	p.WriteInventory = true
}
