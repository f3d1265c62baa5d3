package plan

import (
	"hash/fnv"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ruleReapply applies what is due.
func ruleReapply(c candidate) (decision, bool) {
	due := c.dueAgain(c.entry)
	if due.IsZero() || c.now.Before(due) || c.renderedAgain() {
		return decision{}, false
	}
	d := c.again(ReasonReapply)
	d.repair = d.action != nil
	return d, true
}

// due notes when an object is to be applied again.
func (p *Plan) due(c candidate, e metav1alpha1.InventoryEntry) {
	at := c.dueAgain(e)
	if !at.After(c.now) || c.reconcile == metav1alpha1.ReconcileOnce || e.Completed {
		return
	}
	p.dueAt(at)
}

// dueAgain is when an object is to be applied again: at the end of its interval, and a spread later. What was due before anybody looked is not
// due at once, but only after the spread: an operator that did not run for long would apply everything in one second. Zero means never.
func (c candidate) dueAgain(e metav1alpha1.InventoryEntry) time.Time {
	if c.reapply <= 0 || e.AppliedAt == 0 {
		return time.Time{}
	}
	due := time.Unix(e.AppliedAt, 0).Add(c.reapply)
	if due.Before(c.started) {
		due = c.started
	}
	return due.Add(spread(c.owner, c.object.Key, c.reapply))
}

// spreadGroups is how many groups a component's dependents are applied again in, each in a pass of its own, with a write of the status.
const spreadGroups = 8

// spread is by how much later than its interval an object is applied again: by less than a tenth. The key chooses the group, and the owner the
// time in the group's share: so components are applied at different times, and each in few passes.
func spread(owner string, key manifests.Key, interval time.Duration) time.Duration {
	const parts = 1024
	share := interval / 10 / spreadGroups
	return share*time.Duration(hashOf(key.String())%spreadGroups) + share/parts*time.Duration(hashOf(owner)%parts)
}

func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}
