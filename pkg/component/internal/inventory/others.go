package inventory

import (
	"cmp"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// FindOthers searches for records of phases and pinned renderings, if Secrets could not be listed when the status was
// recovered. If found is true, the status may name another pinned rendering, and the caller must not use sets that were
// rendered before.
func (s *Store) FindOthers(ctx context.Context, obj components.Object, owner manifests.Owner) (found bool, err error) {
	st := obj.GetStatus()
	if st.PhaseRecord != records.PhasesUnknown {
		return false, nil
	}
	err = restoreOthers(ctx, s.Records, st, owner)
	return err == nil && st.PhaseRecord != records.PhasesUnknown, err
}

// restoreOthers enters the ids of the records of phases and pinned renderings into a status that was lost, or that must
// not be believed, either both ids or none. If the operator may not list Secrets, a believed status that names a record
// of phases is not changed. Any other status gets the value PhasesUnknown, and a status that must not be believed names
// no pinned rendering any more. This is not an error, because an operator without rights on Secrets may never have
// written a record.
func restoreOthers(
	ctx context.Context, store *records.Store, st *metav1alpha1.Status, owner manifests.Owner,
) error {
	found, err := store.List(ctx, owner)
	if apierrors.IsForbidden(err) {
		if believed(st, st.PhaseRecord) == "" {
			st.PhaseRecord = records.PhasesUnknown
		}
		if components.Doubt(st) != "" && st.RenderedSet != "" {
			st.RenderedSet, st.InputDigest = "", ""
		}
		return nil
	}
	if err != nil {
		return phasesError("find", err)
	}
	restorePhases(store, st, found)
	restorePinned(store, st, found)
	return nil
}

// restorePhases enters the id of the current record of phases into a status. The current record is the record that the
// status names, if it is complete and the status is believed, or else the complete record that was written last.
func restorePhases(store *records.Store, st *metav1alpha1.Status, secrets []metav1.PartialObjectMetadata) {
	found := records.OfKind(secrets, records.Phases)
	switch complete := store.Marks.Latest(found, believed(st, st.PhaseRecord)); {
	case complete != "":
		st.PhaseRecord = complete
	case len(found) > 0:
		st.PhaseRecord = records.PhasesPending
	case st.PhaseRecord == records.PhasesUnknown:
		st.PhaseRecord = ""
	}
}

// believed returns a name in a status, or an empty text if the record in the status must not be believed.
func believed(st *metav1alpha1.Status, name string) string {
	if components.Doubt(st) != "" {
		return ""
	}
	return name
}

// restorePinned enters the name of the current pinned rendering into a status, together with the digest of its inputs.
// If there is no complete rendering, the status names the previous one further, so that the values count as lost, and
// existing objects keep them.
//
// A rendering that no believed status named gets a name that proves nothing; see records.Found. A tenant may have
// written it together with its id, or may be about to write it.
func restorePinned(store *records.Store, st *metav1alpha1.Status, secrets []metav1.PartialObjectMetadata) {
	found, named := records.OfKind(secrets, records.Rendering), believed(st, st.RenderedSet)
	latest := store.Marks.Latest(found, records.Named(named))
	if named == "" || latest != "" && latest != records.Named(named) {
		st.RenderedSet = records.Found(cmp.Or(latest, records.Named(st.RenderedSet)))
	}
	if latest == "" {
		return
	}
	for i := range found {
		if records.IDOf(found[i].Name) != latest || believed(st, st.InputDigest) != "" {
			continue
		}
		if origin := store.Marks.OriginOf(&found[i]); origin != nil {
			origin.Restore(st)
		}
	}
}
