package plan

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/component/internal/serverrules"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// applyRules are the rules for desired objects. The first rule that applies to an object decides.
var applyRules = []rule[candidate]{
	{"a missing namespace is created if the policy permits that", ruleNamespaceMissing},
	{"an object of a phase is skipped if its namespace is being deleted", ruleSkipped},
	{"an object that failed in this pass is not tried again before the next pass", ruleFailed},
	{"an object whose manifest the API server would refuse is a failure", ruleRefused},
	{"an object of a type that is not served waits", ruleNotServed},
	{"the component waits for an object that it only observes", ruleObserved},
	{"an object that was purged is complete", rulePurged},
	{"an object that was deleted because it failed stays failed", rulePurgedFailed},
	{"an object of a type that is not watched is read", ruleUnwatched},
	{"an object in an unknown state waits", ruleUnknown},
	{"an object that is not updated is read if no watch shows the values that it exports", ruleUnreadKept},
	{"an object with the reconcile policy once is not written again", ruleOnce},
	{"an object with the reconcile policy create-only is not changed while it exists", ruleCreateOnly},
	{"an object that completed its work and was removed after that is complete", ruleCompleted},
	{"an object with holes waits for the values that it binds", ruleUnbound},
	{"the component waits for an absent object with the reconcile policy update-only", ruleUpdateOnly},
	{"an absent object is not created while it is not decided whether it is applied", ruleUndecided},
	{"an absent object is a conflict if its owner may create it again", ruleReserved},
	{"an absent object is created", ruleAbsent},
	{"the component waits for an object that is being deleted", ruleTerminating},
	{"an object with another owner is taken over if the policy permits that", ruleTakeOver},
	{"an object with another owner is a conflict", ruleOwned},
	{"our object is labelled again if its label was removed", ruleUnlabelled},
	{"an object of a deletion phase does not take over an object of others", ruleOthersInPhase},
	{"an object without an owner is adopted if the policy permits that", ruleUnowned},
	{"an object whose current version its matcher has not seen is read", ruleUnmatched},
	{"an object whose matcher failed is left unchanged", ruleMatcherFailed},
	{"an object that its matcher accepts with a changed manifest is not written", ruleAccepted},
	{"an object that its matcher leaves alone is not written", ruleLeftAlone},
	{"an object whose manifest drops a field that the API server retains is a failure", ruleRetained},
	{"an object that was written from another manifest is updated", ruleChanged},
	{"an object whose state after the last write was not stored is compared with its manifest", ruleUnverified},
	{"an object that drifted is repaired", ruleDrifted},
	{"an object is applied again when the component changed, if its reconcile policy requires that", ruleTriggered},
	{"an object is applied again after its reapply interval", ruleReapply},
	{"an object with the reconcile policy always is applied in each pass", ruleAlways},
	{"an object that failed is deleted if its manifest requires that", rulePurgeFailed},
	{"an object is read if no watch shows the values that it exports", ruleUnread},
	{"an object whose exports cannot be evaluated is a failure", ruleUnexported},
	{"the component waits for an object in sync until it is ready", ruleInSync},
}

func ruleFailed(c candidate) (decision, bool) {
	if c.result.Failure != nil {
		return c.fail(*c.result.Failure), true
	}
	if c.result.Attempts >= c.attempts {
		return c.fail(Failure{
			Class: Transient, Reason: WaitChangedMeanwhile,
			Message: fmt.Sprintf("it changed %d times while it was being written", c.result.Attempts),
		}), true
	}
	return decision{}, false
}

func ruleNotServed(c candidate) (decision, bool) {
	if c.object.Scope != manifests.ScopeUnknown {
		return decision{}, false
	}
	message := fmt.Sprintf("%s is not served yet, although it is defined here", c.object.Key.GroupKind())
	return c.wait(WaitNotServed, message), true
}

// ruleUnwatched reads an object whose type cannot be watched. The object is read once in each pass.
func ruleUnwatched(c candidate) (decision, bool) {
	if !c.live.unwatched() {
		return decision{}, false
	}
	return c.act(VerbRead, ReasonUnwatched), true
}

func ruleUnknown(c candidate) (decision, bool) {
	if c.live.Presence == Absent || c.live.Presence == Present {
		return decision{}, false
	}
	if c.live.Reason == WaitUnauthorized || c.live.Reason == WaitNotListable {
		return c.fail(Failure{Class: Terminal, Reason: c.live.Reason, Message: c.live.Message}), true
	}
	if c.live.Failure != nil {
		return c.fail(*c.live.Failure), true
	}
	return c.wait(c.live.Reason, c.live.Message), true
}

