package component

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
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
		return r.deleteUnnamedPhases(ctx, name, owner, wanted)
	}
	if wanted == "" {
		return r.endPhases(ctx, component, owner)
	}
	if last == records.PhasesPending && r.secrets.of(name).ID(records.Phases) == wanted {
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
	parts, err := records.Encode(bodies)
	if err == nil {
		err = r.records.Write(ctx, owner, records.Record{Kind: records.Phases, ID: wanted}, parts)
	}
	if err != nil {
		return phaseProblem("record", err)
	}
	r.secrets.of(name).SetID(records.Phases, wanted)
	status.PhaseRecord = wanted
	return r.replacePhases(ctx, component, owner, last)
}

// replacePhases persists which record counts, and drops what was recorded before.
func (r *Reconciler[T]) replacePhases(ctx context.Context, component T, owner manifests.Owner, last string) error {
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	switch last {
	case records.PhasesUnknown:
		r.secrets.of(name).AddUnlisted()
		return nil
	case "":
		// It is persisted with the inventory, before the first create, or at the end of the pass.
		return nil
	}
	r.secrets.of(name).AddUnnamed(records.Phases)
	if err := r.components.WriteStatus(ctx, component, components.RefOf(status)); err != nil {
		return err
	}
	return r.deleteUnnamedPhases(ctx, name, owner, status.PhaseRecord)
}

// announcePhases makes sure, before there is a record, that a deletion waits for us, and looks for one.
func (r *Reconciler[T]) announcePhases(ctx context.Context, component T) error {
	if err := r.components.AddFinalizer(ctx, component); err != nil {
		return err
	}
	status := component.GetStatus()
	if status.PhaseRecord != "" {
		return nil
	}
	status.PhaseRecord = records.PhasesPending
	return r.components.WriteStatus(ctx, component, components.RefOf(status))
}

// endPhases drops the record of a component that has no phases any more.
func (r *Reconciler[T]) endPhases(ctx context.Context, component T, owner manifests.Owner) error {
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	if status.PhaseRecord == records.PhasesUnknown {
		r.secrets.of(name).AddUnlisted()
		status.PhaseRecord = ""
	}
	if status.PhaseRecord == "" {
		return r.deleteUnnamedPhases(ctx, name, owner, "")
	}
	if err := r.records.Delete(ctx, owner, records.Phases, ""); err != nil {
		return phaseProblem("delete the record of", err)
	}
	status.PhaseRecord = ""
	return nil
}

// deleteUnnamedPhases deletes the records of phases that the status does not name.
func (r *Reconciler[T]) deleteUnnamedPhases(ctx context.Context, name client.ObjectKey, owner manifests.Owner, named string) error {
	if err := r.records.DeleteUnnamed(ctx, r.secrets.of(name), owner, records.Phases, named); err != nil {
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
	return records.Problem(what+" what is applied when the component is deleted", err)
}

// findPhases enters the record of phases that counts into the status of a component that is being deleted, if the status
// does not name it. It fails if Secrets cannot be listed, unless their namespace is being deleted.
func (r *Reconciler[T]) findPhases(ctx context.Context, component T, pass Pass) error {
	status := component.GetStatus()
	unknown := status.PhaseRecord == records.PhasesUnknown
	nothingApplied := len(pass.Inventory) == 0 && status.AppliedDigest == ""
	if status.PhaseRecord != records.PhasesPending && !unknown || unknown && nothingApplied {
		return nil
	}
	found, err := r.records.List(ctx, pass.Owner)
	if r.records.Unreachable(ctx, pass.Owner, err) {
		return nil
	}
	if err != nil {
		return orLetGo(phaseProblem("find", err))
	}
	r.enterPhases(status, found)
	if unknown {
		r.enterKept(status, found)
	}
	return nil
}

// enterPhases enters the record of phases that counts into a status that may not name it.
func (r *Reconciler[T]) enterPhases(status *metav1alpha1.Status, secrets []metav1.PartialObjectMetadata) {
	found := records.OfKind(secrets, records.Phases)
	switch complete := r.records.Latest(found, status.PhaseRecord); {
	case complete != "":
		status.PhaseRecord = complete
	case len(found) > 0:
		status.PhaseRecord = records.PhasesPending
	case status.PhaseRecord == records.PhasesUnknown:
		status.PhaseRecord = ""
	}
}

// recallPhases returns what is applied while the component is deleted. A record that is lost is reported, and holds nothing up.
func (r *Reconciler[T]) recallPhases(ctx context.Context, component T, pass Pass, t target) (pre, post []manifests.Object, err error) {
	status := component.GetStatus()
	if err := r.findPhases(ctx, component, pass); err != nil {
		return nil, nil, err
	}
	switch status.PhaseRecord {
	case "", records.PhasesPending, records.PhasesUnknown:
		// Of what is pending there may be a part, which a crash kept from being completed: it is removed in the end.
		return nil, nil, nil
	}
	if len(pass.Inventory) == 0 && status.AppliedDigest == "" {
		// Nothing was ever applied, or all is done; see settle.
		return nil, nil, nil
	}
	var bodies []*unstructured.Unstructured
	_, err = r.records.Read(ctx, pass.Owner, records.Phases, status.PhaseRecord, &bodies)
	if records.IsLost(err) || r.records.Unreachable(ctx, pass.Owner, err) {
		r.reportLost(ctx, component, err)
		// Once is enough.
		status.PhaseRecord = records.PhasesPending
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, phaseProblem("read", err)
	}
	objects, err := normalise(bodies, manifests.NormaliseOptions{
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
