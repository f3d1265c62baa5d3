package rendering

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/determinism"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

// maxNamed is the maximum number of differing fields that a message names.
const maxNamed = 10

// notFollowed is appended to the note of a pinned rendering if the looked-up objects have changed, but the new
// rendering is not applied.
const notFollowed = "; the looked-up objects have changed, but the new rendering is not applied, because it contains " +
	"further such values, which may depend on the kept values; change the spec to render all values again"

// renderNew renders the inputs, and checks by a second rendering whether the result is deterministic. Fields whose
// values differ get the values of the first rendering of these inputs. lost is the reason why a recorded rendering
// could not be read, and empty otherwise.
func (r *Renderer) renderNew(ctx context.Context, req Request) (rendered Rendered, lost string, err error) {
	pinned, current, lost, err := r.pinned(ctx, req)
	if err != nil || current {
		return pinned, lost, err
	}
	if err := req.Kills.refusal(req.attempt()); err != nil {
		return Rendered{}, lost, err
	}
	err = r.inTurn(ctx, req.name(), func(ctx context.Context) error {
		rendered, err = r.renderInTurn(ctx, req, pinned)
		return err
	})
	return rendered, lost, explainMissing(err, rendered.Lookups.Exports)
}

// renderInTurn renders the inputs, and watches the looked-up objects.
func (r *Renderer) renderInTurn(ctx context.Context, req Request, pinned Rendered) (Rendered, error) {
	j, err := r.newJob(ctx, req)
	if err != nil {
		return Rendered{}, err
	}
	rendered, err := r.check(ctx, req, j, pinned)
	err = req.Kills.note(req.attempt(), err)
	// The looked-up objects are watched even if the rendering failed, because one of them may be the cause of the
	// failure.
	seen, failure := j.objects.Results(req.looker())
	rendered.sourceVersion = j.results.sourceVersion()
	rendered.Lookups.Results, rendered.Lookups.Served, rendered.Lookups.Asked = seen, j.served, j.asked
	rendered.Lookups.Exports = j.exports.Results()
	rendered.results = j.results
	r.follow(req, rendered.Lookups)
	if err == nil {
		err = failure
	}
	if err == nil {
		err = rendered.seal(req.Inputs.Digest)
	}
	if err != nil {
		r.cache.outdate(req.name())
	}
	return rendered, err
}

// pinned returns an earlier rendering of the same inputs whose values have to be kept, because a new rendering would
// have other values. It comes from the cache, or else from the record in Secrets. current is set if the looked-up
// objects are unchanged as well, so that nothing has to be rendered. lost is the reason why the record could not be
// read.
func (r *Renderer) pinned(ctx context.Context, req Request) (pinned Rendered, current bool, lost string, err error) {
	if last := r.kept(req); last != nil {
		// Only the values of the cached set are needed. lastSet has not returned the set, because the objects that it
		// looked up have changed.
		return last.Rendered, false, "", nil
	}
	named := req.Status.RenderedSet
	if records.IsFound(named) {
		if pinned, err := r.found(ctx, req); err != nil || pinned.isFound {
			return pinned, false, "", err
		}
	}
	if !req.Inputs.AreRecorded(req.Status) || !records.IsPinned(named) {
		// The digest of the inputs in the status may come from a record that somebody forged, so live objects keep their
		// values.
		return Rendered{isFound: records.IsFound(named)}, false, "", nil
	}
	var bodies []*unstructured.Unstructured
	recorded, err := r.options.Records.Read(ctx, req.Owner, records.Rendering, records.Named(named), &bodies)
	if last := r.cached(req); records.IsLost(err) && last != nil && last.ID != "" {
		// Another operator process has named its first record, and is about to write it. Or somebody restored an older
		// status, and deleted the records. Nothing has better values than the cached set.
		return last.Rendered, false, "", nil
	}
	if records.IsLost(err) {
		return Rendered{ValuesLost: true}, false, newValues + err.Error(), nil
	}
	if err != nil {
		return Rendered{}, false, "", records.Problem("read the record of the rendered manifests", err)
	}
	if recorded.Origin == nil || recorded.Origin.InputDigest != req.Inputs.Digest {
		// The record belongs to other inputs, and an earlier pass failed to delete it.
		return Rendered{ValuesLost: true}, false, "", nil
	}
	if records.IsFound(named) {
		// Another client removed the label of the record, so that it was not listed.
		return Rendered{Manifests: Manifests{plain: bodies}, isFound: true}, false, "", nil
	}
	pinned, current, err = r.restored(ctx, req, recorded, bodies)
	return pinned, current, "", err
}

