package externals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// writtenFields stands for the managed fields of an external, which it does not have. Its matcher finds drift instead.
const writtenFields = "external"

// Get returns the last observation of an external in the form of an object: the applied spec, the observed state as its
// status, the token as its UID, and the field id. The object is nil if the external does not exist. unknown says why it
// is not known whether it exists.
func (m *Manager) Get(of manifests.Owner, key manifests.Key) (obj *unstructured.Unstructured, unknown string) {
	m.mu.Lock()
	o := m.owners[of.ID()]
	m.mu.Unlock()
	if o == nil {
		return nil, "it has not answered yet"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	it := o.items[key]
	if it == nil {
		return nil, "it has not answered yet"
	}
	observed := it.current()
	switch observed.Presence {
	case plan.Present:
		return it.body(), ""
	case plan.Absent:
		return nil, ""
	case plan.Unknown:
	}
	return nil, observed.Message
}

// facts returns the state of the external for a plan. The caller holds the lock of the owner.
func (it *item) facts() *plan.Observed {
	o := it.current()
	it.compareFacts(o)
	o.ResourceVersion = it.resourceVersion()
	return &o
}

// current returns the state without a resource version.
func (it *item) current() plan.Observed {
	if it.isGone() && it.desired == nil && it.writing == nil && !it.saving {
		return it.absent() // Neither a handler nor credentials are needed any more.
	}
	if o, blocked := it.blocked(); blocked {
		return o
	}
	switch {
	case it.isGone() && !it.canAsk():
		return it.absent()
	case it.isUncertain(), it.isLost():
		return it.uncertain()
	case !it.canAsk():
		return it.neverCreated()
	case it.isClaimed():
		return it.claimedNow()
	}
	return it.asAnswered()
}

// claimedNow returns the state of an external whose id a person gave.
func (it *item) claimedNow() plan.Observed {
	if it.unobserved != nil {
		return failure(it.unobserved.failure)
	}
	return unknown(plan.WaitInProgress, fmt.Sprintf("the id %q, which a person gave, is being looked up", it.id()))
}

// asAnswered returns the state that the last answers show.
func (it *item) asAnswered() plan.Observed {
	switch {
	case it.missing.confirmed:
		return it.missingNow()
	case !it.missing.first.IsZero():
		return unknown(plan.WaitInProgress, "it was not found; it is asked again before it counts as gone")
	case it.answer != nil && !it.isStale():
		return it.present()
	case it.unobserved != nil:
		return failure(it.unobserved.failure)
	}
	return unknown(plan.WaitObserving, "it has not answered yet")
}

// blocked returns the state of an external about which nothing can be decided now: no call can be made, one is under
// way, or one failed and is not repeated yet.
func (it *item) blocked() (o plan.Observed, blocked bool) {
	switch f := it.failure(); {
	case it.driver == nil:
		return failure(plan.Failure{
			Class: plan.Terminal, Reason: plan.WaitNoHandler,
			Message: fmt.Sprintf("no handler is registered for externals of the kind %s", it.key.Kind),
		}), true
	case it.unusable != nil:
		return failure(*it.unusable), true
	case it.writing != nil:
		return unknown(plan.WaitInProgress, fmt.Sprintf("a call is under way since %s: %s",
			it.writing.since.UTC().Format(time.RFC3339), it.writing.verb)), true
	case it.saving:
		return unknown(plan.WaitInProgress, "the result of a call is being recorded"), true
	case f != nil:
		return failure(*f), true
	}
	return plan.Observed{}, false
}

func unknown(reason plan.WaitReason, message string) plan.Observed {
	return plan.Observed{Presence: plan.Unknown, Reason: reason, Message: message}
}

func failure(f plan.Failure) plan.Observed {
	o := unknown(f.Reason, f.Message)
	o.Failure = &f
	return o
}

func (it *item) absent() plan.Observed {
	return plan.Observed{Presence: plan.Absent, Confirmed: true, UID: it.entry.UID}
}

// isStale reports whether the last answer is too old, because the last observations failed.
func (it *item) isStale() bool {
	if it.unobserved == nil {
		return false
	}
	info := it.info()
	return it.owner.manager.now().Sub(it.answeredAt) > 2*info.Poll+info.Timeout+time.Minute
}

// neverCreated returns the state of an external that no call can show: it is created if its kind can create it.
func (it *item) neverCreated() plan.Observed {
	if !it.info().Creates && it.desired != nil {
		return unknown(plan.WaitAbsent, "its kind cannot create it, and its id is not known; set the annotation "+
			it.owner.owner.Reconciler+"/"+manifests.AnnotationExternalID)
	}
	return it.absent()
}

// missingNow returns the state of an external that does not exist.
func (it *item) missingNow() plan.Observed {
	named := it.desired != nil && it.desired.Settings.ExternalID() != ""
	switch {
	case it.desired != nil && it.desired.Settings.IsObserved():
		return it.absent()
	case named && it.state == nil:
		return failure(plan.Failure{
			Class: plan.Terminal, Reason: plan.WaitNotFound,
			Message: fmt.Sprintf("its annotation %s names the external %q, which does not exist; correct it; without "+
				"the annotation another external is created",
				manifests.AnnotationExternalID, it.desired.Settings.ExternalID()),
		})
	case !it.info().Creates && it.desired != nil:
		return unknown(plan.WaitAbsent, "it does not exist, and its kind cannot create it")
	}
	return it.absent()
}

// uncertain returns the state of an external about which the records do not say whether it exists.
func (it *item) uncertain() plan.Observed {
	switch {
	case it.missing.confirmed:
		return it.absent()
	case it.token() == "" && it.answer != nil && !it.isStale():
		// No record has a token that could show whose external it is, so the adoption policy decides.
		return it.present()
	case it.canAsk() || it.mayRepeat():
		if it.unobserved != nil {
			return failure(it.unobserved.failure)
		}
		message := "it is not known whether it was created; it is being searched"
		if it.createError != "" {
			message += "; " + it.createError
		}
		return unknown(plan.WaitInProgress, message)
	}
	reason, cause := plan.WaitCreateUncertain, "the result of its creation is not known"
	if it.isLost() {
		cause = "its recorded state is lost"
		if it.damaged != "" {
			reason, cause = plan.WaitStateDamaged, "its recorded state is damaged: "+it.damaged
		}
	}
	if since := it.since(); !since.IsZero() {
		cause += fmt.Sprintf(" (begun at %s)", since.UTC().Format(time.RFC3339))
	}
	if it.rejection != "" {
		cause = it.rejection + "; " + cause
	}
	if token := it.token(); token != "" {
		cause += fmt.Sprintf(", token %s", token)
	} else {
		cause += ", no token"
	}
	if it.createError != "" {
		cause += "; " + it.createError
	}
	return failure(plan.Failure{
		Class: plan.Terminal, Reason: reason,
		Message: fmt.Sprintf("%s; find out whether it exists, and run: fairlead%s %s/%s --id ID, or "+
			"--absent", cause, plan.CommandFor("external resolve", it.owner.owner.Component()), it.key.Kind, it.key.Name),
	})
}

func (it *item) since() time.Time {
	if it.state == nil {
		return time.Time{}
	}
	return it.state.Since
}

// mayRepeat reports whether Create may be repeated with the same token although its result is not known.
func (it *item) mayRepeat() bool {
	info := it.info()
	return it.isUncertain() && !info.Finds && it.id() == "" && info.IdempotentFor > 0 &&
		it.owner.manager.now().Before(it.state.Since.Add(info.IdempotentFor))
}

// present returns the facts about an external that exists. They are made as those of a live object: the answer is its
// status, and the applied manifest has its annotations.
func (it *item) present() plan.Observed {
	view := it.owner.manager.options.View.Of(it.owner.owner.Reconciler)
	view.Analyzers = map[schema.GroupKind]inspect.Analyzer{it.key.GroupKind(): it.readiness}
	ctx := context.WithoutCancel(it.owner.manager.lifetime)
	body := it.body()
	o := view.Object(ctx, body)
	if o.Exports = view.Exports(ctx, body); o.Exports == nil {
		o.Exports = plan.NewExports(nil, nil)
	}
	o.Coverage, o.Applied, o.Updated = plan.CoverageFull, writtenFields, writtenFields
	o.Verdict = &plan.Verdict{Differs: it.differs()}
	o.External = &plan.ExternalLimits{NotUpdatable: !it.info().Updates, NotDeletable: !it.info().Deletes}
	if it.desired != nil && it.immutableOf == it.desired.Digest {
		o.External.Immutable = it.immutable
	}
	if foreign := it.answer.Token; foreign != "" && foreign != it.token() {
		o.Owner, o.OwnerName = foreign, "the owner of the token "+foreign
	}
	if !it.isOwned() {
		o.Digest, o.Applied, o.Updated = "", "", ""
	}
	return o
}

// readiness implements inspect.Analyzer.
func (it *item) readiness(*unstructured.Unstructured) ready.Result {
	switch {
	case it.unverified && it.answer.Differs != "":
		return ready.Result{State: ready.InProgress, Message: fmt.Sprintf(
			"it was written, and still differs from its manifest: %s; it is observed again", it.answer.Differs)}
	case it.answer.Ready:
		return ready.Result{State: ready.Ready}
	}
	return ready.Result{State: ready.InProgress, Message: it.answer.Message}
}

// body returns the external in the form of a live object.
func (it *item) body() *unstructured.Unstructured {
	manifest, marked := it.applied(), it.isOwned()
	if manifest == nil && it.desired != nil {
		if whole, err := it.desired.Whole(); err == nil {
			manifest = whole.Body.Object
		}
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": external.Group + "/" + external.Version, "kind": it.key.Kind, "spec": manifest["spec"],
		"metadata": map[string]any{"name": it.key.Name, "uid": it.token()}, "id": it.id(),
	}}
	metadata, _ := manifest["metadata"].(map[string]any)
	labels, annotations := stringsOf(metadata["labels"]), stringsOf(metadata["annotations"])
	if !marked {
		delete(labels, it.owner.owner.Reconciler+"/"+manifests.LabelOwnerID)
		delete(annotations, it.owner.owner.Reconciler+"/"+manifests.AnnotationOwnerID)
		delete(annotations, it.owner.owner.Reconciler+"/"+manifests.AnnotationDigest)
	}
	body.SetLabels(labels)
	body.SetAnnotations(annotations)
	var observed any
	if utiljson.Unmarshal(it.answer.Observed, &observed) == nil && observed != nil {
		body.Object["status"] = observed
	}
	if it.state != nil && it.state.Intent == externalstate.IntentDelete {
		body.SetDeletionTimestamp(new(metav1.NewTime(it.state.Since)))
	}
	return body
}

func stringsOf(value any) map[string]string {
	found := map[string]string{}
	fields, _ := value.(map[string]any)
	for key, v := range fields {
		if text, ok := v.(string); ok {
			found[key] = text
		}
	}
	return found
}

// changed wakes the component if the facts differ from those of the last pass, or of the last wake. The caller holds
// the lock of the owner.
func (it *item) changed() {
	if it.compareFacts(it.current()) {
		it.owner.wake()
	}
}

// compareFacts counts a version if the facts differ from those before, and reports whether they do.
func (it *item) compareFacts(o plan.Observed) (differ bool) {
	it.status = it.statusOf(o)
	exports := ""
	if it.answer != nil {
		exports = string(it.answer.Observed)
	}
	data, err := json.Marshal([]any{
		o.Presence, o.Confirmed, o.Reason, o.Message, o.Failure, o.UID, o.Digest, o.Owner, o.Terminating, o.Readiness,
		o.Verdict, o.External, exports,
	})
	sum := sha256.Sum256(data)
	fingerprint := hex.EncodeToString(sum[:16])
	if err == nil && fingerprint == it.fingerprint {
		return false
	}
	it.fingerprint = fingerprint
	it.version++
	return true
}

// failureOf returns the failure for the error of a call.
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
