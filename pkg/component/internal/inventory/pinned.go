package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pinned records pinned renderings: sets that a second rendering of the same inputs would change.
type Pinned struct{ store *Store }

// Pinned returns the part of the Store that records pinned renderings.
func (s *Store) Pinned() Pinned { return Pinned{s} }

// Set is a rendering. If ID is empty, the rendering is deterministic and is not recorded.
type Set struct {
	// ID is the id of the record, and Proof is its proof.
	ID    string
	Proof records.Proof
	// Note names the fields that a second rendering would change.
	Note string
	// ValuesLost is set if the record of the applied rendering was lost: generated values of this rendering, such as
	// passwords, differ from the applied values.
	ValuesLost bool
	// Capabilities is the text of the capabilities that the rendering asked for.
	Capabilities string
	// Manifests returns the rendered manifests. It is called only if a record has to be written.
	Manifests func() ([]*unstructured.Unstructured, error)
}

// errFoundLate ends a pass that had rendered before Secrets could be listed. The next pass finds the records before it
// renders.
var errFoundLate = errors.New(
	"the Secrets could not be listed before this pass rendered; the next pass lists them first",
)

// Record writes the record of a rendering before anything of it is applied. The status in memory names the record then,
// and the caller must call Name as soon as everything else is stored that the rendering needs, or else Withdraw. A
// deterministic rendering has no record.
//
// For the first record of a component, the status that names the record is written before the record itself. So a crash
// never leaves a first record that the status does not name. If the named record does not exist, no object of the
// rendering was applied. A later record is written before the status names it, and contains the id of the record that
// it replaces. So after a crash between these two writes, the status still names the previous record, whose objects are
// applied. The unnamed record is kept until the status names another record, because another operator process may be
// about to name it. If two operator processes record a rendering, the second write of the status is a conflict (see
// components.Store), and the next pass uses the record that the status names.
func (p Pinned) Record(ctx context.Context, obj components.Object, owner manifests.Owner, set Set) error {
	st, state := obj.GetStatus(), p.state(obj)
	previous := records.Named(st.RenderedSet)
	if set.ID == "" {
		return nil
	}
	if previous == "" && st.PhaseRecord == records.PhasesUnknown {
		// The status was lost, and may have named a record with the applied values. This rendering must not replace these
		// values, so the pass ends with an error.
		_, err := p.store.Records.ListKind(ctx, owner, records.Rendering)
		return pinnedError("find the record of", cmp.Or(err, errFoundLate))
	}
	if st.RenderedSet == set.ID && state.ID(records.Rendering) == set.ID {
		return nil
	}
	if err := p.store.Components.AddFinalizer(ctx, obj); err != nil {
		return err
	}
	rec, parts, err := recordOf(obj, set, previous)
	if err != nil {
		return pinnedError("record", err)
	}
	if previous == "" {
		if err := p.name(ctx, obj, rec.ID); err != nil {
			return err
		}
		return p.write(ctx, obj, owner, rec, parts)
	}
	if written := state.ID(records.Rendering); written != rec.ID && !records.IsFound(st.RenderedSet) {
		// Records that were withdrawn are deleted before there is one more of them. If the status names a record that was
		// found, another one may have the only copy of the values, so all are kept until this one is named.
		if err := p.deleteStale(ctx, obj, owner, rec.ID); err != nil {
			return err
		}
	}
	if err := p.write(ctx, obj, owner, rec, parts); err != nil {
		return err
	}
	st.RenderedSet = rec.ID
	return nil
}

// Name writes the status that names the record of Record. previous is the value of the status before Record. Name does
// nothing if the status names a record that it named before, or a first record.
func (p Pinned) Name(ctx context.Context, obj components.Object, previous string) error {
	named := obj.GetStatus().RenderedSet
	if named == previous || previous == "" {
		return nil
	}
	if err := p.name(ctx, obj, named); err != nil {
		return err
	}
	p.state(obj).AddPrevious(records.Rendering, records.Named(previous))
	return nil
}

// Withdraw enters the previous rendering into the status in memory again, because something could not be stored that
// the new rendering needs. The record of the previous rendering exists, because only Begun deletes it. So the status
// never names the inputs of one rendering and the record of another one. A first record stays named, because the
// previous rendering needs none.
func (p Pinned) Withdraw(obj components.Object, previous string) {
	st := obj.GetStatus()
	if previous == "" || st.RenderedSet == previous {
		return
	}
	p.state(obj).AddPrevious(records.Rendering, st.RenderedSet)
	st.RenderedSet = previous
}

// Begun deletes the records that a rendering replaces, and all records if it is deterministic. It must be called after
// the status was written that names the record. If Begun fails, the rendering stays the current one.
func (p Pinned) Begun(ctx context.Context, obj components.Object, owner manifests.Owner, set Set) error {
	if set.ID == "" {
		return p.End(ctx, obj, owner)
	}
	return p.deleteStale(ctx, obj, owner, "")
}

