package inventory

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Phases stores the objects that are applied while a component is being deleted. They must be stored, because a
// deletion calls no generator.
type Phases struct{ store *Store }

// Phases returns the part of the Store that stores phases.
func (s *Store) Phases() Phases { return Phases{s} }

// Record writes the record of the objects of phases, before any object of the component is applied. If the same objects
// are in the record already, it writes no record, unless the record was lost. If it replaces a record, it also writes
// the status of the component, so that the status names the new record. After the first record of a component, the
// caller must write the status before it creates any object.
//
// After a crash at any point, the status either names a complete record, or it has the value PhasesPending, which makes
// a deletion search for a complete record. The garbage collection of the next process finds previous records that were
// not deleted because of the crash.
func (p Phases) Record(
	ctx context.Context, obj components.Object, owner manifests.Owner, objects []manifests.Object,
) error {
	st, state := obj.GetStatus(), p.state(obj)
	previous := st.PhaseRecord
	id, err := plan.PhaseDigest(objects)
	if err != nil {
		return err
	}
	if id == "" {
		return p.End(ctx, obj, owner)
	}
	if id == previous {
		if state.ID(records.Phases) == records.Lost {
			return p.write(ctx, obj, owner, id, objects)
		}
		return p.deleteUnnamed(ctx, obj, owner)
	}
	if written := state.ID(records.Phases); previous == records.PhasesPending && written != "" {
		// An earlier pass of this process wrote a record, and failed before the status named it.
		if written == id {
			st.PhaseRecord = id
			return nil
		}
		state.AddPrevious(records.Phases, written)
	}
	if err := p.announce(ctx, obj); err != nil {
		return err
	}
	if err := p.write(ctx, obj, owner, id, objects); err != nil {
		return err
	}
	st.PhaseRecord = id
	return p.replace(ctx, obj, owner, previous)
}

// write writes the record with an id.
func (p Phases) write(
	ctx context.Context, obj components.Object, owner manifests.Owner, id string, objects []manifests.Object,
) error {
	bodies, err := unmarked(objects, p.store.Reconciler)
	if err != nil {
		return err
	}
	parts, err := records.Encode(records.Phases, bodies)
	if err == nil {
		err = p.store.Records.Write(ctx, owner, records.Record{Kind: records.Phases, ID: id}, parts)
	}
	if err != nil {
		return phasesError("record", err)
	}
	p.state(obj).SetID(records.Phases, id)
	return nil
}

// replace writes the status, which names a new record, and then deletes the previous record.
func (p Phases) replace(ctx context.Context, obj components.Object, owner manifests.Owner, previous string) error {
	st, state := obj.GetStatus(), p.state(obj)
	switch previous {
	case records.PhasesUnknown:
		state.AddUnlisted()
		return nil
	case "", records.PhasesPending:
		return nil
	}
	state.AddPrevious(records.Phases, previous)
	if err := p.store.Components.WriteStatus(ctx, obj, components.RefOf(st)); err != nil {
		return err
	}
	return p.deleteUnnamed(ctx, obj, owner)
}

// Announce prepares a component for the first record of phases; see announce. It does nothing if there are no objects.
// It must be called while the status in memory describes the previous revision: after a crash, a status that describes
// the new revision would mean that everything is stored that the new revision needs.
func (p Phases) Announce(ctx context.Context, obj components.Object, objects []manifests.Object) error {
	if len(objects) == 0 || obj.GetStatus().PhaseRecord != "" {
		return nil
	}
	return p.announce(ctx, obj)
}

// announce adds the finalizer and writes a status with the value PhasesPending before the first record is written. So a
// deletion waits for the reconciler, which searches for the record even if the process crashed before the status named
// it.
func (p Phases) announce(ctx context.Context, obj components.Object) error {
	if err := p.store.Components.AddFinalizer(ctx, obj); err != nil {
		return err
	}
	st := obj.GetStatus()
	if st.PhaseRecord != "" {
		return nil
	}
	st.PhaseRecord = records.PhasesPending
	return p.store.Components.WriteStatus(ctx, obj, components.RefOf(st))
}

// End deletes the records of phases of a component that has no objects in phases any more, or that is being deleted. If
// the component is not being deleted, the status that names no record is written before the first deletion. So another
// operator process that has written a record cannot name it any more.
func (p Phases) End(ctx context.Context, obj components.Object, owner manifests.Owner) error {
	st, state := obj.GetStatus(), p.state(obj)
	if st.PhaseRecord == records.PhasesUnknown {
		state.AddUnlisted()
		st.PhaseRecord = ""
	}
	if written := state.ID(records.Phases); written != "" {
		if st.PhaseRecord == records.PhasesPending {
			// An earlier pass of this process wrote this record, and failed before the status named it.
			state.AddPrevious(records.Phases, written)
		}
		// A later revision with the same objects must write the record again.
		state.SetID(records.Phases, "")
	}
	confirm := func(ctx context.Context) error { return p.confirm(ctx, obj) }
	switch {
	case !obj.GetDeletionTimestamp().IsZero():
		confirm = nil
	case st.PhaseRecord != "":
		confirm = func(ctx context.Context) error { return p.unname(ctx, obj) }
	}
	action := "delete a previous record of"
	if st.PhaseRecord != "" {
		action = "delete the record of"
	}
	refusal, err := removeConfirmed(ctx, state, namedPhases(obj, owner), confirm, p.store.Records.Remover.DeleteLeft)
	if err != nil {
		return phasesError(action, err)
	}
	if refusal == nil {
		st.PhaseRecord = ""
	}
	return refusal
}

