package component

import (
	"cmp"
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// kept returns what was rendered of the same inputs with values that a second rendering would not give: what is in memory, or recorded. Current
// says that what it looked up is the same as well, so that nothing is to be rendered.
func (r *Reconciler[T]) kept(ctx context.Context, component T, owner manifests.Owner, in inputs) (kept draft, current bool, err error) {
	name, st := client.ObjectKeyFromObject(component), component.GetStatus()
	if last := r.remembered(name, in); last != nil {
		// It is not what is wanted, because something changed that it looked up.
		return last.draft, false, nil
	}
	if !in.standing(st) || st.RenderedSet == "" {
		return draft{}, false, nil
	}
	var bodies []*unstructured.Unstructured
	recalled, err := r.records.Read(ctx, owner, records.Rendering, st.RenderedSet, &bodies)
	if records.IsLost(err) {
		r.tell(component, status.Warning("RenderedSetLost", "it is rendered again; what was applied stays, and what is gone gets other values: "+err.Error()))
		return draft{anew: true}, false, nil
	}
	if err != nil {
		return draft{}, false, keepProblem("read", err)
	}
	if recalled.Origin == nil || recalled.Origin.InputDigest != in.digest {
		// It was to be dropped when the inputs changed, and that failed.
		return draft{anew: true}, false, nil
	}
	r.secrets.of(name).SetID(records.Rendering, recalled.ID)
	kept = draft{bodies: drafted{plain: bodies}, id: recalled.ID, note: recalled.Note, anew: recalled.ValuesLost}
	if kept.looks, current, err = r.recallLooks(ctx, owner, in.target, st); err == nil && current {
		r.follow(name, owner, in.target, kept.looks)
	}
	return kept, current, err
}

// errFoundLate ends a pass that rendered before records could be listed, which they can now.
var errFoundLate = errors.New("it can be looked for only now")

func keepProblem(what string, err error) error {
	return records.Problem(what+" what was rendered", err)
}

// keep records a set that a second rendering would give other values, before anything of it is applied, and drops what was recorded before.
//
// The status names the first record before it is there, so a crash at any point leaves none that nobody finds; of a record that is named and
// not there nothing was applied. A later one is there before the status names it, so a crash leaves the one before, which was applied; what is
// left of the other is found by the sweep of the next process, and dropped.
func (r *Reconciler[T]) keep(ctx context.Context, component T, owner manifests.Owner, d draft) error {
	*component.GetStatus() = status.WithPinnedValues(*component.GetStatus(), d.note, component.GetGeneration(), r.clock.Now())
	name, status := client.ObjectKeyFromObject(component), component.GetStatus()
	former := status.RenderedSet
	if d.id == "" {
		return r.keepNothing(ctx, component, owner)
	}
	if former == "" && status.PhaseRecord == records.PhasesUnknown {
		// What a lost status named may hold the values that were applied.
		_, err := r.records.ListKind(ctx, owner, records.Rendering)
		return keepProblem("find", cmp.Or(err, errFoundLate))
	}
	if former == d.id && r.secrets.of(name).ID(records.Rendering) == d.id {
		return r.deleteUnnamedRenderings(ctx, name, owner, d.id)
	}
	if err := r.components.AddFinalizer(ctx, component); err != nil {
		return err
	}
	if former == "" {
		if err := r.nameRecord(ctx, component, d.id); err != nil {
			return err
		}
		return r.writeKept(ctx, component, owner, d)
	}
	if err := r.writeKept(ctx, component, owner, d); err != nil {
		return err
	}
	r.secrets.of(name).AddUnnamed(records.Rendering)
	if former != d.id {
		if err := r.nameRecord(ctx, component, d.id); err != nil {
			return err
		}
	}
	return r.deleteUnnamedRenderings(ctx, name, owner, d.id)
}

// deleteUnnamedRenderings deletes the records of renderings that the status does not name.
func (r *Reconciler[T]) deleteUnnamedRenderings(ctx context.Context, name client.ObjectKey, owner manifests.Owner, named string) error {
	if err := r.records.DeleteUnnamed(ctx, r.secrets.of(name), owner, records.Rendering, named); err != nil {
		return keepProblem("drop", err)
	}
	return nil
}

// writeKept writes the record of a set.
func (r *Reconciler[T]) writeKept(ctx context.Context, component T, owner manifests.Owner, d draft) error {
	bodies, err := d.bodies.all()
	if err != nil {
		return err
	}
	rec := records.Record{
		Kind: records.Rendering, ID: d.id, Note: d.note, ValuesLost: d.anew, Origin: records.OriginOf(component.GetStatus()),
	}
	parts, err := records.Encode(bodies)
	if err == nil {
		err = r.records.Write(ctx, owner, rec, parts)
	}
	if err != nil {
		return keepProblem("record", err)
	}
	r.secrets.of(client.ObjectKeyFromObject(component)).SetID(records.Rendering, d.id)
	return nil
}

// nameRecord persists which record counts.
func (r *Reconciler[T]) nameRecord(ctx context.Context, component T, id string) error {
	status := component.GetStatus()
	status.RenderedSet = id
	return r.components.WriteStatus(ctx, component, components.RefOf(status))
}

// keepNothing drops what is recorded.
func (r *Reconciler[T]) keepNothing(ctx context.Context, component T, owner manifests.Owner) error {
	status := component.GetStatus()
	if status.RenderedSet == "" {
		return r.deleteUnnamedRenderings(ctx, client.ObjectKeyFromObject(component), owner, "")
	}
	if err := r.records.Delete(ctx, owner, records.Rendering, ""); err != nil {
		return keepProblem("drop", err)
	}
	status.RenderedSet = ""
	return nil
}

// enterKept enters the record of a rendering that a lost status named, and what else is known by it: then the values stay as they are while
// the inputs do.
func (r *Reconciler[T]) enterKept(status *metav1alpha1.Status, secrets []metav1.PartialObjectMetadata) {
	found := records.OfKind(secrets, records.Rendering)
	status.RenderedSet = r.records.Latest(found, status.RenderedSet)
	for i := range found {
		if records.IDOf(found[i].Name) != status.RenderedSet || status.InputDigest != "" {
			continue
		}
		if origin := r.records.OriginOf(&found[i]); origin != nil {
			origin.Restore(status)
		}
	}
}