// restored returns the rendering that the record of the status contains, and whether the looked-up objects are
// unchanged. From now on, the pass has this record.
func (r *Renderer) restored(
	ctx context.Context,
	req Request,
	recorded records.Record,
	manifests []*unstructured.Unstructured,
) (pinned Rendered, current bool, err error) {
	if last := req.Records.ID(records.Rendering); last != "" && last != records.Lost && last != recorded.ID {
		// Another operator process has named its record, and the record that this process wrote may exist.
		req.Records.AddUnnamed(records.Rendering)
	}
	req.Records.SetID(records.Rendering, recorded.ID)
	pinned = Rendered{
		Manifests: Manifests{plain: manifests}, ID: recorded.ID, Proof: recorded.Proof, Note: recorded.Note,
		ValuesLost: recorded.ValuesLost,
	}
	pinned.Lookups, current, err = lookup.Recall(ctx, req.Target, req.looker(), req.Status, recorded.Capabilities)
	current = current && lookup.GetsSameValues(pinned.Lookups.Exports, req.Exports)
	if err == nil && current {
		r.follow(req, pinned.Lookups)
	}
	return pinned, current, err
}

// check renders the inputs twice, compares both renderings, and pins the values that differ. If the generator proves
// that the first rendering is deterministic, there is no second one, unless objects with a status were read: only
// another rendering shows whether their status is used.
func (r *Renderer) check(ctx context.Context, req Request, j job, pinned Rendered) (Rendered, error) {
	first, proven, err := j.render(ctx, options{})
	if err != nil {
		return Rendered{}, err
	}
	rendered := Rendered{Manifests: Manifests{plain: first}}
	if proven && !j.objects.HasStatus() {
		return rendered, nil
	}
	verified, readsStatus, err := r.isVerified(req, j)
	if err != nil || verified {
		rendered.Lookups.ReadsStatus = readsStatus
		return rendered, err
	}
	plain, err := determinism.Plain(first)
	if err != nil {
		// The error is not returned here, because Normalise reports it together with all other errors of the manifests.
		return rendered, nil
	}
	difference, readsStatus, err := j.compare(ctx, plain)
	rendered.Lookups.ReadsStatus = readsStatus
	if err != nil || difference.Empty() {
		return rendered, err
	}
	if len(difference.Shape) > 0 {
		return rendered, nonDeterministic(difference.Shape)
	}
	rendered, err = r.pin(ctx, req, variable{plain, difference.Values}, pinned)
	rendered.Lookups.ReadsStatus = readsStatus
	return rendered, err
}

// isVerified reports whether the determinism check can be skipped, because an earlier rendering with the same inputs
// and look-ups was deterministic, or because the check is turned off.
func (r *Renderer) isVerified(req Request, j job) (verified, readsStatus bool, err error) {
	if r.options.SkipDeterminismCheck {
		return true, true, nil
	}
	named := req.Status.RenderedSet
	mayVary := records.IsPinned(named) || records.IsFound(named)
	if !req.Inputs.AreRecorded(req.Status) || mayVary || isRecovered(req.Inventory) {
		return false, false, nil
	}
	seen, err := j.objects.Results(req.looker())
	if err != nil {
		return false, false, err
	}
	equal, readsStatus := lookup.Lookups{
		Served: j.served, Results: seen, Exports: j.exports.Results(),
	}.EqualRecorded(req.Status)
	return equal, readsStatus, nil
}

// isRecovered reports whether an inventory contains entries that may come from a search for the owner label. The record
// of a pinned rendering may then be lost together with the inventory. An owned namespace never has a digest.
func isRecovered(inventory []metav1alpha1.InventoryEntry) bool {
	return slices.ContainsFunc(inventory, func(e metav1alpha1.InventoryEntry) bool {
		return e.Digest == "" && !plan.IsOwnedNamespace(e)
	})
}

// compare renders the inputs again, with a later time, and returns the difference from the first rendering. It also
// returns whether the rendering uses the status of looked-up objects: the second rendering does not get their status,
// and if it differs from the first, a third rendering with the status is compared instead.
func (j job) compare(
	ctx context.Context,
	first []*unstructured.Unstructured,
) (d determinism.Difference, readsStatus bool, err error) {
	hasStatus := j.objects.HasStatus()
	d, err = j.difference(ctx, first, options{later: true, withoutStatus: hasStatus})
	if !hasStatus || waits(err) || err == nil && d.Empty() {
		return d, false, err
	}
	with, failure := j.difference(ctx, first, options{later: true})
	if failure != nil {
		return with, true, failure
	}
	return with, err != nil || !d.Within(with), nil
}

