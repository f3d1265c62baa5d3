package normalise

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// mark adds the label and the annotations that identify a dependent. An external has no name in the cluster, so it gets
// no annotation with its own name.
func mark(o manifests.Owner, body *unstructured.Unstructured, reconciler, digest string) {
	labels := body.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[reconciler+"/"+manifests.LabelOwnerID] = o.ID()
	body.SetLabels(labels)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[reconciler+"/"+manifests.AnnotationOwnerID] = o.String()
	annotations[reconciler+"/"+marks.AnnotationDigest] = digest
	if key := keyOf(body); !key.IsExternal() {
		annotations[reconciler+"/"+marks.AnnotationObject] = key.String()
	}
	body.SetAnnotations(annotations)
}

func describe(m *unstructured.Unstructured, index int) string {
	if m.GetKind() == "" || m.GetName() == "" {
		return fmt.Sprintf("manifest %d (kind %q, name %q)", index+1, m.GetKind(), m.GetName())
	}
	return keyOf(m).String()
}

// keyOf returns the key of a manifest.
func keyOf(m *unstructured.Unstructured) manifests.Key {
	gk := m.GroupVersionKind().GroupKind()
	return manifests.Key{Group: gk.Group, Kind: gk.Kind, Namespace: m.GetNamespace(), Name: m.GetName()}
}
