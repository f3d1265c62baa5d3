package plan

import "slices"

// beforeFirstApply is the manager under which the API server lists everything that an object had when it was applied server-side for the
// first time without managed fields, as after somebody stripped them. Nobody works under that name.
const beforeFirstApply = "before-first-apply"

// Predecessors are the managers that leave their fields to us, whatever is configured besides: those of kubectl and Helm which write whole
// objects. Not among them is who adds something of his own, by kubectl label, annotate, scale or rollout, and what is written through
// subresources, as autoscalers do.
var Predecessors = []string{
	"helm", "kubectl", "kubectl-autoscale", "kubectl-client-side-apply", "kubectl-create", "kubectl-edit", "kubectl-expose", "kubectl-patch",
	"kubectl-replace", "kubectl-run", "kubectl-set",
}

// preceded says that fields of the object belong to predecessors.
func (c candidate) preceded() bool {
	return slices.ContainsFunc(c.live.Managers, func(m string) bool { return slices.Contains(c.predecessors, m) })
}

// unsorted says that the API server has listed our fields under another name, too.
func (c candidate) unsorted() bool { return slices.Contains(c.live.Managers, beforeFirstApply) }

// HandsOver says what becomes of the fields of a manager when the managed fields are put in order: all of them become ours, or those that
// we set ourselves do, or they stay.
func (a Action) HandsOver(manager string) Handover {
	switch {
	case manager == beforeFirstApply:
		return HandoverForgotten
	case !slices.Contains(a.Predecessors, manager):
		return HandoverNone
	case a.TakeOver:
		return HandoverAll
	}
	return HandoverOurs
}

// Handover says what becomes of the fields of another manager.
type Handover string

// The handovers.
const (
	// HandoverNone leaves them alone.
	HandoverNone Handover = "None"
	// HandoverOurs leaves those alone that we do not set.
	HandoverOurs Handover = "Ours"
	// HandoverAll makes them ours, so that those which we do not set disappear.
	HandoverAll Handover = "All"
	// HandoverForgotten leaves them without a manager.
	HandoverForgotten Handover = "Forgotten"
)
