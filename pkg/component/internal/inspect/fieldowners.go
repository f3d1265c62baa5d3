package inspect

import (
	"bytes"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	structured "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// All facts and decisions call the field owner of a reconciler by the name of the reconciler. An author may set another
// field owner, and may have had others before. The functions below translate between both, so that the fields of
// previous owners are ours everywhere.

// FieldManager returns the field owner under which the reconciler writes.
func (v View) FieldManager() string {
	if v.FieldOwner == "" {
		return v.Reconciler
	}
	return v.FieldOwner
}

// isPrevious reports whether a field manager is a previous field owner of the reconciler. The name of the reconciler is
// a previous one if the reconciler has another.
func (v View) isPrevious(manager string) bool {
	return manager != v.FieldManager() && (manager == v.Reconciler || slices.Contains(v.PreviousFieldOwners, manager))
}

// HasPrevious reports whether previous field owners of the reconciler own fields.
func (v View) HasPrevious(entries []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && v.isPrevious(e.Manager)
	})
}

// AncientManager is the manager of the entry into which the API server joins the oldest entries of an object with many
// managers that update it. Nobody knows whose entries they were.
const AncientManager = "ancient-changes"

// Wrote reports whether the reconciler wrote a label of an object. The managed fields show that. There are API servers
// that have none, and nobody knows who wrote a label of AncientManager. In these cases the object itself must be the
// one that its annotation names, because a copy of a dependent has the label, too.
func (v View) Wrote(key manifests.Key, obj metav1.Object, label string) bool {
	entries := obj.GetManagedFields()
	_, named := obj.GetAnnotations()[v.Reconciler+"/"+marks.AnnotationObject]
	named = named && !IsCopy(key, obj, v.Reconciler)
	return len(entries) == 0 && named || slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		isOurs := e.Manager == v.FieldManager() || v.isPrevious(e.Manager) || e.Manager == AncientManager && named
		if e.Subresource != "" || !isOurs {
			return false
		}
		return hasKey(metadataIn(e), "f:labels", label)
	})
}

// OwnsStatusField reports whether an entry of managed fields contains a field of the status.
func OwnsStatusField(e metav1.ManagedFieldsEntry, field string) bool {
	key := "f:" + field
	if e.FieldsV1 == nil || !bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(key)) {
		return false
	}
	status, _ := fieldset.Decode(e.FieldsV1)["f:status"].(map[string]any)
	_, owns := status[key]
	return owns
}

// OwnFields returns managed fields in which the entries of all field owners of the reconciler have its name. Entries
// with the same operation are joined. The argument is not changed.
func (v View) OwnFields(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	if v.FieldManager() == v.Reconciler && !v.HasPrevious(entries) {
		return entries
	}
	var own []metav1.ManagedFieldsEntry
	for _, e := range entries {
		if e.Subresource != "" || e.Manager != v.FieldManager() && !v.isPrevious(e.Manager) {
			own = append(own, e)
			continue
		}
		current := e.Manager == v.FieldManager()
		e.Manager = v.Reconciler
		same := slices.IndexFunc(own, func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == e.Manager && other.Operation == e.Operation && other.Subresource == ""
		})
		if same < 0 {
			own = append(own, e)
			continue
		}
		own[same] = joined(own[same], e, current)
	}
	return own
}

// joined returns an entry with the fields of two entries. With newer, the other attributes are those of b.
func joined(a, b metav1.ManagedFieldsEntry, newer bool) metav1.ManagedFieldsEntry {
	fields := structured.NewSet()
	for _, e := range []metav1.ManagedFieldsEntry{a, b} {
		if e.FieldsV1 != nil {
			fields = fields.Union(fieldSet(fieldset.Decode(e.FieldsV1)))
		}
	}
	if newer {
		a = b
	}
	if data, err := fields.ToJSON(); err == nil {
		a.FieldsV1 = &metav1.FieldsV1{}
		a.FieldsV1.SetRawBytes(data)
	}
	return a
}

// SentFields returns the managed fields for a request: the entries with the name of the reconciler get the field owner.
// The argument is not changed.
func (v View) SentFields(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	if v.FieldManager() == v.Reconciler {
		return entries
	}
	sent := slices.Clone(entries)
	for i := range sent {
		if sent[i].Subresource == "" && sent[i].Manager == v.Reconciler {
			sent[i].Manager = v.FieldManager()
		}
	}
	return sent
}

// Own returns an object whose managed fields are OwnFields. The argument is not changed, and the result must not be
// changed below its metadata.
func (v View) Own(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if v.FieldManager() == v.Reconciler && len(v.PreviousFieldOwners) == 0 {
		return obj
	}
	own := v.ownMetadata(obj)
	renamed, _ := own.(*unstructured.Unstructured)
	return renamed
}

// ownMetadata is Own for an object or its metadata.
func (v View) ownMetadata(obj metav1.Object) metav1.Object {
	if v.FieldManager() == v.Reconciler && len(v.PreviousFieldOwners) == 0 {
		return obj
	}
	entries := v.OwnFields(obj.GetManagedFields())
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		renamed := &unstructured.Unstructured{Object: maps.Clone(o.Object)}
		metadata, _ := o.Object["metadata"].(map[string]any)
		renamed.Object["metadata"] = maps.Clone(metadata)
		renamed.SetManagedFields(entries)
		return renamed
	case *metav1.PartialObjectMetadata:
		renamed := *o
		renamed.ManagedFields = entries
		return &renamed
	}
	return obj
}
