package inspect

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The annotation that names the object itself is no fact of the manifest: an object that an earlier version of the
// reconciler wrote does not have it, and gets it with its next write. The functions below keep it out of comparisons.

// IsCopy reports whether the marks of the reconciler on an object are those of another object, because another client
// made a copy of a dependent.
func IsCopy(key manifests.Key, obj metav1.Object, reconciler string) bool {
	_, copied := marks.CopyOf(key, obj.GetAnnotations(), reconciler)
	return copied
}

// IsCopyElsewhere is IsCopy for an object whose kind is not known: a copy with another namespace or name.
func IsCopyElsewhere(obj metav1.Object, reconciler string) bool {
	named, ok := manifests.ParseKey(obj.GetAnnotations()[reconciler+"/"+marks.AnnotationObject])
	return ok && (named.Namespace != obj.GetNamespace() || named.Name != obj.GetName())
}

// withoutName returns a manifest without the annotation that names the object. The argument is not changed.
func withoutName(manifest map[string]any, reconciler string) map[string]any {
	return withName(manifest, nil, reconciler)
}

// withLiveName returns a manifest in which the annotation that names the object is that of the live object. The
// arguments are not changed.
func withLiveName(manifest map[string]any, live metav1.Object, reconciler string) map[string]any {
	return withName(manifest, live.GetAnnotations(), reconciler)
}

func withName(manifest map[string]any, live map[string]string, reconciler string) map[string]any {
	key := reconciler + "/" + marks.AnnotationObject
	metadata, _ := manifest["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, named := annotations[key]; !named {
		return manifest
	}
	annotations = maps.Clone(annotations)
	if delete(annotations, key); live[key] != "" {
		annotations[key] = live[key]
	}
	metadata, manifest = maps.Clone(metadata), maps.Clone(manifest)
	metadata["annotations"], manifest["metadata"] = annotations, metadata
	return manifest
}
