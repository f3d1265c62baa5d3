package plan

import (
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// stays reports whether a recorded dependent stays until the objects of the phase post-delete have run: because one of
// them refers to it, because it may give rights to their pods, or because it becomes one of them.
type stays func(e metav1alpha1.InventoryEntry) bool

// stayingForPhase returns the dependents that stay for the objects of the phase post-delete. It is not known which
// roles a dependent that binds rights gives to whom, so all roles and bindings stay if an object of the phase has a
// service account. The owned namespaces of all these objects stay, too, because the objects would be lost with them.
func stayingForPhase(f Facts) stays {
	referred, kept, hasAccount := map[manifests.Key]bool{}, map[manifests.Key]bool{}, false
	homes := map[string]bool{}
	for i := range f.PostDelete {
		o := &f.PostDelete[i]
		if whole, err := o.Whole(); err == nil && whole.Body != nil {
			r := references{namespace: o.Key.Namespace, found: referred}
			r.walk(whole.Body.Object)
			hasAccount = hasAccount || r.hasAccount
		}
		kept[o.Key] = keepsEntry(f.Inventory[o.Key], o)
		homes[o.Key.Namespace] = true
	}
	isUsed := func(e metav1alpha1.InventoryEntry) bool {
		key := KeyOf(e)
		return e.Phase == "" && (referred[key] || kept[key] || hasAccount && key.Group == rbacGroup)
	}
	for _, e := range f.Inventory {
		if isUsed(e) {
			homes[e.Namespace] = true
		}
	}
	return func(e metav1alpha1.InventoryEntry) bool { return isUsed(e) || IsOwnedNamespace(e) && homes[e.Name] }
}

// keepsEntry reports whether a dependent with an entry is not removed before it is applied in a phase: its delete
// policy keeps it, and nothing runs again if it is created again. A Job or a Pod is deleted, so that it runs in the
// phase.
func keepsEntry(e metav1alpha1.InventoryEntry, o *manifests.Object) bool {
	return e.Name != "" && e.Phase == "" && !e.Completed && !o.Ephemeral && Orphans(e, ReasonDeleted)
}

// references are the objects that a manifest refers to.
type references struct {
	namespace string
	found     map[manifests.Key]bool
	// hasAccount is set if the manifest refers to a service account.
	hasAccount bool
}

// walk adds the references in a part of a manifest. It knows the fields of pods, which are in the templates of other
// kinds too.
func (r *references) walk(part any) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			r.walk(item)
		}
	case map[string]any:
		for field, value := range part {
			r.add(field, value)
			r.walk(value)
		}
	}
}

// add adds the reference in a field, if it is one.
func (r *references) add(field string, value any) {
	switch field {
	case "serviceAccountName", "serviceAccount":
		r.hasAccount = r.addNamed("ServiceAccount", value) || r.hasAccount
	case "secretName":
		r.addNamed("Secret", value)
	case "claimName":
		r.addNamed("PersistentVolumeClaim", value)
	case "configMap", "configMapRef", "configMapKeyRef":
		r.addNamed("ConfigMap", nameIn(value))
	case "secret", "secretRef", "secretKeyRef":
		r.addNamed("Secret", nameIn(value))
	case "imagePullSecrets":
		secrets, _ := value.([]any)
		for _, secret := range secrets {
			r.addNamed("Secret", nameIn(secret))
		}
	}
}

// addNamed adds the object of a kind with a name. It reports whether there is a name.
func (r *references) addNamed(kind string, name any) bool {
	text, _ := name.(string)
	if strings.TrimSpace(text) == "" {
		return false
	}
	r.found[manifests.Key{Kind: kind, Namespace: r.namespace, Name: text}] = true
	return true
}

// nameIn returns the name in a reference.
func nameIn(reference any) any {
	fields, _ := reference.(map[string]any)
	return fields["name"]
}
