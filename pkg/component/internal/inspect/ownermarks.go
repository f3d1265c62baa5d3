package inspect

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ownerOf returns the owner of an object; see marks.OwnerOf. An object whose owner label another client has
// replaced has no owner: its label says nothing about who owns it.
func ownerOf(obj metav1.Object, reconciler string) (id, name string) {
	controller := ""
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		controller = ref.Kind + " " + ref.Name
	}
	id, name = marks.OwnerOf(obj.GetLabels(), obj.GetAnnotations(), reconciler, controller)
	if id != "" && replacedBy(obj, reconciler, id) != "" {
		return "", ""
	}
	return id, name
}

// replacedBy returns the field manager that has replaced the owner label of an object with the given owner id; empty if
// no other client has. The managed fields show that: the reconciler owns fields of the object, and only clients that
// are no reconcilers own the label. Without a field of the reconciler, another client created the object with its
// marks, for example from a backup.
func replacedBy(obj metav1.Object, reconciler, id string) string {
	label, entries := ownerLabel(obj.GetLabels(), reconciler, id), obj.GetManagedFields()
	isOurs := func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "" && e.Manager == reconciler }
	mayOwn := func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && e.Manager != reconciler && mentions(e, label)
	}
	// Most objects end here, so that their fields are not decoded.
	if label == "" || !slices.ContainsFunc(entries, mayOwn) || !slices.ContainsFunc(entries, isOurs) {
		return ""
	}
	by := ""
	for _, e := range entries {
		switch metadata := metadataIn(e); {
		case e.Subresource != "" || !hasKey(metadata, "f:labels", label):
		case isWriter(e.Manager, metadata, label, reconciler):
			return ""
		default:
			by = e.Manager
		}
	}
	return by
}

// ownerLabel returns the label with an owner id; empty if the id is that of a controller.
func ownerLabel(labels map[string]string, reconciler, id string) string {
	if own := reconciler + "/" + manifests.LabelOwnerID; labels[own] == id {
		return own
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if labels[label] == id && strings.HasSuffix(label, "/"+manifests.LabelOwnerID) {
			return label
		}
	}
	return ""
}

// isWriter reports whether a manager that owns an owner label is the reconciler of this label. The field owner of
// another reconciler may have any name, so a manager that also owns the other marks of the reconciler counts. Nobody
// knows whose fields AncientManager has, so it counts, too.
func isWriter(manager string, metadata map[string]any, label, reconciler string) bool {
	prefix := strings.TrimSuffix(label, manifests.LabelOwnerID)
	if manager == prefix[:len(prefix)-1] || manager == AncientManager {
		return true
	}
	return prefix != reconciler+"/" && (hasKey(metadata, "f:annotations", prefix+marks.AnnotationDigest) ||
		hasKey(metadata, "f:annotations", prefix+marks.AnnotationObject))
}

// mentions reports whether the encoded fields of an entry contain a key anywhere.
func mentions(e metav1.ManagedFieldsEntry, key string) bool {
	return e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(key))
}

// metadataIn returns the fields of an entry below metadata.
func metadataIn(e metav1.ManagedFieldsEntry) map[string]any {
	metadata, _ := fieldset.Decode(e.FieldsV1)["f:metadata"].(map[string]any)
	return metadata
}

// hasKey reports whether fields below metadata contain a label or an annotation.
func hasKey(metadata map[string]any, kind, key string) bool {
	fields, _ := metadata[kind].(map[string]any)
	_, found := fields["f:"+key]
	return found
}