// unname writes the status of a component without the name of a record of phases. If the write fails, the status in
// memory names the same record as before.
func (p Phases) unname(ctx context.Context, obj components.Object) error {
	st := obj.GetStatus()
	previous := st.PhaseRecord
	st.PhaseRecord = ""
	err := p.store.Components.WriteStatus(ctx, obj, components.RefOf(st))
	if err != nil {
		st.PhaseRecord = previous
	}
	return err
}

// confirm returns an error if the stored status names another record of phases than the status that this pass loaded or
// wrote last.
func (p Phases) confirm(ctx context.Context, obj components.Object) error {
	if err := p.store.Components.Confirm(ctx, obj, components.RefOf(obj.GetStatus())); err != nil {
		return fmt.Errorf("confirm the component: %w", err)
	}
	return nil
}

// Recall returns the manifests that are applied while a component is deleted. hasDependents is set if the inventory of
// the component has entries. If the record is lost, the deletion continues without these manifests, and the returned
// Event reports the loss.
func (p Phases) Recall(
	ctx context.Context, obj components.Object, owner manifests.Owner, hasDependents bool,
) (bodies []*unstructured.Unstructured, lost status.Event, err error) {
	st := obj.GetStatus()
	wasApplied := hasDependents || st.AppliedDigest != ""
	if err := p.find(ctx, obj, owner, wasApplied); err != nil {
		return nil, status.Event{}, err
	}
	switch st.PhaseRecord {
	case "", records.PhasesPending, records.PhasesUnknown:
		// A record that the status does not name may be incomplete, so it is not used. It is deleted at the end of the
		// deletion.
		return nil, status.Event{}, nil
	}
	if !wasApplied {
		// Nothing was ever applied, or the deletion is complete.
		return nil, status.Event{}, nil
	}
	_, err = p.store.Records.Read(ctx, owner, records.Phases, st.PhaseRecord, &bodies)
	if records.IsLost(err) || p.store.Records.Unreachable(ctx, owner, err) {
		lost = status.Warning("PhasesLost",
			"the deletion does not apply the objects of its phases, because their record cannot be read: "+err.Error())
		// No Event can be created in a namespace that is being deleted.
		log.FromContext(ctx).Info(lost.Note)
		// With this value the next pass does not read the record, so the loss is reported only once.
		st.PhaseRecord = records.PhasesPending
		return nil, lost, nil
	}
	if err != nil {
		return nil, status.Event{}, phasesError("read", err)
	}
	return bodies, status.Event{}, nil
}

// find looks for the current record of phases and enters it into the status, if the value of the status is
// PhasesPending or PhasesUnknown. It fails if Secrets cannot be listed, unless their namespace is being deleted.
func (p Phases) find(ctx context.Context, obj components.Object, owner manifests.Owner, wasApplied bool) error {
	st := obj.GetStatus()
	unknown := st.PhaseRecord == records.PhasesUnknown
	if st.PhaseRecord != records.PhasesPending && !unknown || unknown && !wasApplied {
		return nil
	}
	found, err := p.store.Records.List(ctx, owner)
	if p.store.Records.Unreachable(ctx, owner, err) {
		return nil
	}
	if err != nil {
		failed := passerror.Of(phasesError("find", err))
		failed.Message += status.HintGiveUp
		return failed
	}
	restorePhases(p.store.Records, st, found)
	if unknown {
		restorePinned(p.store.Records, st, found)
	}
	return nil
}

// deleteUnnamed deletes the records of phases except the record that the status names. The component is confirmed
// before the deletion of a record that the status of this pass never named, because another operator process may have
// named it. The error of this confirmation is returned unchanged, so that a conflict ends the pass.
func (p Phases) deleteUnnamed(ctx context.Context, obj components.Object, owner manifests.Owner) error {
	confirm := func(ctx context.Context) error { return p.confirm(ctx, obj) }
	refusal, err := removeConfirmed(
		ctx, p.state(obj), namedPhases(obj, owner), confirm, p.store.Records.Remover.DeleteUnnamed)
	if err != nil {
		return phasesError("delete a previous record of", err)
	}
	return refusal
}

// namedPhases returns which record of phases the status of a component names.
func namedPhases(obj components.Object, owner manifests.Owner) records.Naming {
	return records.Naming{Owner: owner, Kind: records.Phases, ID: obj.GetStatus().PhaseRecord}
}

// removeConfirmed calls remove with a naming that asks confirm; nil confirms everything. refusal is the error of
// confirm, and err is any other error of remove.
func removeConfirmed(
	ctx context.Context, state *records.State, naming records.Naming, confirm func(context.Context) error,
	remove func(context.Context, *records.State, records.Naming) error,
) (refusal, err error) {
	if confirm != nil {
		naming.Confirm = func(ctx context.Context) error {
			refusal = confirm(ctx)
			return refusal
		}
	}
	if err = remove(ctx, state, naming); refusal != nil {
		return refusal, nil
	}
	return nil, err
}

func (p Phases) state(obj client.Object) *records.State {
	return &p.store.States.Of(client.ObjectKeyFromObject(obj)).Records
}

// unmarked returns the manifests of objects without the labels and annotations of the reconciler.
func unmarked(objects []manifests.Object, reconciler string) ([]*unstructured.Unstructured, error) {
	bodies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		body, err := marks.Unmarked(o, reconciler)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

func phasesError(action string, err error) error {
	return records.Problem(action+" the objects that are applied when the component is deleted", err)
}
