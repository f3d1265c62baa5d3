package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// maxTold is the number of holders that do not end in what a component was told. Messages do not name more.
const maxTold = 3

// held is a component that waits for its deletion. It keeps its holders, so that after a change of one component, only
// this one is looked at.
type held struct {
	namespaceGoes bool
	// ends contains Holder.Ends for each holder, and open is the number of holders that do not end.
	ends map[types.NamespacedName]bool
	open int
	// wasHeld is set if the last pass was told that there are holders. told are the first of them that did not end.
	wasHeld bool
	told    []types.NamespacedName
}

// replace replaces all holders.
func (h *held) replace(holders []Holder) {
	h.ends, h.open = make(map[types.NamespacedName]bool, len(holders)), 0
	for _, holder := range holders {
		h.set(holder, true)
	}
}

// set replaces a holder. If blocks is false, the component is no holder, or no holder any more.
func (h *held) set(holder Holder, blocks bool) {
	if h.isOpen(holder.Name) {
		h.open--
	}
	delete(h.ends, holder.Name)
	if !blocks {
		return
	}
	h.ends[holder.Name] = holder.Ends
	if !holder.Ends {
		h.open++
	}
}

// isOpen reports whether a component is a holder that does not end.
func (h *held) isOpen(name types.NamespacedName) bool {
	ends, found := h.ends[name]
	return found && !ends
}

// needsPass reports whether the component needs a pass: because it has no holders any more, because the first holder
// that does not end appeared or none is left, or because all told holders end or hold no more, and others do not end.
func (h *held) needsPass() bool {
	isHeld := len(h.ends) > 0
	switch {
	case isHeld != h.wasHeld:
		return true
	case h.open == 0:
		return len(h.told) > 0
	}
	return !slices.ContainsFunc(h.told, h.isOpen)
}

// tell notes that a pass over the component is told the holders.
func (h *held) tell() {
	open := names{}
	for name, ends := range h.ends {
		if !ends {
			open.add(name)
		}
	}
	all := open.sorted()
	h.wasHeld, h.told = len(h.ends) > 0, all[:min(len(all), maxTold)]
}
