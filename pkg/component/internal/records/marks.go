package records

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// LabelRecord is the label of the Secrets of records, with the prefix of the reconciler. Its value is the owner id.
const LabelRecord = "record-of"

// Labels and annotations of Secrets, each with the prefix of the reconciler.
const (
	// annotationOwner contains the full owner as its value. A label value is too short for that, so the label has a hash
	// of the owner.
	annotationOwner        = LabelRecord
	annotationParts        = "record-parts"
	annotationWritten      = "record-written"
	annotationNote         = "record-note"
	annotationOrigin       = "record-origin"
	annotationValuesLost   = "record-anew"
	annotationAfter        = "record-after"
	annotationCapabilities = "record-capabilities"
	// annotationDigest is the digest of the name and the data of the Secret.
	annotationDigest = "record-digest"
)

// timeFormat is the format of the time when a record was written. Texts in this format sort in the order of their
// times. The creation timestamp of a Secret is not precise enough, because it has no fractions of a second.
const timeFormat = "2006-01-02T15:04:05.000000000Z"

// Marks is the name of a reconciler. Its methods write and read what the labels, annotations, finalizers and managed
// fields of a Secret say about a record of the reconciler. They send no requests.
type Marks string

// name returns a name with the prefix of the reconciler.
func (m Marks) name(name string) string { return string(m) + "/" + name }

// finalizer returns the finalizer of the Secrets of records.
func (m Marks) finalizer() string { return m.name("finalizer") }

// ownerFinalizer returns the finalizer of a component on Secrets with its kubeconfig and with credentials.
func (m Marks) ownerFinalizer(owner manifests.Owner) string { return m.name(owner.ID()) }

// ownerFinalizers returns the finalizers of components on a Secret.
func (m Marks) ownerFinalizers(secret metav1.Object) []string {
	return slices.DeleteFunc(slices.Clone(secret.GetFinalizers()), func(f string) bool {
		return f == m.finalizer() || !strings.HasPrefix(f, m.name(""))
	})
}

// isProtected reports whether a Secret has a finalizer, and the label by which the Collector finds it.
func (m Marks) isProtected(secret metav1.Object, finalizer string) bool {
	return slices.Contains(secret.GetFinalizers(), finalizer) && secret.GetLabels()[m.name(marks.LabelHeld)] != ""
}

// annotations returns the annotations of the Secrets of a record.
func (m Marks) annotations(owner manifests.Owner, rec Record, parts int, written string) map[string]any {
	annotations := map[string]any{
		m.name(annotationOwner):   owner.String(),
		m.name(annotationParts):   strconv.Itoa(parts),
		m.name(annotationWritten): written,
	}
	if rec.Note != "" {
		annotations[m.name(annotationNote)] = rec.Note
	}
	if rec.After != "" {
		annotations[m.name(annotationAfter)] = rec.After
	}
	if rec.Capabilities != "" {
		annotations[m.name(annotationCapabilities)] = rec.Capabilities
	}
	if rec.ValuesLost {
		annotations[m.name(annotationValuesLost)] = "true"
	}
	if rec.Origin != nil {
		annotations[m.name(annotationOrigin)] = rec.Origin.text()
	}
	return annotations
}

// labels returns the labels of the records of an owner.
func (m Marks) labels(owner manifests.Owner) map[string]any {
	return map[string]any{m.name(LabelRecord): owner.ID(), m.name(marks.LabelHeld): "true"}
}

// OriginOf returns the origin of the rendering that a Secret is a part of, or nil if the Secret has no valid annotation
// with an origin.
func (m Marks) OriginOf(secret metav1.Object) *Origin {
	return parseOrigin(secret.GetAnnotations()[m.name(annotationOrigin)])
}

// After returns the reference of the inventory that the inventory in a Secret replaces, empty if it is not known. For a
// rendering, it returns the id of the rendering that it replaces, empty if it replaces none.
func (m Marks) After(secret metav1.Object) string {
	return secret.GetAnnotations()[m.name(annotationAfter)]
}

// mayBeNamed reports whether the next write of a status may name the record that a Secret is a part of. named is the id
// of the record that the status names now, empty if it names none. A process that writes a record names it afterwards,
// unless another process has named another record in between. So the status names this record, or the record that this
// record replaces.
func (m Marks) mayBeNamed(secret metav1.Object, named string) bool {
	return IDOf(secret.GetName()) == named || m.After(secret) == named
}