// End deletes the records of renderings of a component that no longer needs a record, because its rendering is
// deterministic, or because the component is being deleted. If the component is not being deleted, the status that
// names no rendering is written before the first deletion. So another operator process that has written a record cannot
// name it any more.
func (p Pinned) End(ctx context.Context, obj components.Object, owner manifests.Owner) error {
	st := obj.GetStatus()
	confirm := func(ctx context.Context) error { return p.confirm(ctx, obj) }
	switch {
	case !obj.GetDeletionTimestamp().IsZero():
		confirm = nil
	case st.RenderedSet != "":
		confirm = func(ctx context.Context) error { return p.name(ctx, obj, "") }
	}
	if err := p.remove(ctx, obj, owner, confirm, p.store.Records.Remover.DeleteLeft); err != nil {
		return err
	}
	st.RenderedSet = ""
	return nil
}

// recordOf returns the record of a rendering, and its content. previous is the id of the record that the status names,
// empty if there is none. A lost record that is written again has its own id as previous. It gets another id than the
// rendering if the recorded id does not prove the bytes that are written; see records.Proof.Again.
func recordOf(obj components.Object, set Set, previous string) (rec records.Record, parts [][]byte, err error) {
	bodies, err := set.Manifests()
	if err != nil {
		return rec, nil, err
	}
	rec = records.Record{
		Kind: records.Rendering, ID: set.ID, Note: set.Note, ValuesLost: set.ValuesLost,
		Origin: records.OriginOf(obj.GetStatus()), Capabilities: set.Capabilities, After: previous,
	}
	if parts, err = records.Encode(records.Rendering, bodies); err != nil {
		return rec, nil, err
	}
	rec.ID, rec.Proof, err = set.Proof.Again(set.ID, parts)
	return rec, parts, err
}

// write writes the record of a rendering.
func (p Pinned) write(
	ctx context.Context, obj components.Object, owner manifests.Owner, rec records.Record, parts [][]byte,
) error {
	if err := p.store.Records.Write(ctx, owner, rec, parts); err != nil {
		return pinnedError("record", err)
	}
	p.state(obj).SetID(records.Rendering, rec.ID)
	return nil
}

// name enters the id of a record into the status of a component and writes the status. If the write fails, the status
// in memory names the same record as before.
func (p Pinned) name(ctx context.Context, obj components.Object, id string) error {
	st := obj.GetStatus()
	previous := st.RenderedSet
	st.RenderedSet = id
	err := p.store.Components.WriteStatus(ctx, obj, components.RefOf(st))
	if err != nil {
		st.RenderedSet = previous
	}
	return err
}

// confirm returns an error if the stored status names another rendering than the status that this pass loaded or wrote
// last.
func (p Pinned) confirm(ctx context.Context, obj components.Object) error {
	if err := p.store.Components.Confirm(ctx, obj, components.RefOf(obj.GetStatus())); err != nil {
		return fmt.Errorf("confirm the component: %w", err)
	}
	return nil
}

// deleteStale deletes the stale records of renderings; see records.Remover.DeleteUnnamed. Other operator processes may
// write records and the status all the time, so the component is confirmed between the list and the first deletion of a
// record that the status of this pass never named, even if this pass has just written the status. The record with the
// id next is kept, because this pass writes it again.
func (p Pinned) deleteStale(ctx context.Context, obj components.Object, owner manifests.Owner, next string) error {
	confirm := func(ctx context.Context) error { return p.confirm(ctx, obj) }
	return p.remove(ctx, obj, owner, confirm, func(ctx context.Context, m *records.State, n records.Naming) error {
		n.Next = next
		return p.store.Records.Remover.DeleteUnnamed(ctx, m, n)
	})
}

// remove calls remove with the record that the status names. An error of confirm is returned unchanged, so that a
// conflict ends the pass.
func (p Pinned) remove(
	ctx context.Context, obj components.Object, owner manifests.Owner, confirm func(context.Context) error,
	remove func(context.Context, *records.State, records.Naming) error,
) error {
	naming := records.Naming{Owner: owner, Kind: records.Rendering, ID: records.Named(obj.GetStatus().RenderedSet)}
	refusal, err := removeConfirmed(ctx, p.state(obj), naming, confirm, remove)
	if err != nil {
		return pinnedError("delete the record of", err)
	}
	return refusal
}

func (p Pinned) state(obj client.Object) *records.State {
	return &p.store.States.Of(client.ObjectKeyFromObject(obj)).Records
}

func pinnedError(action string, err error) error {
	return records.Problem(action+" the rendered manifests", err)
}