// ruleCompleted prevents that a Job is created again after it finished and Kubernetes removed it. Otherwise the Job
// would run again.
func ruleCompleted(c candidate) (decision, bool) {
	absent := c.live.Presence == Absent || c.live.Terminating
	if !absent || !c.object.Ephemeral || c.renewed() {
		return decision{}, false
	}
	if c.entry.Completed {
		return decision{}, true
	}
	if c.live.Finished && digests.SameContent(c.live.Digest, c.object.Digest) {
		e := c.newEntry()
		e.UID, e.Digest, e.Completed = c.live.UID, c.live.Digest, true
		e.Trigger = cmp.Or(c.entry.Trigger, c.followedTrigger())
		return decision{entry: &e}, true
	}
	return decision{}, false
}

// ruleUndecided waits with the creation of an object as long as it may inherit a false condition. Without the rule, a
// deletion that a crash interrupted would be undone before the condition has a value.
func ruleUndecided(c candidate) (decision, bool) {
	if c.live.Presence != Absent || c.object.Undecided == nil {
		return decision{}, false
	}
	return c.wait(WaitUndecided, fmt.Sprintf(
		"it is not created before it is decided whether %s is applied, which it depends on", c.object.Undecided,
	)), true
}

func ruleAbsent(c candidate) (decision, bool) {
	if c.live.Presence != Absent {
		return decision{}, false
	}
	switch {
	case c.entry.Completed:
		// The object runs again. This create is not a repair, so it waits for earlier waves.
		d := c.act(VerbCreate, reasonOfRenewal(c))
		d.repair = false
		return d, true
	case c.entry.UID == "":
		return c.act(VerbCreate, ReasonNew), true
	case !c.applied():
		return c.act(VerbCreate, ReasonChanged), true
	}
	return withBackoff(c, c.act(VerbCreate, ReasonMissing)), true
}

func ruleTerminating(c candidate) (decision, bool) {
	message := whyTerminating(c.live) + "; it is created again afterwards"
	switch {
	case !c.live.Terminating:
		return decision{}, false
	case c.live.Owner != c.owner:
		// The object does not have our label, so our watches do not show when the object was deleted. A transient failure
		// makes later passes read the object.
		return c.fail(Failure{Class: Transient, Reason: WaitTerminating, Message: message}), true
	}
	d := c.wait(WaitTerminating, message)
	if !c.object.Key.IsExternal() {
		d.waiting.UID, d.waiting.Generation = c.live.UID, c.live.Generation
	}
	return d, true
}

// whyTerminating says that an object is being deleted, and which finalizers hold it, as far as its readiness names
// them.
func whyTerminating(live Observed) string {
	if live.Gone == GoneUnset && live.Readiness.State == ready.Terminating {
		return live.Readiness.Message
	}
	return ready.Deleting
}

func ruleChanged(c candidate) (decision, bool) {
	switch {
	case !c.changed():
		return decision{}, false
	case c.entry.Digest == c.object.Digest:
		return withBackoff(c, c.update(ReasonDrifted)), true
	case digests.SameContent(c.live.Digest, c.object.Digest):
		return c.update(ReasonSettings), true
	}
	return c.update(ReasonChanged), true
}

// ruleUnverified handles an object with the digest of the rendered manifest, if the inventory does not contain the
// result of the last write because the process crashed after the write.
func ruleUnverified(c candidate) (decision, bool) {
	if c.entry.UID == c.live.UID && c.entry.Digest == c.live.Digest && c.entry.Fields+c.entry.Values != "" {
		return decision{}, false
	}
	switch c.live.Coverage {
	case CoverageUnknown:
		return c.act(VerbRead, ReasonUnverified), true
	case CoveragePartial:
		if !c.written() {
			return c.update(ReasonUnverified), true
		}
	case CoverageFull:
		switch {
		case c.written():
		case c.triggered():
			// The record does not show for which state of the component the object was applied, so the object is
			// applied again.
			return applyAgain(c, ReasonTriggered), true
		case c.live.MatchResult != nil && c.live.MatchResult.Differs != "":
			return repairMatched(c)
		}
	}
	if c.object.Settings.Timeout > 0 && c.entry.Digest != c.live.Digest {
		// The recorded time belongs to another manifest.
		c.entry.AppliedAt = 0
	}
	d, _ := ruleInSync(c)
	d.entry = new(entryAfterWrite(c))
	return d, true
}

