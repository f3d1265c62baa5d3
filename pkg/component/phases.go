package component

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/manifests"

	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
)

// phasePending is recorded while there may be records of phases that the status does not name yet, and phaseUnknown where a lost status was
// rebuilt and the Secrets may not be listed that would tell. Where nothing is to be recorded, who may not list them goes without.
const (
	phasePending = "pending"
	phaseUnknown = "unknown"
)

// ofPhase parts the objects of a phase from the others.
func ofPhase(objects []manifests.Object, phase manifests.Phase) (found, others []manifests.Object) {
	for _, o := range objects {
		if o.Settings.Phase == phase {
			found = append(found, o)
		} else {
			others = append(others, o)
		}
	}
	return found, others
}

// keepPhases records what is applied when the component is deleted, before anything else is applied: a deletion renders nothing. Where
// nothing of it changed since the last record, nothing is written or read.
//
// A crash at any point leaves a record that the status names, and none that a deletion does not find. What was to be dropped then, or could not
// be, the sweep of the next process finds, or the next pass drops.
func (r *Reconciler[T]) keepPhases(ctx context.Context, component T, owner manifests.Owner, phases []manifests.Object) error {
	status := component.GetStatus()
	last := status.PhaseRecord
	wanted, err := phaseDigest(phases)
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(component)
	if wanted == last {
		return r.dropPhases(ctx, name, owner, wanted)
	}
	if wanted == "" {
		return r.endPhases(ctx, component, owner)
	}
	if last == phasePending && r.wrotePhases.of(name) == wanted {
		// An earlier pass wrote it, and ended before it came to a status.
		status.PhaseRecord = wanted
		return nil
	}
	if err := r.announcePhases(ctx, component); err != nil {
		return err
	}
	bodies, err := r.unmarked(phases)
	if err != nil {
		return err
	}
	if err := r.writeRecord(ctx, owner, record{kind: recordOfPhases, id: wanted, bodies: bodies}); err != nil {
		return phaseProblem("record", err)
	}
	r.wrotePhases.enter(name, wanted)
	status.PhaseRecord = wanted
	return r.replacePhases(ctx, component, owner, last)
}

// replacePhases persists which record counts, and drops what was recorded before.
func (r *Reconciler[T]) replacePhases(ctx context.Context, component T, owner manifests.Owner, last string) error {
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	switch last {
	case phaseUnknown:
		r.noteUnlisted(name)
		return nil
	case "":
		// It is persisted with the inventory, before the first create, or at the end of the pass.
		return nil
	}
	r.noteStrays(name, recordOfPhases)
	if err := r.writeStatus(ctx, component, markOf(status)); err != nil {
		return err
	}
	return r.dropPhases(ctx, name, owner, status.PhaseRecord)
}

// announcePhases makes sure, before there is a record, that a deletion waits for us, and looks for one.
func (r *Reconciler[T]) announcePhases(ctx context.Context, component T) error {
	if err := r.hold(ctx, component); err != nil {
		return err
	}
	status := component.GetStatus()
	if status.PhaseRecord != "" {
		return nil
	}
	status.PhaseRecord = phasePending
	return r.writeStatus(ctx, component, markOf(status))
}

// endPhases drops the record of a component that has no phases any more.
func (r *Reconciler[T]) endPhases(ctx context.Context, component T, owner manifests.Owner) error {
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	if status.PhaseRecord == phaseUnknown {
		r.noteUnlisted(name)
		status.PhaseRecord = ""
	}
	if status.PhaseRecord == "" {
		return r.dropPhases(ctx, name, owner, "")
	}
	if err := r.dropRecords(ctx, owner, recordOfPhases, ""); err != nil {
		return phaseProblem("delete the record of", err)
	}
	status.PhaseRecord = ""
	return nil
}

// dropPhases drops the records of phases that the status does not name, where there may be some.
func (r *Reconciler[T]) dropPhases(ctx context.Context, name client.ObjectKey, owner manifests.Owner, named string) error {
	if err := r.dropStrays(ctx, name, owner, recordOfPhases, named); err != nil {
		return phaseProblem("delete a former record of", err)
	}
	return nil
}

// phaseDigest identifies objects; it is empty where there are none.
func phaseDigest(objects []manifests.Object) (string, error) {
	if len(objects) == 0 {
		return "", nil
	}
	parts := make([]string, 0, len(objects))
	for _, o := range objects {
		parts = append(parts, o.Key.String()+" "+o.Digest)
	}
	return manifests.Digest(parts)
}

func phaseProblem(what string, err error) error {
	return recordProblem(what+" what is applied when the component is deleted", err)
}

// recallPhases returns what is applied while the component is deleted. A record that is lost is reported, and holds nothing up.
func (r *Reconciler[T]) recallPhases(ctx context.Context, component T, pass Pass, t target) (pre, post []manifests.Object, err error) {
	status := component.GetStatus()
	if err := r.findPhases(ctx, component, pass); err != nil {
		return nil, nil, err
	}
	switch status.PhaseRecord {
	case "", phasePending, phaseUnknown:
		// Of what is pending there may be a part, which a crash kept from being completed: it is removed in the end.
		return nil, nil, nil
	}
	if len(pass.Inventory) == 0 && status.AppliedDigest == "" {
		// Nothing was ever applied, or all is done; see settle.
		return nil, nil, nil
	}
	recalled, err := r.readRecord(ctx, pass.Owner, recordOfPhases, status.PhaseRecord)
	if isLost(err) || r.outOfReach(ctx, pass.Owner, err) {
		r.reportLost(ctx, component, err)
		// Once is enough.
		status.PhaseRecord = phasePending
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, phaseProblem("read", err)
	}
	objects, err := normalise(recalled.bodies, manifests.NormaliseOptions{
		Reconciler: r.name, Owner: pass.Owner, ScopeOf: t.engine.discovery.Scope, Managed: pass.Managed,
	})
	if err != nil {
		return nil, nil, err
	}
	pre, post = ofPhase(objects, manifests.PhasePreDelete)
	return pre, post, nil
}

// reportLost tells that phases cannot be applied.
func (r *Reconciler[T]) reportLost(ctx context.Context, component T, cause error) {
	lost := status.Warning("PhasesLost", "what was to be applied while the component is deleted is not: "+cause.Error())
	// In a namespace that is being deleted no event can be created.
	log.FromContext(ctx).Info(lost.Note)
	r.tell(component, lost)
}

// unmarked returns the manifests of objects as they are recorded.
func (r *Reconciler[T]) unmarked(objects []manifests.Object) ([]*unstructured.Unstructured, error) {
	bodies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		body, err := o.Unmarked(r.name)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// reportSkipped tells of a deletion that ends with this pass what it left out; the status of others says so.
func (r *Reconciler[T]) reportSkipped(component client.Object, o outcome.Outcome) {
	if o.Done() && len(o.Skipped) > 0 {
		r.tell(component, status.Warning("PhasesSkipped", "the component is deleted"+status.DescribeSkipped(o.Skipped)))
	}
}
