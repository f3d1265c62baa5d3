package plan

import "github.com/fairlead-io/fairlead/pkg/component/internal/ready"

// Count returns a plan without actions that counts the recorded objects which exist, belong to the component and are
// ready. It is used while there is no rendering. known is false if the state of an object is not known.
func Count(f Facts) (p Plan, known bool) {
	p = newPlan(f)
	p.Held, p.Desired = true, len(p.Inventory)
	for _, e := range p.Inventory.Sorted() {
		key := KeyOf(e)
		live := f.LiveOf(key)
		wait := Waiting{Key: key, Wave: e.Order, Reason: WaitAbsent, Message: "it was deleted, or it lost its owner label"}
		switch r := live.Readiness; {
		case live.Presence == Unknown, live.Presence == Present && r.State == ready.Unread:
			return Plan{}, false
		case live.Presence == Absent && (e.Completed || live.Finished),
			live.Presence == Present && live.Owner == f.Owner && r.State == ready.Ready:
			p.Ready++
			continue
		case live.Presence == Present && live.Owner != f.Owner:
			wait.Reason, wait.Message = WaitOwnershipConflict, "it does not have the owner label of the component"
		case live.Presence == Present:
			wait.Reason, wait.Message = WaitReason(r.State), r.Message
		case live.Presence == Absent:
		}
		p.Waiting = append(p.Waiting, wait)
	}
	return p, true
}
