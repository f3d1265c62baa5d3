package marks

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The names of marks, without the prefix of the reconciler. Manifests must not contain them.
const (
	// LabelHeld is a label of all Secrets that have a finalizer of the reconciler: its records, and the Secrets with
	// kubeconfigs and credentials that its components use.
	LabelHeld = "held"
	// LabelGuardOf is a label of the admission policy that protects the deletion of definitions; it identifies the
	// component.
	LabelGuardOf = "guard-of"
	// AnnotationGuardOf is an annotation of the same policy that identifies the component in readable form.
	AnnotationGuardOf = "guard-of"
	// AnnotationGuardNote is an annotation of the same policy that says when it can be removed, and how.
	AnnotationGuardNote = "guard-note"
	// AnnotationDigest is an annotation that identifies the manifest: its content and, after a dot, its settings.
	AnnotationDigest = "digest"
	// AnnotationObject is an annotation that names the object itself: its kind with the group, its namespace and its name,
	// such as Deployment.apps shop/web. So a copy that another client makes of a dependent can be told from a dependent.
	AnnotationObject = "object"
	// AnnotationIgnoredByOption is an annotation that lists the fields that an option of the reconciler ignores.
	AnnotationIgnoredByOption = "ignored-by-option"
	// AnnotationIgnoredBySpec is an annotation that lists the fields that the spec of the component ignores.
	AnnotationIgnoredBySpec = "ignored-by-spec"
	// AnnotationReleasedBy is an annotation of an object that a component has released. It identifies the component in
	// readable form, so that this component adopts the object without a permission when it renders the object again.
	AnnotationReleasedBy = "released-by"
)

// Unmarked returns a copy of the manifest without the label and the annotations that package normalise added to
// identify the dependent. Settings and all other changes of that package are kept.
func Unmarked(o manifests.Object, reconciler string) (*unstructured.Unstructured, error) {
	whole, err := o.Whole()
	if err != nil {
		return nil, err
	}
	body := whole.Body.DeepCopy()
	labels, annotations := body.GetLabels(), body.GetAnnotations()
	if delete(labels, reconciler+"/"+manifests.LabelOwnerID); len(labels) == 0 {
		labels = nil
	}
	delete(annotations, reconciler+"/"+manifests.AnnotationOwnerID)
	delete(annotations, reconciler+"/"+AnnotationObject)
	delete(annotations, reconciler+"/"+AnnotationIgnoredByOption)
	delete(annotations, reconciler+"/"+AnnotationIgnoredBySpec)
	if delete(annotations, reconciler+"/"+AnnotationDigest); len(annotations) == 0 {
		annotations = nil
	}
	body.SetLabels(labels)
	body.SetAnnotations(annotations)
	return body, nil
}

// ForRecord returns the manifest of an object for a record. From this manifest, package normalise makes the same object
// again, with the same digest. It is the manifest of Unmarked, with the empty map of labels if the rendered
// manifest had one.
func ForRecord(o manifests.Object, reconciler string) (*unstructured.Unstructured, error) {
	body, err := Unmarked(o, reconciler)
	if err == nil && o.EmptyLabels {
		err = unstructured.SetNestedMap(body.Object, map[string]any{}, "metadata", "labels")
	}
	return body, err
}
