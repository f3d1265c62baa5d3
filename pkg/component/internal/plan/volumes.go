package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// isVolume reports whether an object is a PersistentVolume.
func isVolume(key manifests.Key) bool {
	return key.GroupKind() == schema.GroupKind{Kind: "PersistentVolume"}
}

// keptVolumes returns the volumes among the desired objects that a claim needs which is kept: a claim of the set whose
// delete policy is not delete, or a claim that is not in the set, such as those of a StatefulSet. The volume and the
// claim name each other, or one names the other. Kubernetes does not delete a volume before its claim, so a volume that
// were deleted would stay in deletion as long as the claim exists.
func keptVolumes(desired []manifests.Object) []manifests.Key {
	if !slices.ContainsFunc(desired, func(o manifests.Object) bool { return isVolume(o.Key) }) {
		return nil
	}
	var kept []manifests.Key
	deleted := map[manifests.Key]bool{}
	for i := range desired {
		if o := &desired[i]; IsClaim(o.Key) {
			deleted[o.Key] = o.Settings.DeletePolicy == metav1alpha1.DeleteDelete
			if volume := field(o, "spec", "volumeName"); volume != "" && !deleted[o.Key] {
				kept = append(kept, manifests.Key{Kind: "PersistentVolume", Name: volume})
			}
		}
	}
	for i := range desired {
		o := &desired[i]
		if !isVolume(o.Key) {
			continue
		}
		claim := manifests.Key{
			Kind: "PersistentVolumeClaim", Namespace: field(o, "spec", "claimRef", "namespace"),
			Name: field(o, "spec", "claimRef", "name"),
		}
		if claim.Name != "" && !deleted[claim] {
			kept = append(kept, o.Key)
		}
	}
	return kept
}

// field returns the text of a field of a desired object, and an empty text if it has none.
func field(o *manifests.Object, path ...string) string {
	whole, err := o.Whole()
	if err != nil || whole.Body == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(whole.Body.Object, path...)
	return text
}
