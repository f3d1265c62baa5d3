package externals

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// writtenFields stands for the managed fields of an external, which it does not have. Its matcher finds drift instead.
const writtenFields = "external"

// facts makes the facts about an external for a plan, from its situation.
type facts struct {
	of *situation
	// reduce makes facts from an external in the form of a live object, as from other live objects.
	reduce func(body *unstructured.Unstructured, reconciler string, readiness inspect.Analyzer) plan.Observed
}

// current returns the facts, without a resource version.
func (f facts) current() plan.Observed {
	s := f.of
	if s.isDone() && s.isIdle() {
		return f.absent() // Neither a handler nor credentials are needed any more.
	}
	switch {
	case s.isBlocked():
		return f.blocked()
	case s.recorded.isGone() && !s.canAsk():
		return f.absent()
	case s.isUncertain(), s.recorded.isLost():
		return f.uncertain()
	case !s.canAsk():
		return f.neverCreated()
	case !s.recorded.isClaimed():
		return f.asAnswered()
	case s.observed.failed != nil:
		return failure(s.observed.failed.failure)
	}
	return unknown(plan.WaitInProgress, fmt.Sprintf("the id %q, which a person gave, is being looked up", s.id()))
}

// asAnswered returns the facts that the last answers show.
func (f facts) asAnswered() plan.Observed {
	o := &f.of.observed
	switch {
	case o.missing.confirmed:
		return f.missing()
	case !o.missing.first.IsZero():
		return unknown(plan.WaitInProgress, "it was not found; it is observed again before it counts as deleted")
	case o.answer != nil && !o.isStale(f.of.wanted.info(), f.of.now):
		return f.present()
	case o.failed != nil:
		return failure(o.failed.failure)
	}
	return unknown(plan.WaitObserving, "it has not answered yet")
}

// blocked returns the facts about an external about which nothing can be decided now.
func (f facts) blocked() plan.Observed {
	s := f.of
	switch {
	case s.wanted.driver == nil:
		return failure(plan.Failure{
			Class: plan.Terminal, Reason: plan.WaitNoHandler,
			Message: fmt.Sprintf("no handler is registered for externals of the kind %s", s.wanted.key.Kind),
		})
	case s.wanted.unusable != nil:
		return failure(*s.wanted.unusable)
	case s.underway.verb != "":
		return unknown(plan.WaitInProgress, fmt.Sprintf("a call is under way since %s: %s",
			s.underway.since.UTC().Format(time.RFC3339), s.underway.verb))
	case s.underway.saving && s.underway.unsaved != "":
		return unknown(plan.WaitInProgress, "the result of a call is being stored; it failed: "+s.underway.unsaved)
	case s.underway.saving:
		return unknown(plan.WaitInProgress, "the result of a call is being stored")
	}
	return failure(*s.failure())
}

func unknown(reason plan.WaitReason, message string) plan.Observed {
	return plan.Observed{Presence: plan.Unknown, Reason: reason, Message: message}
}

func failure(f plan.Failure) plan.Observed {
	o := unknown(f.Reason, f.Message)
	o.Failure = &f
	return o
}

func (f facts) absent() plan.Observed {
	return plan.Observed{Presence: plan.Absent, Confirmed: true, UID: f.of.recorded.entry.UID}
}

// neverCreated returns the facts about an external that no call can show: it is created if its kind can create it.
func (f facts) neverCreated() plan.Observed {
	w := &f.of.wanted
	if !w.info().Creates && w.desired != nil {
		return unknown(plan.WaitAbsent, "its kind cannot create it, and its id is not known; set the annotation "+
			w.owner.Reconciler+"/"+manifests.AnnotationExternalID)
	}
	return f.absent()
}

