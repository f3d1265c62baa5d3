package plan

import (
	"fmt"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// foreign says that somebody else owns the object.
func (c candidate) foreign() bool { return c.live.Owner != "" && c.live.Owner != c.owner }

// ruleTakeOver takes an object from whoever owns it, where the policy is always. It does so when it applies a manifest for the first time,
// never to repair: what was ours with this manifest, and was taken from us, is a conflict. So two components that both say always don't
// take it from each other for ever.
func ruleTakeOver(c candidate) (decision, bool) {
	if !c.foreign() || c.adoption != metav1alpha1.AdoptAlways || c.applied() {
		return decision{}, false
	}
	d := c.update(ReasonTakenOver)
	if d.action != nil {
		d.action.Preconditions.Owner = c.live.Owner
	}
	return d, true
}

// ruleOwned reports whose the object is.
func ruleOwned(c candidate) (decision, bool) {
	if !c.foreign() {
		return decision{}, false
	}
	message := fmt.Sprintf("it is owned by %s; %s, or remove it there", c.ownerOfLive(), c.avoidance())
	if c.adoption == metav1alpha1.AdoptAlways {
		message = fmt.Sprintf("it was taken over by %s; remove it there or here, or change its manifest here to take it back", c.ownerOfLive())
	}
	return c.fail(Failure{Class: Terminal, Reason: WaitOwnershipConflict, Message: message}), true
}

// ownerOfLive names who owns the object, as far as its annotation tells.
func (c candidate) ownerOfLive() string {
	owner, ok := manifests.ParseOwner(c.live.OwnerName)
	if !ok {
		return c.live.OwnerName
	}
	name := fmt.Sprintf("%s (reconciler %s)", owner.Component(), owner.Reconciler)
	if owner.Component() == c.component {
		name += fmt.Sprintf(" in the cluster whose namespace kube-system has the UID %s", owner.Cluster)
	}
	return name
}

// avoidance says how not to claim the object: not every name is free to choose.
func (c candidate) avoidance() string {
	switch kind := c.object.Key.GroupKind(); {
	case kind == customResourceDefinition:
		return "a definition belongs to one component: leave it out here (of a chart, skipCRDs leaves out the folder crds)"
	case kind == apiService, IsNamespace(c.object.Key):
		return "leave it out here"
	}
	return "rename it here"
}
