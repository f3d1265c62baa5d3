package plan

import (
	"fmt"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// updateExternal returns the action that updates an external to match its manifest. An external is recreated only if a
// field changed that cannot be changed, and its update policy is recreate.
func (c candidate) updateExternal(reason Reason) decision {
	changed := reason == ReasonChanged || reason == ReasonAdopted
	recreates := c.policy == metav1alpha1.UpdateRecreate && c.reconcile != metav1alpha1.ReconcileUpdateOnly
	var limits ExternalLimits
	if c.live.External != nil {
		limits = *c.live.External
	}
	switch {
	case len(limits.Immutable) > 0 && reason == ReasonChanged && recreates:
		return c.act(VerbDelete, reason)
	case len(limits.Immutable) > 0 && changed:
		return c.fail(Failure{
			Class: Terminal, Reason: WaitImmutable,
			Message: fmt.Sprintf("%s cannot be changed (%s)", strings.Join(limits.Immutable, ", "), immutableAdvice(c)),
		})
	case limits.NotUpdatable && reason == ReasonDiffers:
		return c.fail(Failure{
			Class: Terminal, Reason: WaitImmutable,
			Message: fmt.Sprintf("it differs from its manifest, and externals of its kind cannot be changed: %s; "+
				"restore it outside Kubernetes, or accept the difference in the manifest; if it is deleted there, it is created "+
				"again without its data", c.live.MatchResult.Differs),
		})
	}
	return c.act(VerbApply, reason)
}

// EnterTokens enters the tokens of the creates of externals that are about to begin. It reports whether an entry
// changed.
func (inv Inventory) EnterTokens(tokens map[manifests.Key]string) (changed bool) {
	for key, token := range tokens {
		if e, recorded := inv[key]; recorded && e.CreationToken != token {
			e.CreationToken = token
			inv[key], changed = e, true
		}
	}
	return changed
}

// noteBegun marks the entries of the externals that the actions of the plan create or adopt. They are written before
// the actions run. So an external with this mark and without a recorded state may exist.
func (p *Plan) noteBegun() {
	for _, a := range p.Actions {
		e, recorded := p.Inventory[a.Key]
		creates := a.Verb == VerbCreate || a.Reason.Adopts()
		if a.Key.IsExternal() && recorded && creates && !e.Begun {
			e.Begun = true
			p.Inventory[a.Key], p.WriteInventory = e, true
		}
	}
}
