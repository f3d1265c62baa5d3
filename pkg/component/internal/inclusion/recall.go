package inclusion

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// LastPass is what the last pass over a component wrote about the objects of a set.
type LastPass struct {
	// Namespace is the namespace under which the component is deployed.
	Namespace string
	// Inventory contains the entries of the dependents, by key.
	Inventory map[manifests.Key]metav1alpha1.InventoryEntry
	// Observed contains the entries of the objects that the component only observed, by key; see Status.Observed. An
	// object that its condition left out has no entry.
	Observed map[manifests.Key]metav1alpha1.InventoryEntry
	// TellsLeftOut is set if Inventory says of each object whether it was left out. It must not be set if a version
	// without InventoryEntry.LeftOut wrote the inventory, or if the inventory was rebuilt from live objects. It must not
	// be set either if an excluded object may be deleted before the inventory with LeftOut is written: after a crash in
	// between, the object would be created again.
	TellsLeftOut bool
}

// Recall decides which objects of a set are applied, while the values that their conditions read are not available. It
// evaluates no condition. Each object is applied or left out as the last pass decided.
//
//   - An object without an entry is not in Desired. It was left out, or it was never applied.
//   - An object whose entry has LeftOut is held, so that it is neither applied nor deleted. An excluded object is held,
//     too, so Decision.Excluded is empty.
//   - All other objects with an entry are applied. If TellsLeftOut is not set, an object with a condition, its own or
//     an inherited one, is held instead, because nothing shows what was decided about it.
//
// Decision.LeftOut is empty, because the status still contains the reports of the last pass. Recall does not change the
// set.
func Recall(set []manifests.Object, last LastPass) Decision {
	set, recorded := Inputs{Namespace: last.Namespace, Recorded: last.has}.withRecordedKeys(set)
	d := Decision{Desired: make([]manifests.Object, 0, len(set)), recorded: recorded}
	c := conditionals{set: set, index: indexOf(set), recorded: recorded, known: map[int]bool{}}
	for i, o := range set {
		entry, isRecorded := last.Inventory[o.Key]
		switch {
		case o.Settings.IsObserved():
			if _, wasApplied := last.Observed[o.Key]; !wasApplied && c.has(i) {
				continue
			}
		case !isRecorded:
			continue
		case entry.LeftOut:
			o.Held = &manifests.Held{}
		case !last.TellsLeftOut && c.has(i):
			o.Held = &manifests.Held{Undecided: undecidedWithoutInputs}
		}
		d.Desired = append(d.Desired, o)
	}
	return d
}

const undecidedWithoutInputs = "it is not decided whether the object is applied: its condition, or that of an object " +
	"that it depends on, needs the inputs of the component; the object stays as it is"

// has reports whether an object has an entry.
func (p LastPass) has(key manifests.Key) bool {
	_, isRecorded := p.Inventory[key]
	_, isObserved := p.Observed[key]
	return isRecorded || isObserved
}

// conditionals tells which objects of a set have conditions, or inherit those of other objects.
type conditionals struct {
	set []manifests.Object
	// index contains the first object with each key. recorded contains the keys of the inventory; see withRecordedKeys.
	index    map[manifests.Key]int
	recorded map[manifests.Key]manifests.Key
	// known contains the results for the objects that were asked for.
	known map[int]bool
}

// has reports whether the object with index i has a condition, or inherits one.
func (c conditionals) has(i int) bool {
	if answer, known := c.known[i]; known {
		return answer
	}
	// A normalised set has no cycles. If it had any, an object would inherit nothing from itself.
	c.known[i] = false
	answer := c.set[i].Settings.Conditions != nil
	for _, key := range inheritedFrom(c.set[i], c.recorded) {
		if on, known := c.index[key]; !answer && known {
			answer = c.has(on)
		}
	}
	c.known[i] = answer
	return answer
}
