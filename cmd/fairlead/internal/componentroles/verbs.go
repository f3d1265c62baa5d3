package componentroles

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// order is the order of verbs in a rule.
var order = []string{"get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate"}

// verbs returns the verbs of the requests that the engine makes for a dependent as the component's account. The engine
// reads an object if the response to a write is not conclusive, or to transfer fields. It creates an object by
// server-side apply, which needs create and patch, or by POST with the update policy replace. An observed object is
// only read. List and watch are not included.
func verbs(o manifests.Object, defaults metav1alpha1.Policies) []string {
	if o.Settings.IsObserved() {
		return []string{"get"}
	}
	update := updatePolicy(o, defaults)
	remove := cmp.Or(o.Settings.DeletePolicy, defaults.Delete)
	adopt := cmp.Or(o.Settings.AdoptionPolicy, defaults.Adoption)

	found := []string{"get", "create"}
	if update == metav1alpha1.UpdateReplace {
		found = append(found, "update")
	}
	// Dependents are released and adopted by a patch, whatever their update policy is.
	released := remove != metav1alpha1.DeleteDelete || o.Key.GroupKind() == claim
	if update != metav1alpha1.UpdateReplace || released || adopt == metav1alpha1.AdoptAlways {
		found = append(found, "patch")
	}
	if remove != metav1alpha1.DeleteOrphan || o.Settings.PurgeOrder != nil || update == metav1alpha1.UpdateRecreate {
		found = append(found, "delete")
	}
	return found
}

func updatePolicy(o manifests.Object, defaults metav1alpha1.Policies) metav1alpha1.UpdatePolicy {
	return cmp.Or(o.Settings.UpdatePolicy, defaults.Update)
}

// claim is the type whose objects are orphaned by default.
var claim = schema.GroupKind{Kind: "PersistentVolumeClaim"}