// difference renders the inputs again, and returns the difference from the first rendering. If a trial differs in more
// than values, or fails, the inputs are rendered once more, because the keys of a trial may be the cause.
func (j job) difference(
	ctx context.Context,
	first []*unstructured.Unstructured,
	o options,
) (determinism.Difference, error) {
	d, err := j.differenceOnce(ctx, first, o)
	if o.withoutStatus || waits(err) || err == nil && len(d.Shape) == 0 {
		return d, err
	}
	o.realKeys = true
	return j.differenceOnce(ctx, first, o)
}

func (j job) differenceOnce(
	ctx context.Context,
	first []*unstructured.Unstructured,
	o options,
) (determinism.Difference, error) {
	again, _, err := j.render(ctx, o)
	if err != nil {
		return determinism.Difference{}, err
	}
	plain, err := determinism.Plain(again)
	if err != nil {
		return determinism.Difference{}, nonDeterministic([]string{err.Error()})
	}
	return determinism.Compare(first, plain), nil
}

// nonDeterministic returns the error for two renderings of the same inputs that differ in objects, fields or the
// lengths of lists. Such differences cannot be pinned.
func nonDeterministic(differences []string) error {
	text := strings.Join(differences[:min(len(differences), maxNamed)], "; ")
	if more := len(differences) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonNonDeterministic, Terminal: true,
		Message: "two renderings of the same inputs differ in more than values: " + text +
			"; nothing is applied; make names, fields and the lengths of lists independent of the clock and of random values",
	}
}

// variable is a rendering, and those of its fields whose values differ in each rendering.
type variable struct {
	objects []*unstructured.Unstructured
	fields  []determinism.Field
}

// pin chooses the values of the fields that differ in each rendering. The first rendering of new inputs is pinned with
// its values, or those of live objects; see liveValues. If a record was found that nothing proves, see foundValues. A
// later rendering, after a change of looked-up objects, gets the pinned values in these fields, and in an object that
// comes back those of the live object. If such a field has no value then, the later rendering is discarded and the
// pinned rendering is returned, because the new value may depend on pinned values.
func (r *Renderer) pin(ctx context.Context, req Request, v variable, pinned Rendered) (Rendered, error) {
	req.Adoption = cmp.Or(req.Adoption, r.options.Adoption)
	result := Rendered{Note: describeFields(v.fields), ValuesLost: pinned.ValuesLost}
	var values []*unstructured.Unstructured
	var err error
	switch {
	case pinned.isFound:
		values, result.taken, err = r.foundValues(ctx, req, v, pinned.Manifests.plain)
	case pinned.ID == "":
		values, result.taken, err = liveValues(ctx, req, v)
	default:
		var before []*unstructured.Unstructured
		if before, err = pinned.Manifests.All(); err != nil {
			return result, err
		}
		values, result.taken, err = pinnedValues(ctx, req, v, before)
		if err == nil && values == nil {
			pinned.Note = strings.TrimSuffix(pinned.Note, notFollowed) + notFollowed
			return pinned, nil
		}
		if err == nil && determinism.Compare(before, values).Empty() {
			result.Manifests, result.ID, result.Proof = pinned.Manifests, pinned.ID, pinned.Proof
			return result, nil
		}
	}
	result.Manifests, result.isUnsealed = Manifests{plain: values}, true
	return result, err
}

// seal gives a new rendering with pinned values the id of its record.
func (r *Rendered) seal(inputs string) error {
	if !r.isUnsealed {
		return nil
	}
	bodies, err := r.Manifests.All()
	if err != nil {
		return err
	}
	capabilities, err := r.Lookups.RecordCapabilities()
	if err != nil {
		return err
	}
	header := records.Header{Inputs: inputs, ValuesLost: r.ValuesLost}.WithCapabilities(capabilities)
	parts, err := records.Encode(records.Rendering, bodies)
	if err == nil {
		r.ID, r.Proof, err = records.NewProof(records.UsePinned, header, parts)
	}
	if err != nil {
		return records.Problem("record the rendered manifests", err)
	}
	r.isUnsealed = false
	return nil
}

func describeFields(fields []determinism.Field) string {
	names, more := determinism.Names(fields, maxNamed)
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
