package plan

import (
	"cmp"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// candidate is a desired object with the facts about it.
type candidate struct {
	// owner is the owner id of the component, and ownerName is its readable form.
	owner, ownerName string
	// component is the key of the component itself. remote is set if it is in another cluster than the object.
	component manifests.Key
	remote    bool
	// named is set if messages may name the owner of the object.
	named bool
	// adoptions are the existing objects that the component may take over.
	adoptions Adoptions
	// previousManagers are the field managers of other tools, such as kubectl and Helm, whose fields the component takes
	// over.
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
	// deletion is the delete policy as the inventory contains it; see RecordedDeletePolicy.
	deletion metav1alpha1.DeletePolicy
	reapply  time.Duration
	entry    metav1alpha1.InventoryEntry
	live     Observed
	result   Result
	// repairs are the recent repairs of the object. The field is empty if the manifest has changed since then.
	repairs Repairs
	// matchedKinds are the kinds whose objects an author compares with their manifests.
	matchedKinds Matched
	// missing is the namespace that did not exist, so that the last write failed.
	missing missingNamespace
	// attempts is the maximum number of actions on the object in a pass.
	attempts int
	// last is set if the object has no later occurrence.
	last bool
	// refused is the failure of a manifest that the API server would refuse; nil for all others.
	refused *Failure
	// unbound says which value the object waits for; nil if the object has no holes, or if they are filled.
	unbound *Unbound
}

func newCandidate(f Facts, o *manifests.Object) candidate {
	c := candidate{
		owner: f.Owner, ownerName: f.Guard.Owner,
		component: f.Component, remote: f.RemoteTarget, named: f.Names.mayName(o.Key),
		adoptions: f.Adoptions, previousManagers: f.PreviousManagers,
		revision: f.Revision, rendition: f.Rendition, trigger: f.Trigger, now: f.Now, started: f.Started, object: o,
		reconcile: cmp.Or(o.Settings.ReconcilePolicy, f.Defaults.Reconcile),
		policy:    cmp.Or(o.Settings.UpdatePolicy, f.Defaults.Update),
		adoption:  cmp.Or(o.Settings.AdoptionPolicy, f.Defaults.Adoption),
		reapply:   f.Defaults.Reapply,
		entry:     f.Inventory[o.Key], live: f.LiveOf(o.Key), result: f.Results[o.Key],
		attempts: maxAttempts, last: true, matchedKinds: f.Matched,
	}
	fallback := DefaultDeletePolicy(c.reconcile, f.Defaults.Delete)
	c.deletion = f.Needs.policy(o.Key, RecordedDeletePolicy(o.Key, o.Settings.DeletePolicy, fallback))
	if o.Settings.ReapplyInterval != nil {
		c.reapply = *o.Settings.ReapplyInterval
	}
	if r := f.Repairs[o.Key]; r.Digest == o.Digest {
		c.repairs = r
	}
	if u, ok := f.Unbound[o.Key]; ok {
		c.unbound = &u
	}
	if refused, ok := f.Refused[o.Key]; ok {
		c.refused = &refused
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

// isSameInputs reports whether the applied manifest and the current manifest were rendered from the same inputs. For an
// object that runs once, such as a Job, only the revision is compared: the work must not run again because a looked-up
// object changed.
func (c candidate) isSameInputs() bool {
	if c.entry.Digest == "" || c.entry.Revision == 0 || c.entry.Revision != c.revision || c.differsInIgnored() {
		return false
	}
	if differInValues(c.entry.Digest, c.object.Digest) {
		return c.entry.Completed || c.object.Ephemeral || builtintypes.RunsOnce(c.object.Key.GroupKind())
	}
	return c.entry.Rendition == c.rendition || c.entry.Completed || c.object.Ephemeral ||
		builtintypes.RunsOnce(c.object.Key.GroupKind())
}

// differsInIgnored reports whether the applied manifest and the current manifest of an object differ only in settings.
// Rules of ignored fields are among the settings, and are no inputs of the rendering. An object with several
// occurrences has other settings in each of them.
func (c candidate) differsInIgnored() bool {
	return c.entry.Digest != c.object.Digest && digests.SameContent(c.entry.Digest, c.object.Digest) &&
		c.object.Occurrence == 0 && c.last
}

// decision is the result of a rule for one object: an action, a wait, or neither. Without an action and a wait, a
// desired object is in sync and ready; for an object to be removed, only its inventory entry has to be dropped.
type decision struct {
	action *Action
	// repair is set if the action restores an applied manifest. A repair does not wait for earlier waves.
	repair  bool
	waiting *Waiting
	// applied is set if the manifest is already applied, and the wait is only for the readiness of the object.
	applied bool
	// repairs replaces candidate.repairs. repairs is set only if a repair is deferred.
	repairs *Repairs
	// entry, if set, replaces the inventory entry of the object.
	entry *metav1alpha1.InventoryEntry
	// guard is set if the object is a CustomResourceDefinition that must not be deleted before an admission guard refuses
	// new instances of its type.
	guard bool
}

// rule decides about a candidate or a removal. The function decide returns false if the rule does not apply to the
// object; then the next rule is tried.
type rule[S any] struct {
	name   string
	decide func(S) (decision, bool)
}

// decide returns the decision of the first rule that applies to the subject.
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

// act returns an action whose preconditions are the observed UID and resource version of the object. If the manifest
// was applied before, the action is a repair.
func (c candidate) act(verb Verb, reason Reason) decision {
	from, note := "", ""
	if reason.Adopts() {
		from, note = c.adoptedFrom(), noteOfAdoption(c)
	}
	return decision{
		repair: c.applied(),
		action: &Action{
			Verb: verb, Key: c.object.Key, Reason: reason, Wave: c.object.Settings.Order, Version: c.object.Version,
			Object: c.object, Policy: c.policy, Owner: c.owner, PreviousManagers: c.previousManagers, Advice: immutableAdvice(c),
			AdoptedFrom: from, Note: note,
			Preconditions: Preconditions{
				UID: c.live.UID, ResourceVersion: c.live.ResourceVersion, Owner: c.owner,
				Exact: verb == VerbDelete || reason.AdoptsUnowned() || reason == ReasonUnlabelled,
			},
		},
	}
}

// update returns the action that updates a live object to match its manifest. An object is recreated only if its
// manifest changed; drift is repaired in place. An object that holds other objects or data is never recreated, because
// its deletion would delete those objects or data, too.
func (c candidate) update(reason Reason) decision {
	switch {
	case c.sameInputs && c.entry.Digest != c.object.Digest:
		return c.fail(Failure{
			Class: Terminal, Reason: WaitNotDeterministic,
			Message: "it drifted, but is not repaired: its manifest differs at each rendering, for example because of " +
				"random values; render the values that the object has at each rendering, for example from a Secret; any other " +
				"change of the inputs replaces them by new values",
		})
	case c.object.Key.IsExternal():
		return c.updateExternal(reason)
	case c.policy == metav1alpha1.UpdateReplace:
		return c.act(VerbReplace, reason)
	case c.policy == metav1alpha1.UpdateRecreate && reason == ReasonChanged && !c.holdsOthers() &&
		c.reconcile != metav1alpha1.ReconcileUpdateOnly:
		return c.act(VerbDelete, reason)
	}
	return c.applyOver(reason)
}

// applyOver returns the action that applies the manifest over a live object by server-side apply.
func (c candidate) applyOver(reason Reason) decision {
	d := c.act(VerbApply, reason)
	overrides := c.policy == metav1alpha1.UpdateSSAOverride && c.hasPreviousManagers()
	d.action.TakeAllFields, d.action.KeepFields = overrides && !c.isRestored(), overrides && c.isRestored()
	d.action.Migrate = overrides || c.live.Updated != "" || c.live.PreviousFieldOwner ||
		c.live.listedBeforeFirstApply() || reason.Adopts() && c.isClaimed() || dropsCopy(c)
	return d
}

// isClaimed reports whether the live object has fields that an adoption moves to our fields: those of other tools, as
// previous managers or as marks, and the mark of a release.
func (c candidate) isClaimed() bool {
	return c.hasPreviousManagers() || c.live.Mark != nil && *c.live.Mark != ToolMark{}
}

// inDeletion reports whether the object belongs to a phase of the deletion.
func (c candidate) inDeletion() bool { return c.object.Settings.Phase != manifests.PhaseApply }

// applied reports whether the manifest was applied before. If the manifest was rendered from the same inputs as the
// applied manifest, applied returns true even if they differ.
func (c candidate) applied() bool {
	return c.entry.Digest != "" && (c.entry.Digest == c.object.Digest || c.sameInputs)
}

// written reports whether the latest action of this pass on the object created or updated the object.
func (c candidate) written() bool {
	return c.result.Verb == VerbApply || c.result.Verb == VerbReplace || c.result.Verb == VerbCreate
}

// changed reports whether the live object was written from another manifest and must be updated. A manifest that was
// rendered again from the same inputs, with another result, is not a change.
func (c candidate) changed() bool {
	return c.live.Digest != c.object.Digest && (!c.sameInputs || c.entry.Digest != c.live.Digest)
}

// renderedAgain reports whether the manifest differs from the applied manifest, although both were rendered from the
// same inputs. The object then keeps the applied manifest.
func (c candidate) renderedAgain() bool { return c.sameInputs && c.entry.Digest != c.object.Digest }

// ownedByOther reports whether the live object has another owner.
func (c candidate) ownedByOther() bool { return c.live.Owner != "" && c.live.Owner != c.owner }

// holdsOthers reports whether the deletion of the object would also delete other objects or data.
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
		Occurrence: c.recordedNumber(), PrunePolicy: recordedPrunePolicy(o.Settings.PrunePolicy()),
		DependsOn: o.DependsOn(), DependencyGroup: o.DependencyGroup(), External: o.Key.IsExternal(),
		Immutable: o.Immutable,
		Begun:     c.entry.Begun, CreationToken: c.entry.CreationToken,
	}
	for _, t := range o.Types {
		e.Types = append(e.Types, t.String())
	}
	return e
}
