package applier

import (
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// Count returns an outcome with the numbers of the recorded dependents that exist and are ready. It only watches. known
// is false if a watch is not in sync yet, so that Request.Wake is called later, or if a dependent is not watched.
func (a *Applier) Count(client *target.Client, r Request) (o outcome.Outcome, known bool) {
	facts := plan.Facts{Owner: r.Owner.ID(), Inventory: plan.NewInventory(r.Inventory)}
	r.Desired = nil
	client.Observer.Watch(facts.Owner, client.Reader, watchedResources(client, r, facts.Inventory), r.Wake)
	if !client.Observer.Synced(facts.Owner) {
		return outcome.Outcome{}, false
	}
	facts.Live = Snapshot(client, r.externals(), r.ReadyFunc, facts)
	counted, known := plan.Count(facts)
	return OutcomeOf(counted, nil), known
}
