package reconcile

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// checkPlacement returns an error if the target namespace or name changed while the previous target contains
// dependents. An apply would delete these dependents and create them in the new target.
func checkPlacement(s *metav1alpha1.Status, w work) error {
	in, dependents := w.inputs, len(w.recorded.Entries)
	moved := s.TargetNamespace != in.Namespace || s.TargetName != in.Name
	if s.Revision == 0 || dependents == 0 || !moved {
		return nil
	}
	return passerror.Placement(
		"target %s/%s cannot change to %s/%s while the component has %s; change it back; to move it, create "+
			"another component with the new target first, and delete this one, which deletes its dependents, with what only the "+
			"cluster has of them",
		s.TargetNamespace, s.TargetName, in.Namespace, in.Name, plural.Of(dependents, "dependent"))
}

// beginRevision returns the status with the revision of a rendered set, and with the entry of a new revision in the
// history.
func beginRevision(
	before metav1alpha1.Status, c *Component, w work, set rendering.Set, now time.Time,
) (metav1alpha1.Status, error) {
	next, err := nextRevision(before, w.target, w.inputs, set, w.recorded.Entries, now)
	next.Reconciler, next.Identity = w.owner.Reconciler, components.Identity(w.owner.Cluster, c.GetUID())
	if before.Identity != next.Identity {
		// The values and the generation are those of a component in a backup.
		next.Exports, next.AppliedGeneration = nil, 0
	}
	// The history changes together with the revision: Inventory.Begin may write the status, and the pass may end without
	// another write.
	if next.Revision != before.Revision {
		record := revisionRecord(next.Revision, c.GetGeneration(), w.inputs, now)
		record.SourceVersion, record.Changes = set.SourceVersion(), c.State.changesSince(&before, w.inputs)
		next.History = status.BeginRevision(next.History, record)
	} else {
		next.History = status.EndAttempt(next.History, now)
	}
	return status.WithPinnedValues(next, set.Note, c.GetGeneration(), now), err
}

// nextRevision returns the status with the revision of a set. New inputs are a new revision, with a new timeout. If the
// inputs are unchanged, but the rendered objects differ from the applied objects because an object that the generator
// looked up has changed, the rendered objects are a new rendition of the same revision.
func nextRevision(
	before metav1alpha1.Status, t target.Target, in input.Inputs, set rendering.Set,
	inventory []metav1alpha1.InventoryEntry, now time.Time,
) (metav1alpha1.Status, error) {
	next := before
	next.TargetNamespace, next.TargetName = in.Namespace, in.Name
	next.TargetCluster, next.ManagedTypes = t.Cluster, input.TypeTexts(in.Managed)
	next.AskedExports = set.Lookups.ExportLines()
	switch {
	case !in.AreRecorded(&before):
		next.InputDigest, next.Rendition = in.Digest, 0
		next.Revision = max(before.Revision, newestRevision(inventory)) + 1
	case set.Lookups.AreRecorded(&before), set.ValuesLost && before.RenderedSet != "":
		// Either the looked-up objects are unchanged, or the record with the pinned values is lost. Lost values cannot
		// be rendered again, so the applied objects stay as they are even if looked-up objects have changed.
		return next, nil
	case set.DiffersFrom(inventory):
		next.Rendition = max(before.Rendition, newestRendition(inventory, before.Revision)) + 1
	case len(set.Lookups.Served.Undiscovered) > 0 && set.ID == "":
		// The rendered set is equal to the applied set, although the discovery of some API groups failed. The look-ups
		// are entered without these groups, so that the failure does not block later renderings. A set with pinned
		// values (set.ID) may be the previous rendering in place of the new one, which may depend on these groups.
		return withLookups(next, set)
	default:
		return next, nil
	}
	next.ProgressingSince = new(metav1.NewTime(now))
	return withLookups(next, set)
}

func withLookups(next metav1alpha1.Status, set rendering.Set) (metav1alpha1.Status, error) {
	var err error
	next.Lookups, next.LookupsDigest, err = set.Lookups.Lines()
	return next, err
}

// withoutRevision returns the status with the revision of the status before, because the records of the new revision
// could not be written. Otherwise a restarted process would read the new revision from the status, and assume that the
// records of this revision exist.
func withoutRevision(next, before metav1alpha1.Status) metav1alpha1.Status {
	next.InputDigest, next.Revision, next.Rendition = before.InputDigest, before.Revision, before.Rendition
	next.Lookups, next.LookupsDigest = before.Lookups, before.LookupsDigest
	next.AskedExports = before.AskedExports
	next.ProgressingSince, next.History = before.ProgressingSince, before.History
	return next
}

// newestRevision returns the newest revision in which a dependent was applied. An inventory in Secrets outlives a lost
// status, and may have higher revision numbers than the status. The number of a new revision must be higher than all
// recorded numbers. Otherwise objects that were applied in an old revision would be treated as applied in the new
// revision.
func newestRevision(inventory []metav1alpha1.InventoryEntry) int64 {
	var newest int64
	for _, e := range inventory {
		newest = max(newest, e.Revision)
	}
	return newest
}

// newestRendition returns the newest rendition of a revision in which a dependent was applied.
func newestRendition(inventory []metav1alpha1.InventoryEntry, revision int64) int64 {
	var newest int64
	for _, e := range inventory {
		if e.Revision == revision {
			newest = max(newest, e.Rendition)
		}
	}
	return newest
}

// unrendered returns the status with the failure of a rendering, unless the rendering waits for memory or for its turn.
func unrendered(c *Component, in input.Inputs, err error, now time.Time) metav1alpha1.Status {
	if waitsToRender(err) {
		return *c.GetStatus()
	}
	changes := c.State.changesSince(c.GetStatus(), in)
	return withAttempt(*c.GetStatus(), c.GetGeneration(), in, changes, err, now)
}

// withAttempt adds a failed attempt to the history of a status: an entry without a revision for new inputs that could
// not be rendered. It adds none if err is retried automatically, or if the inputs are those of the current revision.
// changes are the values that differ from those of the current revision.
func withAttempt(
	s metav1alpha1.Status,
	generation int64,
	in input.Inputs,
	changes []string,
	err error,
	now time.Time,
) metav1alpha1.Status {
	failure := passerror.Of(err)
	if !failure.Terminal || in.AreRecorded(&s) {
		return s
	}
	attempt := revisionRecord(0, generation, in, now)
	attempt.Outcome, attempt.Reason, attempt.Changes = metav1alpha1.RevisionFailed, failure.Reason, changes
	s.History = status.AddAttempt(s.History, attempt)
	return s
}

// revisionRecord returns the history entry of a revision that begins.
func revisionRecord(revision, generation int64, in input.Inputs, now time.Time) metav1alpha1.RevisionRecord {
	record := metav1alpha1.RevisionRecord{
		Revision: revision, Generation: generation, Digest: in.Digest,
		Started: metav1.NewTime(now), Outcome: metav1alpha1.RevisionProgressing,
	}
	record.Source, record.SourceDigest = in.SourceName, cmp.Or(in.SourceDigest(), in.SourceContent)
	for _, ref := range in.References {
		if ref.Is(record.Source) {
			record.SourceDigest = ref.ContentDigest()
		}
	}
	record.Source = passerror.Truncate(record.Source, status.MaxSource)
	return record
}

// triggerOf returns a digest of the state of a component: of its generation, and of the contents of its inputs.
func triggerOf(generation int64, in input.Inputs) (string, error) {
	return digests.Of([]any{generation, in.Digest})
}
