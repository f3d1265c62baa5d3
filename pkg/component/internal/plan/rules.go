package plan

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func ruleFailed(c candidate) (decision, bool) {
	if c.result.Failure != nil {
		return c.fail(*c.result.Failure), true
	}
	if c.result.Attempts >= maxAttempts {
		return c.fail(Failure{
			Class: Transient, Reason: WaitContended,
			Message: fmt.Sprintf("it changed %d times while it was being written", c.result.Attempts),
		}), true
	}
	return decision{}, false
}

func ruleNotServed(c candidate) (decision, bool) {
	if c.object.Scope != manifests.ScopeUnknown {
		return decision{}, false
	}
	return c.wait(WaitNotServed, fmt.Sprintf("the API server does not serve %s; install what defines it", c.object.GroupVersionKind())), true
}

// ruleUnwatched asks for what no watch tells, in each pass.
func ruleUnwatched(c candidate) (decision, bool) {
	return c.act(VerbRead, ReasonUnwatched), c.live.unwatched()
}

func ruleUnknown(c candidate) (decision, bool) {
	if c.live.Presence == Absent || c.live.Presence == Present {
		return decision{}, false
	}
	if c.live.Reason == WaitUnauthorized || c.live.Reason == WaitNotListable {
		return c.fail(Failure{Class: Terminal, Reason: c.live.Reason, Message: c.live.Message}), true
	}
	return c.wait(c.live.Reason, c.live.Message), true
}

// ruleCompleted leaves a Job alone that Kubernetes removed after it had finished: creating it again would run it again.
func ruleCompleted(c candidate) (decision, bool) {
	gone := c.live.Presence == Absent || c.live.Terminating
	if !gone || !c.object.Ephemeral || c.appliesAgain() {
		return decision{}, false
	}
	if c.entry.Completed {
		return decision{}, true
	}
	if c.live.Finished && manifests.SameContent(c.live.Digest, c.object.Digest) {
		e := c.newEntry()
		e.UID, e.Digest, e.Completed = c.live.UID, c.live.Digest, true
		e.Trigger = cmp.Or(c.entry.Trigger, c.followed())
		return decision{entry: &e}, true
	}
	return decision{}, false
}

func ruleAbsent(c candidate) (decision, bool) {
	if c.live.Presence != Absent {
		return decision{}, false
	}
	switch {
	case c.entry.Completed:
		// It runs once more; that is no repair, and waits for its wave.
		d := c.act(VerbCreate, c.reasonToApplyAgain())
		d.repair = false
		return d, true
	case c.entry.UID == "":
		return c.act(VerbCreate, ReasonNew), true
	case !c.applied():
		return c.act(VerbCreate, ReasonChanged), true
	}
	return c.withBackoff(c.act(VerbCreate, ReasonMissing)), true
}

func ruleTerminating(c candidate) (decision, bool) {
	const message = "it is being deleted; it is created again once it is gone"
	switch {
	case !c.live.Terminating:
		return decision{}, false
	case c.live.Owner != c.owner:
		// No watch of ours tells when it is gone.
		return c.fail(Failure{Class: Transient, Reason: WaitTerminating, Message: message}), true
	}
	return c.wait(WaitTerminating, message), true
}

func ruleUnlabelled(c candidate) (decision, bool) {
	if c.live.Owner != "" || c.entry.UID == "" || c.entry.UID != c.live.UID {
		return decision{}, false
	}
	return c.withBackoff(c.update(ReasonUnlabelled)), true
}

func ruleUnowned(c candidate) (decision, bool) {
	if c.live.Owner != "" {
		return decision{}, false
	}
	if c.adoption == metav1alpha1.AdoptNever {
		return c.fail(Failure{
			Class: Terminal, Reason: WaitOwnershipConflict,
			Message: fmt.Sprintf("it exists already, and its adoption policy is never; delete it, %s, or change the policy", c.avoidance()),
		}), true
	}
	return c.update(ReasonAdopted), true
}

// changed says that the object was written from another manifest, which is to be replaced.
func (c candidate) changed() bool {
	return c.live.Digest != c.object.Digest && (!c.sameInputs || c.entry.Digest != c.live.Digest)
}

