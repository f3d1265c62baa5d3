package plan

import (
	"cmp"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// candidate is a desired object with the facts about it.
type candidate struct {
	owner string
	// component is the key of the component itself.
	component manifests.Key
	// previousManagers are the field managers whose fields are taken over.
	previousManagers []string
	revision         int64
	rendition        int64
	trigger          string
	now, started     time.Time
	sameInputs       bool
	object           *manifests.Object
	reconcile        metav1alpha1.ReconcilePolicy
	policy           metav1alpha1.UpdatePolicy
	adoption         metav1alpha1.AdoptionPolicy
	// deletion is the delete policy in the form in which it is recorded.
	deletion metav1alpha1.DeletePolicy
	reapply  time.Duration
	entry    metav1alpha1.InventoryEntry
	live     Observed
	result   Result
	// repairs are the repairs of the same manifest.
	repairs Repairs
	// missing is the namespace whose absence made the last write fail.
	missing missingNamespace
	// attempts bounds the actions on the object in a pass.
	attempts int
	// last says that the object has no later occurrence.
	last bool
}

func newCandidate(f Facts, o *manifests.Object) candidate {
	c := candidate{
		owner: f.Owner, component: f.Component, previousManagers: f.PreviousManagers,
		revision: f.Revision, rendition: f.Rendition, trigger: f.Trigger, now: f.Now, started: f.Started, object: o,
		reconcile: cmp.Or(o.Settings.ReconcilePolicy, f.Defaults.Reconcile),
		policy:    cmp.Or(o.Settings.UpdatePolicy, f.Defaults.Update),
		adoption:  cmp.Or(o.Settings.AdoptionPolicy, f.Defaults.Adoption),
		deletion:  RecordedDeletePolicy(o.Key, o.Settings.DeletePolicy, f.Defaults.Delete),
		reapply:   f.Defaults.Reapply,
		entry:     f.Inventory[o.Key], live: f.Live.Of(o.Key), result: f.Results[o.Key],
		attempts: maxAttempts, last: true,
	}
	if o.Settings.ReapplyInterval != nil {
		c.reapply = *o.Settings.ReapplyInterval
	}
	if r := f.Repairs[o.Key]; r.Digest == o.Digest {
		c.repairs = r
	}
	c.sameInputs = c.isSameInputs()
	if m, ok := namespaceMissedBy(f, o, c.result); ok {
		c.missing = m
		if m.created() && c.result.Attempts < maxAttempts {
			c.result.Failure = nil
		}
	}
	return c
}

// isSameInputs reports whether the applied manifest was rendered from the same inputs as the current one. For work that
// runs once only the revision counts: the work does not run again because a looked-up object changed.
func (c candidate) isSameInputs() bool {
	if c.entry.Digest == "" || c.entry.Revision == 0 || c.entry.Revision != c.revision {
		return false
	}
	return c.entry.Rendition == c.rendition || c.entry.Completed || c.object.Ephemeral ||
		manifests.RunsOnce(c.object.Key.GroupKind())
}

// decision is the result of a rule for one object: an action, or a wait, or neither. Neither means that a candidate is
// in sync and ready, and that the entry of a removal is dropped.
type decision struct {
	action *Action
	// repair says that the action restores an applied manifest. A repair does not wait for its wave.
	repair  bool
	waiting *Waiting
	// applied says that the API server has the manifest of a waiting object.
	applied bool
	// repairs are the new Repairs of the object. They are set if a repair is deferred.
	repairs *Repairs
	// entry replaces the entry in the inventory.
	entry *metav1alpha1.InventoryEntry
	// guard says that the definition to be removed needs a guard first.
	guard bool
}

// rule decides about a candidate or a removal, or leaves the decision to the next rule.
type rule[S any] struct {
	name   string
	decide func(S) (decision, bool)
}

// decide returns the decision of the first rule that decides.
func decide[S any](rules []rule[S], subject S) decision {
	for _, r := range rules {
		if d, ok := r.decide(subject); ok {
			return d
		}
	}
	return decision{}
}

func (c candidate) wait(reason WaitReason, message string) decision {
	return decision{waiting: &Waiting{Key: c.object.Key, Wave: c.object.Settings.Order, Reason: reason, Message: message}}
}

func (c candidate) fail(f Failure) decision {
	d := c.wait(f.Reason, f.Message)
	d.waiting.Failure = &f
	return d
}

// act returns an action with the preconditions of the observed object. It is a repair if the manifest was applied
// before.
func (c candidate) act(verb Verb, reason Reason) decision {
	return decision{
		repair: c.applied(),
		action: &Action{
			Verb: verb, Key: c.object.Key, Reason: reason, Wave: c.object.Settings.Order, Version: c.object.Version,
			Object: c.object, Policy: c.policy, Owner: c.owner, PreviousManagers: c.previousManagers, Advice: immutableAdvice(c),
			Preconditions: Preconditions{
				UID: c.live.UID, ResourceVersion: c.live.ResourceVersion, Owner: c.owner,
				Exact: verb == VerbDelete || reason == ReasonAdopted || reason == ReasonUnlabelled,
			},
		},
	}
}

// update returns the action that brings a live object to its manifest. An object is recreated only if its manifest
// changed; drift is repaired in place. An object that holds other objects or data is never recreated, because they
// would be deleted with it.
func (c candidate) update(reason Reason) decision {
	switch {
	case c.sameInputs && c.entry.Digest != c.object.Digest:
		return c.fail(Failure{
			Class: Terminal, Reason: WaitNotDeterministic,
			Message: "it drifted, but is not repaired: its manifest differs at each rendering, for example because of " +
				"random values; make the rendering deterministic, or change the inputs",
		})
	case c.policy == metav1alpha1.UpdateReplace:
		return c.act(VerbReplace, reason)
	case c.policy == metav1alpha1.UpdateRecreate && reason == ReasonChanged && !c.holdsOthers():
		return c.act(VerbDelete, reason)
	}
	d := c.act(VerbApply, reason)
	d.action.TakeAllFields = c.policy == metav1alpha1.UpdateSSAOverride && c.hasPreviousManagers()
	d.action.Migrate = d.action.TakeAllFields || c.live.Updated != "" || c.listedBeforeFirstApply() ||
		reason.Adopts() && c.hasPreviousManagers()
	return d
}

// applied reports whether the manifest was applied before. A manifest rendered again from the same inputs counts as the
// applied one.
func (c candidate) applied() bool {
	return c.entry.Digest != "" && (c.entry.Digest == c.object.Digest || c.sameInputs)
}

// written reports whether this pass wrote the object, and nothing newer was observed since.
func (c candidate) written() bool {
	return c.result.Verb == VerbApply || c.result.Verb == VerbReplace || c.result.Verb == VerbCreate
}

// changed reports whether the live object was written from another manifest, which is to be replaced.
func (c candidate) changed() bool {
	return c.live.Digest != c.object.Digest && (!c.sameInputs || c.entry.Digest != c.live.Digest)
}

// renderedAgain reports whether the manifest differs from the applied one, although the inputs are the same. The
// applied one is kept.
func (c candidate) renderedAgain() bool { return c.sameInputs && c.entry.Digest != c.object.Digest }

// ownedByOther reports whether the live object has another owner.
func (c candidate) ownedByOther() bool { return c.live.Owner != "" && c.live.Owner != c.owner }

// holdsOthers reports whether other objects, or data, would be deleted with the object.
func (c candidate) holdsOthers() bool {
	return len(c.object.Types) > 0 || c.object.Stage == manifests.StageNamespaces ||
		IsClaim(c.object.Key) && c.deletion != metav1alpha1.DeleteDelete
}

// newEntry returns the entry of an object that was never written.
func (c candidate) newEntry() metav1alpha1.InventoryEntry {
	o := c.object
	e := metav1alpha1.InventoryEntry{
		Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name,
		Revision: c.revision, Rendition: c.rendition, Order: o.Settings.Order, DeleteOrder: o.Settings.DeleteOrder,
		UpdatePolicy: o.Settings.UpdatePolicy, DeletePolicy: c.deletion, Phase: string(o.Settings.Phase),
		Occurrence: c.recordedNumber(),
	}
	for _, t := range o.Types {
		e.Types = append(e.Types, t.String())
	}
	return e
}