// isNamed reports whether a status names the record that a Secret is a part of. A rendering also counts as named if the
// status names the rendering that it replaces, because it is not stale. isNamed returns true for a Secret that is not
// part of a record, and false for a Secret of the kind Externals, which no status names.
func (m Marks) isNamed(status *metav1alpha1.Status, secret metav1.Object) bool {
	name := secret.GetName()
	switch kindOf(name) {
	case Phases:
		return IDOf(name) == status.PhaseRecord
	case Rendering:
		return status.RenderedSet != "" && m.mayBeNamed(secret, Named(status.RenderedSet))
	case Inventory:
		return status.HasInventoryRecord() && strings.HasPrefix(name, status.InventoryRecord.Name+"-")
	case Externals:
		return false
	}
	return true
}

// written returns the time when a record was written, as a text.
func (m Marks) written(secret metav1.Object) string {
	return secret.GetAnnotations()[m.name(annotationWritten)]
}

// Latest returns the id of the current record among secrets, which all belong to records of one kind. The current
// record is the record with the id named, if it is complete, or else the complete record that was written last. The id
// is empty if no record is complete.
func (m Marks) Latest(secrets []metav1.PartialObjectMetadata, named string) string {
	parts, written := map[string]int{}, map[string]string{}
	for i := range secrets {
		id, annotations := IDOf(secrets[i].Name), secrets[i].Annotations
		parts[id]++
		if strconv.Itoa(parts[id]) == annotations[m.name(annotationParts)] {
			written[id] = m.written(&secrets[i])
		}
	}
	if _, ok := written[named]; ok {
		return named
	}
	latest := ""
	for _, id := range slices.Sorted(maps.Keys(written)) {
		if latest == "" || written[id] > written[latest] {
			latest = id
		}
	}
	return latest
}

// isComplete reports whether all Secrets of the record with an id are among secrets, which all belong to records of one
// kind.
func (m Marks) isComplete(secrets []metav1.PartialObjectMetadata, id string) bool {
	return m.Latest(ofID(secrets, id), id) == id
}

// IsIntact reports whether the content of a Secret has the recorded digest.
func (m Marks) IsIntact(secret *unstructured.Unstructured) bool {
	data, _, _ := unstructured.NestedString(secret.Object, "data", kindOf(secret.GetName()).dataKey())
	return digestOf(secret.GetName(), data) == secret.GetAnnotations()[m.name(annotationDigest)]
}

// IsMarked reports whether a Secret has the label and the annotation of the records of an owner.
func (m Marks) IsMarked(secret metav1.Object, owner manifests.Owner) bool {
	return secret.GetLabels()[m.name(LabelRecord)] == owner.ID() &&
		secret.GetAnnotations()[m.name(annotationOwner)] == owner.String()
}

// externalsLeft returns the number of the externals in a Secret that are neither deleted nor released. known is false
// if somebody edited the number.
func (m Marks) externalsLeft(secret metav1.Object) (left int, known bool) {
	left, err := strconv.Atoi(secret.GetAnnotations()[m.name(annotationLeft)])
	return left, err == nil && left >= 0
}

// WroteInventories reports whether the managed fields of Secrets with inventories show that the reconciler wrote the
// data of all of them. Secrets without managed fields count as written by the reconciler.
func (m Marks) WroteInventories(secrets []metav1.PartialObjectMetadata) bool {
	ownsData := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == string(m) && e.FieldsV1 != nil &&
			strings.Contains(e.FieldsV1.GetRawString(), `"f:`+Inventory.dataKey()+`"`)
	}
	return !slices.ContainsFunc(secrets, func(secret metav1.PartialObjectMetadata) bool {
		return len(secret.ManagedFields) > 0 && !slices.ContainsFunc(secret.ManagedFields, ownsData)
	})
}

// wroteRecord reports whether an entry of the managed fields shows that the reconciler wrote a record of a kind: its
// label or annotation, or its data if other clients edited both.
func (m Marks) wroteRecord(e metav1.ManagedFieldsEntry, kind Kind) bool {
	if e.Manager != string(m) || e.FieldsV1 == nil {
		return false
	}
	fields := e.FieldsV1.GetRawString()
	return strings.Contains(fields, `"f:`+m.name(LabelRecord)+`"`) ||
		strings.Contains(fields, `"f:`+kind.dataKey()+`"`)
}
