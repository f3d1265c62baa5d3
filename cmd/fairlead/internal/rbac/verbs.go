package rbac

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// order is that of verbs in a rule.
var order = []string{"get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate"}

// verbs returns what the engine asks about a dependent as the component's account. It reads where the answer to a write leaves something open,
// and where it hands over fields; it creates by server-side apply, for which the API server wants create and patch, or under the update policy
// replace by POST. Who lists and watches is another question.
func verbs(o manifests.Object, defaults metav1alpha1.Policies) []string {
	update := updatePolicy(o, defaults)
	remove := cmp.Or(o.Settings.DeletePolicy, defaults.Delete)
	adopt := cmp.Or(o.Settings.AdoptionPolicy, defaults.Adoption)

	found := []string{"get", "create"}
	if update == metav1alpha1.UpdateReplace {
		found = append(found, "update")
	}
	// What is released, or taken from somebody else, gets a patch under each policy.
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

// claim is the type whose objects are released, unless their own manifest says otherwise.
var claim = schema.GroupKind{Kind: "PersistentVolumeClaim"}