func (f facts) missing() plan.Observed {
	w := &f.of.wanted
	switch {
	case w.desired != nil && w.desired.Settings.IsObserved():
		return f.absent()
	case w.externalID() != "" && f.of.recorded.state == nil:
		return failure(plan.Failure{
			Class: plan.Terminal, Reason: plan.WaitNotFound,
			Message: fmt.Sprintf("its annotation %s names the external %q, which does not exist; correct it; without "+
				"the annotation another external is created", manifests.AnnotationExternalID, w.externalID()),
		})
	case !w.info().Creates && w.desired != nil:
		return unknown(plan.WaitAbsent, "it does not exist, and its kind cannot create it")
	}
	return f.absent()
}

// uncertain returns the facts about an external about which the records do not say whether it exists.
func (f facts) uncertain() plan.Observed {
	s, o := f.of, &f.of.observed
	switch {
	case o.missing.confirmed:
		return f.absent()
	case s.recorded.token() == "" && o.answer != nil && !o.isStale(s.wanted.info(), s.now):
		// No record contains a token that could show whose external it is, so the adoption policy decides.
		return f.present()
	case !s.canAsk() && !s.mayRepeat():
		return f.undecidable()
	case o.failed != nil:
		return failure(o.failed.failure)
	}
	return unknown(plan.WaitInProgress,
		"it is not known whether it was created; it is being searched"+after("; ", s.underway.createError))
}

// undecidable returns the facts about an external about which only a person can say whether it exists.
func (f facts) undecidable() plan.Observed {
	s, r := f.of, &f.of.recorded
	reason, cause := plan.WaitCreateUncertain, "the result of its creation is not known"
	if r.isLost() {
		cause = "its recorded state is lost"
		if r.damaged != "" {
			reason, cause = plan.WaitStateDamaged, "its recorded state is damaged: "+r.damaged
		}
	}
	if since := r.last().Since; !since.IsZero() {
		cause += fmt.Sprintf(" (begun at %s)", since.UTC().Format(time.RFC3339))
	}
	if s.observed.rejection != "" {
		cause = s.observed.rejection + "; " + cause
	}
	token := ", no token"
	if r.token() != "" {
		token = ", token " + r.token()
	}
	return failure(plan.Failure{
		Class: plan.Terminal, Reason: reason,
		Message: fmt.Sprintf("%s; find out whether it exists, and run: fairlead%s %s/%s --id ID, or "+
			"--absent", cause+token+after("; ", s.underway.createError),
			plan.CommandFor("external resolve", s.wanted.owner.Component()), s.wanted.key.Kind, s.wanted.key.Name),
	})
}

// after returns a text after a separator, or nothing if the text is empty.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// present returns the facts about an external that exists. They are made as those of a live object: the answer is its
// status, and the applied manifest has its annotations.
func (f facts) present() plan.Observed {
	s, w := f.of, &f.of.wanted
	o := f.reduce(f.body(), w.owner.Reconciler, f.readiness)
	o.Coverage, o.Applied, o.Updated = plan.CoverageFull, writtenFields, writtenFields
	o.MatchResult = &plan.MatchResult{Differs: s.observed.differs()}
	o.External = &plan.ExternalLimits{NotUpdatable: !w.info().Updates, NotDeletable: !w.info().Deletes}
	if w.desired != nil && s.observed.immutableOf == w.desired.Digest {
		o.External.Immutable = s.observed.immutable
	}
	if foreign := s.observed.answer.Token; foreign != "" && foreign != s.recorded.token() {
		o.Owner, o.OwnerName = foreign, "the owner of the token "+foreign
	}
	if !s.recorded.isOwned() {
		o.Digest, o.Applied, o.Updated = "", "", ""
	}
	return o
}

// readiness implements inspect.Analyzer.
func (f facts) readiness(*unstructured.Unstructured) ready.Result {
	o := &f.of.observed
	switch {
	case o.unverified && o.answer.Differs != "":
		return ready.Result{State: ready.InProgress, Message: fmt.Sprintf(
			"it was written, and still differs from its manifest: %s; it is observed again", o.answer.Differs)}
	case o.answer.Ready:
		return ready.Result{State: ready.Ready}
	}
	return ready.Result{State: ready.InProgress, Message: o.answer.Message}
}

