package marks

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/objectmeta"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ownerID matches an owner id.
var ownerID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// OwnerOf returns the owner of a live object: the id from the owner-id label, and the readable form from the owner-id
// annotation. The label of the given reconciler takes precedence over the labels of other reconcilers. If the object
// has no such label, OwnerOf returns the argument controller (the controller among the owner references) as both
// results. It returns empty strings if the object has no owner. The name is empty if the annotation is missing: then
// the label of another reconciler counts only if its value is an owner id, because it may have another purpose.
func OwnerOf(labels, annotations map[string]string, reconciler, controller string) (id, name string) {
	if id, ok := labels[reconciler+"/"+manifests.LabelOwnerID]; ok {
		if name := annotations[reconciler+"/"+manifests.AnnotationOwnerID]; name != "" && objectmeta.OwnerID(name) != id {
			// The label does not match the annotation, so one of them was edited. It is unknown which of them is right,
			// so the object is treated as an object without owner.
			return "", ""
		}
		return id, annotations[reconciler+"/"+manifests.AnnotationOwnerID]
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, ok := strings.CutSuffix(key, "/"+manifests.LabelOwnerID)
		if name := annotations[prefix+"/"+manifests.AnnotationOwnerID]; ok && (name != "" || ownerID.MatchString(labels[key])) {
			return labels[key], name
		}
	}
	return controller, controller
}

// CopyOf returns the dependent of which an object is a copy: the one that the annotation object names, if this is not
// the object itself. A copy has another kind, namespace or name. The groups are not compared, because the API server
// serves some objects in two groups. CopyOf returns false for an object without the annotation, such as a dependent
// that an earlier version of the reconciler wrote, and for one whose annotation is no key.
func CopyOf(key manifests.Key, annotations map[string]string, reconciler string) (manifests.Key, bool) {
	text := annotations[reconciler+"/"+AnnotationObject]
	if text == "" || text == key.String() {
		return manifests.Key{}, false
	}
	named, ok := manifests.ParseKey(text)
	if !ok || named.Kind == key.Kind && named.Namespace == key.Namespace && named.Name == key.Name {
		return manifests.Key{}, false
	}
	return named, true
}

// ReleasedBy returns the id of the component that released an object, from the annotation released-by. It returns an
// empty string if no component of the reconciler released the object.
func ReleasedBy(annotations map[string]string, reconciler string) string {
	name := annotations[reconciler+"/"+AnnotationReleasedBy]
	if _, ok := manifests.ParseOwner(name); !ok {
		return ""
	}
	return objectmeta.OwnerID(name)
}
