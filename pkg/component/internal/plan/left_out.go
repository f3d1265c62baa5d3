package plan

import "github.com/fairlead-io/fairlead/pkg/manifests"

// leaveOut notes that the last decision left an object out. It changes nothing if the object has no entry.
func (inv Inventory) leaveOut(key manifests.Key) {
	if e, recorded := inv[key]; recorded && !e.LeftOut {
		e.LeftOut = true
		inv[key] = e
	}
}

// leaveOutExcluded notes that the excluded objects are left out. Their entries stay until the objects are removed,
// which may take many passes.
func (p *Plan) leaveOutExcluded(f Facts) {
	for key := range f.Excluded {
		p.Inventory.leaveOut(key)
	}
}
