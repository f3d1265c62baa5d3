package plan

import (
	"fmt"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ruleReserved returns a failure for an absent object that its owner may create again, for example after a suspension,
// unless the object would be taken over from the owner.
func ruleReserved(c candidate) (decision, bool) {
	if c.live.Presence != Absent || !c.ownedByOther() || c.takesOver() {
		return decision{}, false
	}
	message := fmt.Sprintf("it does not exist now, but %s owns it and may create it again; %s%s",
		ownerText(c), avoidance(c), moving(c))
	return c.fail(Failure{Class: Terminal, Reason: WaitOwnershipConflict, Message: message}), true
}

// takesOver reports whether the object is taken over if it has another owner.
func (c candidate) takesOver() bool {
	return c.moved() || c.adoption == metav1alpha1.AdoptAlways && !c.applied()
}

// moved reports whether the component owned the object in another cluster whose objects it may take over.
func (c candidate) moved() bool { return c.adoptions.moves(c.live.Owner) }

// ruleTakeOver takes an object over from its owner if the adoption policy is always, but only when the manifest is
// applied for the first time. If another component takes the object over after that, the object is an ownership
// conflict. So two components with the policy always do not take over the same object again and again. An object that
// the component owned in another cluster is taken over under each policy; if the other cluster takes it back, the
// repair is delayed.
func ruleTakeOver(c candidate) (decision, bool) {
	if !c.ownedByOther() || !c.takesOver() {
		return decision{}, false
	}
	reason := ReasonTakenOver
	if c.moved() {
		reason = ReasonMoved
	}
	d := c.update(reason)
	if c.moved() && c.applied() {
		d = withBackoff(c, d)
	}
	if d.action != nil && d.action.Verb.Writes() {
		d.action.Preconditions.Owner = c.live.Owner
	}
	return d, true
}

// ruleOwned returns a failure for an object with another owner. The message names the owner.
func ruleOwned(c candidate) (decision, bool) {
	if !c.ownedByOther() {
		return decision{}, false
	}
	message := fmt.Sprintf("it is owned by %s; %s%s", ownerText(c), avoidance(c), moving(c))
	switch advice := movedAdvice(c); {
	case c.live.OwnerName == "":
		message = fmt.Sprintf("it is owned by %s; %s; or, if no component renders it any more, remove the label%s",
			ownerText(c), avoidance(c), afterRelease(c))
	case advice != "":
		message = fmt.Sprintf("the component owned it in another cluster; %s, or, %s", avoidance(c), advice)
		if c.inDeletion() {
			message += fmt.Sprintf(", and the deletion takes it over and deletes it in the end (%s)", LossOf(c.object.Key))
		} else {
			message += "; " + overwriting(c)
		}
	case c.adoption == metav1alpha1.AdoptAlways && !c.inDeletion():
		message = fmt.Sprintf(
			"it was taken over by %s; leave it out here, which does not delete it; to take it back, change its manifest here "+
				"before it is removed there, which deletes it (%s); %s", ownerText(c), LossOf(c.object.Key), overwriting(c),
		)
	}
	return c.fail(Failure{Class: Terminal, Reason: WaitOwnershipConflict, Message: message}), true
}

// ownerText returns the name of the live object's owner, from the owner annotation of the object, or a text without a
// name if the component may not name it; see Names.
func ownerText(c candidate) string {
	owner, ok := manifests.ParseOwner(c.live.OwnerName)
	named := c.named || isNeighbour(c.component, c.remote, c.live.OwnerName) || ok && owner.Component() == c.component
	switch {
	case c.live.OwnerName == "":
		return fmt.Sprintf("the component with the owner id %s, whose name is not known, because the object has its label "+
			"%s and not the annotation of the same name", c.live.Owner, manifests.LabelOwnerID)
	case !named && ok:
		return "another component"
	case !named:
		return "somebody else"
	case !ok:
		return c.live.OwnerName
	}
	name := fmt.Sprintf("%s (reconciler %s)", owner.Component(), owner.Reconciler)
	if owner.Component() == c.component {
		name += fmt.Sprintf(" in the cluster whose namespace kube-system has the UID %s", owner.Cluster)
	}
	return name
}

// avoidance returns advice on how to avoid an ownership conflict: rename the object, or leave it out of the manifests
// if its name cannot be changed. A deletion renders nothing, so there only the other object can be moved.
func avoidance(c candidate) string {
	if c.inDeletion() {
		return "move the other object to another name or namespace, and the deletion continues"
	}
	switch kind := c.object.Key.GroupKind(); {
	case kind == CustomResourceDefinition:
		return "leave the definition out here, because only one component can own it " +
			"(for a chart, skipCRDs leaves out the folder crds)"
	case kind == APIService, IsNamespace(c.object.Key):
		return "leave it out here"
	}
	return "rename it here"
}

// moving returns advice on how to move an object from its owner to this component; empty in a deletion. The order of
// the steps matters: an object that its owner stops rendering is deleted, unless it has another owner by then.
func moving(c candidate) string {
	if c.inDeletion() {
		return ""
	}
	return fmt.Sprintf("; to move it here, set its adoption policy to always here before it is removed there, which "+
		"deletes it otherwise (%s); %s", LossOf(c.object.Key), overwriting(c))
}

// afterRelease returns what follows when somebody removes the owner label of an object.
func afterRelease(c candidate) string {
	switch {
	case c.inDeletion():
		return fmt.Sprintf(", and the deletion takes it over and deletes it in the end (%s)", LossOf(c.object.Key))
	case c.adoption == metav1alpha1.AdoptNever:
		return ""
	}
	return ", and it is adopted; " + overwriting(c)
}

func ruleUnlabelled(c candidate) (decision, bool) {
	if c.live.Owner != "" || c.entry.UID == "" || c.entry.UID != c.live.UID {
		return decision{}, false
	}
	return withBackoff(c, c.update(ReasonUnlabelled)), true
}

// PreviousManagers are the field managers whose fields are always taken over: the managers of kubectl and Helm that
// write whole objects. The list does not have the managers of kubectl label, annotate, scale and rollout, because these
// commands write single fields. The list does not have managers that write through subresources either, such as
// autoscalers.
var PreviousManagers = []string{
	"helm", "kubectl", "kubectl-autoscale", "kubectl-client-side-apply", "kubectl-create", "kubectl-edit",
	"kubectl-expose", "kubectl-patch", "kubectl-replace", "kubectl-run", "kubectl-set",
}

// beforeFirstApply is the manager under which the API server lists all fields of an object without managed fields at
// its first server-side apply. Managed fields are missing if a client stripped them. No client writes under this name,
// so it can be removed from all fields.
const beforeFirstApply = "before-first-apply"

// hasPreviousManagers reports whether previous managers own fields of the object.
func (c candidate) hasPreviousManagers() bool {
	return slices.ContainsFunc(c.live.Managers, func(m string) bool { return slices.Contains(c.previousManagers, m) })
}

// listedBeforeFirstApply reports whether the API server also lists our fields under the manager beforeFirstApply.
func (o Observed) listedBeforeFirstApply() bool {
	return slices.Contains(o.Managers, beforeFirstApply)
}

// isRestored reports whether another client created the object with the marks of the component, for example from a
// backup. Then all fields have the manager of this client, also the fields that other managers had set before. So it is
// not known which fields the manifest may remove, and none is removed.
func (c candidate) isRestored() bool {
	own := c.live.Owner == c.owner || c.adoptions.moves(c.live.Owner)
	return own && c.live.Applied == "" && c.live.Updated == ""
}

// TransferOf returns the field transfer from a manager, for an action that rewrites managed fields (Action.Migrate).
func (a Action) TransferOf(manager string) FieldTransfer {
	switch {
	case manager == beforeFirstApply:
		return TransferToNobody
	case !slices.Contains(a.PreviousManagers, manager):
		return TransferNone
	case a.TakeAllFields:
		return TransferAll
	case a.KeepFields:
		return TransferToNobody
	}
	return TransferShared
}

// FieldTransfer states which fields of another manager become ours when the managed fields are rewritten.
type FieldTransfer string

// The field transfers.
const (
	// TransferNone leaves the manager all its fields.
	TransferNone FieldTransfer = "None"
	// TransferShared takes the fields that our manifest sets. The manager keeps its other fields.
	TransferShared FieldTransfer = "Shared"
	// TransferAll takes all fields. Fields that our manifest does not set are removed by the apply that follows.
	TransferAll FieldTransfer = "All"
	// TransferToNobody removes the manager from all its fields.
	TransferToNobody FieldTransfer = "ToNobody"
)
