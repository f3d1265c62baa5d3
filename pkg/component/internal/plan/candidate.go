package plan

import (
	"cmp"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// candidate is one desired object with what is known of it.
type candidate struct {
	owner string
	// component is the key of the component itself.
	component manifests.Key
	// previousManagers are the managers that leave their fields to us.
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
	// deletion is the delete policy as it is recorded.
	deletion metav1alpha1.DeletePolicy
	reapply  time.Duration
	entry    metav1alpha1.InventoryEntry
	live     Observed
	result   Result
	// repairs is what is remembered of those of the same manifest.
	repairs Repairs
	// missing is the namespace that the last write missed.
	missing missingNamespace
}

func newCandidate(f Facts, o *manifests.Object) candidate {
	c := candidate{
		owner: f.Owner, component: f.Component, previousManagers: f.PreviousManagers, revision: f.Revision, rendition: f.Rendition, trigger: f.Trigger, now: f.Now, started: f.Started, object: o,
		reconcile: cmp.Or(o.Settings.ReconcilePolicy, f.Defaults.Reconcile),
		policy:    o.Settings.UpdatePolicy, adoption: o.Settings.AdoptionPolicy, reapply: f.Defaults.Reapply,
		deletion: RecordedDeletePolicy(o.Key, o.Settings.DeletePolicy, f.Defaults.Delete),
		entry:    f.Inventory[o.Key], live: f.Live.Of(o.Key), result: f.Results[o.Key],
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
	if c.policy == "" {
		c.policy = f.Defaults.Update
	}
	if c.adoption == "" {
		c.adoption = f.Defaults.Adoption
	}
	return c
}

// isSameInputs says that what was applied was rendered from the same inputs as the manifest. Work that is done once follows the revision
// alone: it is not done again because of what was looked up.
func (c candidate) isSameInputs() bool {
	if c.entry.Digest == "" || c.entry.Revision == 0 || c.entry.Revision != c.revision {
		return false
	}
	return c.entry.Rendition == c.rendition || c.entry.Completed || c.object.Ephemeral || manifests.RunsOnce(c.object.Key.GroupKind())
}

// decision is what a rule says of an object: an action, or waiting, or neither. Neither means of a candidate that it is in sync and ready,
// and of a removal that its entry is forgotten.
type decision struct {
	action *Action
	// repair says of an action that it restores what was applied already, so that it need not wait for its wave.
	repair  bool
	waiting *Waiting
	// applied says of a waiting object that the API server has its manifest.
	applied bool
	// repairs says that a repair is put off, and what is to be remembered of it.
	repairs *Repairs
	// entry replaces the record.
	entry *metav1alpha1.InventoryEntry
	// guard says of a removal that it is not deleted before a guard holds.
	guard bool
}

// rule decides on a candidate or a removal, or leaves it to the next rule.
type rule[S any] struct {
	name   string
	decide func(S) (decision, bool)
}

// decide asks the rules in order; the first that decides wins.
func decide[S any](rules []rule[S], subject S) decision {
	for _, r := range rules {
		if d, ok := r.decide(subject); ok {
			return d
		}
	}
	return decision{}
}

// applyRules decide on desired objects.
var applyRules = []rule[candidate]{
	{"a namespace that is missing is created by policy", ruleNamespaceMissing},
	{"an object of a phase is skipped where its namespace is being deleted", ruleSkipped},
	{"an object that failed in this pass is left alone until the next", ruleFailed},
	{"an object of a type that nobody serves waits", ruleNotServed},
	{"an object that was purged is complete", rulePurged},
	{"an object of a type that is not watched is read", ruleUnwatched},
	{"an object of which nothing is known waits", ruleUnknown},
	{"an object that is applied once is left alone after that", ruleOnce},
	{"an object that did its work and went is complete", ruleCompleted},
	{"an absent object is created", ruleAbsent},
	{"an object that is being deleted is waited for", ruleTerminating},
	{"an object that somebody else owns is taken over by policy", ruleTakeOver},
	{"an object that somebody else owns is a conflict", ruleOwned},
	{"an object of ours without its label is labelled again", ruleUnlabelled},
	{"an object that nobody owns is adopted by policy", ruleUnowned},
	{"an object whose manifest drops what the API server would keep is a failure", ruleRetained},
	{"an object that lives in the cluster with another manifest is updated", ruleChanged},
	{"an object whose record is incomplete is verified", ruleUnverified},
	{"an object that drifted is repaired", ruleDrifted},
	{"an object that follows the component is applied again when the component changed", ruleTriggered},
	{"an object is applied again after its interval", ruleReapply},
	{"an object in sync is ready, or waited for", ruleInSync},
}

func (c candidate) wait(reason WaitReason, message string) decision {
	return decision{waiting: &Waiting{Key: c.object.Key, Wave: c.object.Settings.Order, Reason: reason, Message: message}}
}

func (c candidate) fail(f Failure) decision {
	d := c.wait(f.Reason, f.Message)
	d.waiting.Failure = &f
	return d
}

// applied says that the manifest was applied before; so was one that differs only because it was rendered again from the same inputs.
func (c candidate) applied() bool {
	return c.entry.Digest != "" && (c.entry.Digest == c.object.Digest || c.sameInputs)
}

// written says that this pass wrote the object, and that nothing is known of it that is newer.
func (c candidate) written() bool {
	return c.result.Verb == VerbApply || c.result.Verb == VerbReplace || c.result.Verb == VerbCreate
}

// act takes an action under the preconditions of what was observed. It is a repair where the manifest was applied before.
func (c candidate) act(verb Verb, reason Reason) decision {
	return decision{
		repair: c.applied(),
		action: &Action{
			Verb: verb, Key: c.object.Key, Reason: reason, Wave: c.object.Settings.Order, Version: c.object.Version,
			Object: c.object, Policy: c.policy, Owner: c.owner, PreviousManagers: c.previousManagers, Advice: c.advice(),
			Preconditions: Preconditions{
				UID: c.live.UID, ResourceVersion: c.live.ResourceVersion, Owner: c.owner,
				Exact: verb == VerbDelete || reason == ReasonAdopted || reason == ReasonUnlabelled,
			},
		},
	}
}

// update brings a live object to its manifest. Recreating is for a real change only: drift is repaired in place. What holds other
// objects, or data, is never recreated: Kubernetes deletes all instances with their definition, and all objects with their namespace.
func (c candidate) update(reason Reason) decision {
	switch {
	case c.sameInputs && c.entry.Digest != c.object.Digest:
		return c.fail(Failure{
			Class: Terminal, Reason: WaitNotDeterministic,
			Message: "it drifted, and is not repaired, because it renders differently each time, as random values do; make the rendering " +
				"deterministic, or change the inputs",
		})
	case c.policy == metav1alpha1.UpdateReplace:
		return c.act(VerbReplace, reason)
	case c.policy == metav1alpha1.UpdateRecreate && reason == ReasonChanged && !c.holdsOthers():
		return c.act(VerbDelete, reason)
	}
	d := c.act(VerbApply, reason)
	d.action.TakeAllFields = c.policy == metav1alpha1.UpdateSSAOverride && c.hasPreviousManagers()
	d.action.Migrate = d.action.TakeAllFields || c.live.Updated != "" || c.listedBeforeFirstApply() || reason.Adopts() && c.hasPreviousManagers()
	return d
}

// holder says that the object holds others, or data, which would go with it.
func (c candidate) holdsOthers() bool {
	return len(c.object.Types) > 0 || c.object.Stage == manifests.StageNamespaces || IsClaim(c.object.Key) && c.deletion != metav1alpha1.DeleteDelete
}