func ruleChanged(c candidate) (decision, bool) {
	switch {
	case !c.changed():
		return decision{}, false
	case c.entry.Digest == c.object.Digest:
		return c.withBackoff(c.update(ReasonDrifted)), true
	case manifests.SameContent(c.live.Digest, c.object.Digest):
		return c.update(ReasonSettings), true
	}
	return c.update(ReasonChanged), true
}

// ruleUnverified handles what a crash left: the object carries our digest, but what the server made of it was not recorded.
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
		if !c.written() && c.triggered() {
			// Nobody knows for which state of the component it was applied.
			return c.applyAgain(ReasonTriggered), true
		}
	}
	d, _ := ruleInSync(c)
	d.entry = new(c.record())
	return d, true
}

// record is the entry of the object as the server's answer left it.
func (c candidate) record() metav1alpha1.InventoryEntry {
	e := c.newEntry()
	e.UID, e.Digest = c.live.UID, c.live.Digest
	e.Completed = c.object.Ephemeral && c.live.Readiness.State == ready.Ready
	e.Trigger, e.AppliedAt = c.entry.Trigger, c.entry.AppliedAt
	if c.written() {
		e.Trigger, e.AppliedAt = c.followed(), c.stamp()
	}
	if c.live.Coverage == CoverageFull {
		e.Fields = c.live.fields(c.policy)
	} else {
		e.Values = c.live.Values
	}
	return e
}

func ruleDrifted(c candidate) (decision, bool) {
	switch {
	case c.entry.Values != "" && c.live.Values == "" && c.waitsForRepair():
		return c.deferRepair(c.repairs), true
	case c.entry.Values != "" && c.live.Values == "":
		return c.act(VerbRead, ReasonUnverified), true
	case c.entry.Values != "" && c.live.Values == c.entry.Values:
		return decision{}, false
	case c.entry.Values == "" && c.live.fields(c.policy) == c.entry.Fields:
		return decision{}, false
	case c.written() && c.live.Coverage != CoverageUnknown:
		// The repair was answered: what the server made of it is the new record.
		d, _ := ruleInSync(c)
		d.entry = new(c.record())
		return d, true
	}
	return c.withBackoff(c.update(ReasonDrifted)), true
}

// completed notes of an object that may go now that it had done its work.
func (c candidate) completed() decision {
	if !c.object.Ephemeral || c.entry.Completed || !c.applied() {
		return decision{}
	}
	e := c.entry
	e.Completed = true
	return decision{entry: &e}
}

func ruleInSync(c candidate) (decision, bool) {
	r := c.live.Readiness
	switch r.State {
	case ready.Ready:
		return c.completed(), true
	case ready.Failed:
		d := c.fail(Failure{Class: Terminal, Reason: WaitDependentFailed, Message: r.Message})
		d.applied = true
		return d, true
	case ready.InProgress, ready.Terminating, ready.Unknown:
	}
	d := c.wait(WaitReason(r.State), r.Message)
	d.applied = true
	return d, true
}

// advice says what to do about a field that cannot change, where the object is updated in place.
func (c candidate) advice() string {
	if c.holdsOthers() || c.policy == metav1alpha1.UpdateRecreate {
		return "keep it, or delete the object first"
	}
	return "keep it, set the update policy recreate, or delete the object first"
}

// ruleRetained handles the removal of a value that cannot change. The API server answers with success, and keeps it: a headless Service stays
// headless, and nobody would be told.
func ruleRetained(c candidate) (decision, bool) {
	if !c.changed() || c.policy == metav1alpha1.UpdateRecreate || len(c.live.Retained) == 0 {
		return decision{}, false
	}
	whole, err := c.object.Whole()
	if err != nil {
		return c.fail(Failure{Class: Transient, Reason: WaitUnreadable, Message: err.Error()}), true
	}
	if kind, _, _ := unstructured.NestedString(whole.Body.Object, "spec", "type"); kind == "ExternalName" {
		// Such a Service has no address, and loses the one that it had.
		return decision{}, false
	}
	for _, field := range c.live.Retained {
		if _, named, _ := unstructured.NestedFieldNoCopy(whole.Body.Object, strings.Split(field, ".")...); !named {
			return c.fail(Failure{
				Class: Terminal, Reason: WaitImmutable,
				Message: fmt.Sprintf("%s is dropped from the manifest, but the API server would keep it: the field cannot change (%s)", field, c.advice()),
			}), true
		}
	}
	return decision{}, false
}
