package records

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MadeFrom returns the ids of the complete renderings among secrets whose annotations name the digest of their inputs,
// in the order in which they are used after the loss of the status. All secrets must belong to renderings.
//
// Nothing in a Secret proves who wrote it, so the order depends on what is hard to forge. First come the renderings of
// which the managed fields show that the reconciler applied all Secrets. To forge these fields, a client needs the
// right to patch Secrets, with which it could edit the genuine record as well. After the restore of a backup, there is
// no such record. The renderings of each group are sorted by the times of their creation, which no client chooses. The
// first one is used, because later renderings of the same inputs keep its values. The time in the annotations decides
// only between Secrets that were created in the same second.
func (m Marks) MadeFrom(inputs string, secrets []metav1.PartialObjectMetadata) []string {
	var found []foundRendering
	for _, id := range idsOf(secrets) {
		of := ofID(secrets, id)
		if origin := m.OriginOf(&of[0]); origin != nil && origin.InputDigest == inputs && m.isComplete(of, id) {
			found = append(found, m.foundRendering(id, of))
		}
	}
	slices.SortStableFunc(found, foundRendering.compare)
	ids := make([]string, 0, len(found))
	for _, f := range found {
		ids = append(ids, f.id)
	}
	return ids
}

// idsOf returns the ids of the records that Secrets are parts of, sorted, each once.
func idsOf(secrets []metav1.PartialObjectMetadata) []string {
	ids := make([]string, 0, len(secrets))
	for i := range secrets {
		ids = append(ids, IDOf(secrets[i].Name))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// foundRendering is what the Secrets of a rendering show about their writer; see Marks.MadeFrom.
type foundRendering struct {
	id string
	// others is the number of Secrets that the reconciler did not apply.
	others int
	// created is the time when the last Secret was created, and written is the time in its annotations.
	created time.Time
	written string
}

func (m Marks) foundRendering(id string, secrets []metav1.PartialObjectMetadata) foundRendering {
	f := foundRendering{id: id}
	for i := range secrets {
		if !m.applied(&secrets[i]) {
			f.others++
		}
		if created := secrets[i].CreationTimestamp.Time; created.After(f.created) {
			f.created = created
		}
		f.written = max(f.written, m.written(&secrets[i]))
	}
	return f
}

func (f foundRendering) compare(other foundRendering) int {
	return cmp.Or(
		cmp.Compare(min(f.others, 1), min(other.others, 1)), f.created.Compare(other.created),
		cmp.Compare(f.written, other.written),
	)
}

// applied reports whether the managed fields of a Secret show that the reconciler applied it.
func (m Marks) applied(secret *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(secret.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == metav1.ManagedFieldsOperationApply && m.wroteRecord(e, kindOf(secret.Name))
	})
}