// body returns an external that exists in the form of a live object.
func (f facts) body() *unstructured.Unstructured {
	s, w := f.of, &f.of.wanted
	manifest := s.recorded.applied()
	if manifest == nil {
		manifest = w.manifest()
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": external.Group + "/" + external.Version, "kind": w.key.Kind, "spec": manifest["spec"],
		"metadata": map[string]any{"name": w.key.Name, "uid": s.recorded.token()}, "id": s.id(),
	}}
	labels, _, _ := unstructured.NestedStringMap(manifest, "metadata", "labels")
	annotations, _, _ := unstructured.NestedStringMap(manifest, "metadata", "annotations")
	if !s.recorded.isOwned() {
		delete(labels, w.owner.Reconciler+"/"+manifests.LabelOwnerID)
		delete(annotations, w.owner.Reconciler+"/"+manifests.AnnotationOwnerID)
		delete(annotations, w.owner.Reconciler+"/"+marks.AnnotationDigest)
	}
	body.SetLabels(labels)
	body.SetAnnotations(annotations)
	var observed any
	if utiljson.Unmarshal(s.observed.answer.Observed, &observed) == nil && observed != nil {
		body.Object["status"] = observed
	}
	if s.recorded.last().Intent == externalstate.IntentDelete {
		body.SetDeletionTimestamp(new(metav1.NewTime(s.recorded.state.Since)))
	}
	return body
}

// fingerprint identifies the facts o. The facts of two moments with the same fingerprint do not differ. It is empty if
// the facts cannot be encoded.
func (f facts) fingerprint(o plan.Observed) string {
	exports := ""
	if f.of.observed.answer != nil {
		exports = string(f.of.observed.answer.Observed)
	}
	fingerprint, _ := digests.Of([]any{
		o.Presence, o.Confirmed, o.Reason, o.Message, o.Failure, o.UID, o.Digest, o.Owner, o.Terminating, o.Readiness,
		o.MatchResult, o.External, exports,
	})
	return fingerprint
}

// failureOf returns the failure for the error of a call, and the time after which the call may be repeated.
func failureOf(method Method, err error) (f plan.Failure, after time.Duration) {
	f = plan.Failure{
		Class: plan.Transient, Reason: plan.WaitCallFailed,
		Message: fmt.Sprintf("%s: %v", strings.ToLower(string(method)), err),
	}
	if refused, ok := errors.AsType[*external.RefusedError](err); ok {
		if !refused.Temporary {
			f.Class = plan.Terminal
			return f, terminalRetry
		}
		return f, refused.After
	}
	return f, 0
}

// terminalRetry is the shortest time between two calls of which the first was refused for good.
const terminalRetry = 30 * time.Second

// Status is the state of an external in the metrics.
type Status string

// The states.
const (
	// StatusReady: it exists and is ready.
	StatusReady Status = "ready"
	// StatusNotReady: it exists and is not ready, or a call is under way, or it has not answered yet.
	StatusNotReady Status = "not-ready"
	// StatusFailed: the last call failed, or cannot be made.
	StatusFailed Status = "failed"
	// StatusUncertain: only a person can say whether it exists.
	StatusUncertain Status = "uncertain"
	// StatusAbsent: it does not exist.
	StatusAbsent Status = "absent"
)

// Statuses are all states.
func Statuses() []Status {
	return []Status{StatusReady, StatusNotReady, StatusFailed, StatusUncertain, StatusAbsent}
}

func statusOf(o plan.Observed) Status {
	switch {
	case o.Failure != nil && (o.Failure.Reason == plan.WaitCreateUncertain || o.Failure.Reason == plan.WaitStateDamaged):
		return StatusUncertain
	case o.Failure != nil:
		return StatusFailed
	case o.Presence == plan.Absent:
		return StatusAbsent
	case o.Presence == plan.Present && o.Readiness.State == ready.Ready:
		return StatusReady
	}
	return StatusNotReady
}
