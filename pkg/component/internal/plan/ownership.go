package plan

import (
	"fmt"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// foreign says that somebody else owns the object.
func (c candidate) ownedByOther() bool { return c.live.Owner != "" && c.live.Owner != c.owner }

// ruleTakeOver takes an object from whoever owns it, where the policy is always. It does so when it applies a manifest for the first time,
// never to repair: what was ours with this manifest, and was taken from us, is a conflict. So two components that both say always don't
// take it from each other for ever.
func ruleTakeOver(c candidate) (decision, bool) {
	if !c.ownedByOther() || c.adoption != metav1alpha1.AdoptAlways || c.applied() {
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
	if !c.ownedByOther() {
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

// beforeFirstApply is the manager under which the API server lists everything that an object had when it was applied server-side for the
// first time without managed fields, as after somebody stripped them. Nobody works under that name.
const beforeFirstApply = "before-first-apply"

// PreviousManagers are the managers that leave their fields to us, whatever is configured besides: those of kubectl and Helm which write whole
// objects. Not among them is who adds something of his own, by kubectl label, annotate, scale or rollout, and what is written through
// subresources, as autoscalers do.
var PreviousManagers = []string{
	"helm", "kubectl", "kubectl-autoscale", "kubectl-client-side-apply", "kubectl-create", "kubectl-edit", "kubectl-expose", "kubectl-patch",
	"kubectl-replace", "kubectl-run", "kubectl-set",
}

// hasPreviousManagers says that fields of the object belong to previousManagers.
func (c candidate) hasPreviousManagers() bool {
	return slices.ContainsFunc(c.live.Managers, func(m string) bool { return slices.Contains(c.previousManagers, m) })
}

// listedBeforeFirstApply says that the API server has listed our fields under another name, too.
func (c candidate) listedBeforeFirstApply() bool {
	return slices.Contains(c.live.Managers, beforeFirstApply)
}

// TransferOf says what becomes of the fields of a manager when the managed fields are put in order: all of them become ours, or those that
// we set ourselves do, or they stay.
func (a Action) TransferOf(manager string) FieldTransfer {
	switch {
	case manager == beforeFirstApply:
		return TransferToNobody
	case !slices.Contains(a.PreviousManagers, manager):
		return TransferNone
	case a.TakeAllFields:
		return TransferAll
	}
	return TransferShared
}

// FieldTransfer says what becomes of the fields of another manager.
type FieldTransfer string

// The handovers.
const (
	// TransferNone leaves them alone.
	TransferNone FieldTransfer = "None"
	// TransferShared leaves those alone that we do not set.
	TransferShared FieldTransfer = "Ours"
	// TransferAll makes them ours, so that those which we do not set disappear.
	TransferAll FieldTransfer = "All"
	// TransferToNobody leaves them without a manager.
	TransferToNobody FieldTransfer = "Forgotten"
)
