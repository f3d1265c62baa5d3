package records

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// LabelRecord is the label of the Secrets of records, with the prefix of the reconciler. Its value is the owner id.
const LabelRecord = "record-of"

// Labels and annotations of Secrets, each with the prefix of the reconciler.
const (
	// annotationOwner has the full owner as its value. A label value is too short for that, so the label has a hash of
	// the owner.
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

// keys is the name of a reconciler. Its methods return the names of the labels, annotations and finalizers of the
// reconciler.
type keys string

// name returns a name with the prefix of the reconciler.
func (k keys) name(name string) string { return string(k) + "/" + name }

// finalizer returns the finalizer of the Secrets of records.
func (k keys) finalizer() string { return k.name("finalizer") }

// ownerFinalizer returns the finalizer of a component on Secrets with its kubeconfig and with credentials.
func (k keys) ownerFinalizer(owner manifests.Owner) string { return k.name(owner.ID()) }

// ownerFinalizers returns the finalizers of components on a Secret.
func (k keys) ownerFinalizers(secret metav1.Object) []string {
	return slices.DeleteFunc(slices.Clone(secret.GetFinalizers()), func(f string) bool {
		return f == k.finalizer() || !strings.HasPrefix(f, k.name(""))
	})
}

// isProtected reports whether a Secret has a finalizer, and the label by which the Collector finds it.
func (k keys) isProtected(secret metav1.Object, finalizer string) bool {
	return slices.Contains(secret.GetFinalizers(), finalizer) && secret.GetLabels()[k.name(marks.LabelHeld)] != ""
}

// annotations returns the annotations of the Secrets of a record.
func (k keys) annotations(owner manifests.Owner, rec Record, parts int, written string) map[string]any {
	annotations := map[string]any{
		k.name(annotationOwner):   owner.String(),
		k.name(annotationParts):   strconv.Itoa(parts),
		k.name(annotationWritten): written,
	}
	if rec.Note != "" {
		annotations[k.name(annotationNote)] = rec.Note
	}
	if rec.After != "" {
		annotations[k.name(annotationAfter)] = rec.After
	}
	if rec.Capabilities != "" {
		annotations[k.name(annotationCapabilities)] = rec.Capabilities
	}
	if rec.ValuesLost {
		annotations[k.name(annotationValuesLost)] = "true"
	}
	if rec.Origin != nil {
		annotations[k.name(annotationOrigin)] = rec.Origin.text()
	}
	return annotations
}