// entryAfterWrite returns the entry of an object with the facts in the response of the API server.
func entryAfterWrite(c candidate) metav1alpha1.InventoryEntry {
	e := c.newEntry()
	e.UID, e.Digest, e.CreationToken = c.live.UID, c.live.Digest, ""
	e.Completed = c.object.Ephemeral && c.live.Readiness.State == ready.Ready
	e.Trigger, e.AppliedAt = c.entry.Trigger, c.entry.AppliedAt
	if c.written() {
		e.Trigger, e.AppliedAt = c.followedTrigger(), appliedAt(c)
	}
	if c.live.Coverage == CoverageFull {
		e.Fields = c.live.fields(c.policy)
	} else {
		e.Values = c.live.Values
	}
	if c.live.Response != nil && c.live.Digest == c.object.Digest {
		// Values of another manifest are not overridden. A read of such an object compares them, too.
		e.Overridden = c.live.Response.Overridden
	}
	return e
}

func ruleDrifted(c candidate) (decision, bool) {
	switch {
	case c.live.MatchResult != nil:
		return repairMatched(c)
	case c.entry.Values != "" && c.live.Values == "" && c.waitsForRepair():
		return deferRepair(c, c.repairs), true
	case c.entry.Values != "" && c.live.Values == "":
		return c.act(VerbRead, ReasonUnverified), true
	case c.entry.Values != "" && c.live.Values == c.entry.Values:
		return decision{}, false
	case c.entry.Values == "" && c.live.fields(c.policy) == c.entry.Fields:
		return decision{}, false
	case c.written() && c.live.Coverage != CoverageUnknown:
		// The observed state is the response to the repair. So the state is entered into the inventory, and later
		// states are compared with it.
		d, _ := ruleInSync(c)
		d.entry = new(entryAfterWrite(c))
		return d, true
	}
	return withBackoff(c, c.update(ReasonDrifted)), true
}

func ruleInSync(c candidate) (decision, bool) {
	r := c.live.Readiness
	switch r.State {
	case ready.Ready:
		return complete(c), true
	case ready.Failed:
		d := c.fail(Failure{Class: Terminal, Reason: WaitDependentFailed, Message: r.Message})
		d.applied = true
		return d, true
	case ready.Unread:
		return c.act(VerbRead, ReasonUnread), true
	case ready.InProgress, ready.Terminating, ready.Unknown:
	}
	if isTimedOut(c) {
		return unready(c, c.fail(Failure{Class: Terminal, Reason: WaitTimeout, Message: timeoutMessage(c)})), true
	}
	return unready(c, c.wait(WaitReason(r.State), r.Message)), true
}

// unready returns the decision to wait for an object that is applied and not ready.
func unready(c candidate, d decision) decision {
	d.applied = true
	d.waiting.UID, d.waiting.Generation = c.live.UID, c.live.Generation
	return d
}

// complete returns a decision that notes that an object completed its work, if Kubernetes may remove the object after
// that.
func complete(c candidate) decision {
	if !c.object.Ephemeral || c.entry.Completed || !c.applied() {
		return decision{}
	}
	e := c.entry
	e.Completed = true
	return decision{entry: &e}
}

// dropsCopy reports whether the manifest drops one of our fields of which the API server keeps a copy, or changes
// fields from which the API server derived a default. The copy or the default must become ours before the apply, which
// otherwise leaves it.
func dropsCopy(c candidate) bool {
	if len(c.live.Retained) == 0 {
		return false
	}
	whole, err := c.object.Whole()
	return err == nil && serverrules.DropsCopy(c.object.Key.GroupKind(), whole.Body.Object, c.live.Retained)
}

// ruleRetained returns a failure if the manifest drops an immutable field. The API server accepts such an update, and
// silently retains the value. For example, a headless Service would stay headless.
func ruleRetained(c candidate) (decision, bool) {
	if !c.changed() || c.policy == metav1alpha1.UpdateRecreate || len(c.live.Retained) == 0 ||
		serverrules.MayDrop(c.object.Key.GroupKind()) {
		return decision{}, false
	}
	whole, err := c.object.Whole()
	if err != nil {
		return c.fail(Failure{Class: Transient, Reason: WaitUnreadable, Message: err.Error()}), true
	}
	if kind, _, _ := unstructured.NestedString(whole.Body.Object, "spec", "type"); kind == "ExternalName" {
		// A Service of type ExternalName has no cluster IP, so the API server removes the previous cluster IP.
		return decision{}, false
	}
	for _, field := range c.live.Retained {
		if _, named, _ := unstructured.NestedFieldNoCopy(whole.Body.Object, strings.Split(field, ".")...); !named {
			return c.fail(Failure{
				Class: Terminal, Reason: WaitImmutable,
				Message: fmt.Sprintf("the manifest no longer sets %s, but the API server would retain it, "+
					"because the field cannot change (%s)", field, immutableAdvice(c)),
			}), true
		}
	}
	return decision{}, false
}
