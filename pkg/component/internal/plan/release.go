package plan

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// RecordedDeletePolicy is what the record says of an object whose manifest has a policy of its own, or none; fallback holds where it has
// none. A claim holds data, and is deleted only where its own manifest says so. Empty means delete, which is what most objects are.
func RecordedDeletePolicy(key manifests.Key, own, fallback metav1alpha1.DeletePolicy) metav1alpha1.DeletePolicy {
	if IsClaim(key) {
		if own == metav1alpha1.DeleteDelete {
			return own
		}
		return metav1alpha1.DeleteOrphan
	}
	if own == "" {
		own = fallback
	}
	if own == metav1alpha1.DeleteDelete {
		return ""
	}
	return own
}

// Releases says of a recorded object that it is released where others are deleted, for that reason: the policy that was recorded last
// counts, not what the manifest, or a default, would say now. A policy that this version does not know never deletes. What is purged is
// still wanted, and deleted because its purge order says so; only a claim needs more than that.
func Releases(e metav1alpha1.InventoryEntry, reason Reason) bool {
	switch {
	case IsClaim(KeyOf(e)):
		return e.DeletePolicy != metav1alpha1.DeleteDelete
	case reason == ReasonPurged:
		return false
	}
	switch e.DeletePolicy {
	case "", metav1alpha1.DeleteDelete:
		return false
	case metav1alpha1.DeleteOrphanOnApply:
		return reason == ReasonPruned
	case metav1alpha1.DeleteOrphanOnDelete:
		return reason == ReasonDeleted
	case metav1alpha1.DeleteOrphan:
	}
	return true
}

// IsClaim says that an object claims a volume.
func IsClaim(key manifests.Key) bool {
	return key.GroupKind() == schema.GroupKind{Kind: "PersistentVolumeClaim"}
}

// released says that nothing on the object tells of us any more: somebody may have removed the label alone.
func (o Observed) released() bool {
	return o.Owner == "" && o.Digest == "" && o.Applied == "" && o.Updated == ""
}
