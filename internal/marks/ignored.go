package marks

import (
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// IgnoreSources are all sources.
var IgnoreSources = []manifests.IgnoreSource{
	manifests.IgnoredByAnnotation, manifests.IgnoredByOption, manifests.IgnoredBySpec,
}

// IgnoreAnnotation returns the name of the annotation with the ignored fields of a source.
func IgnoreAnnotation(source manifests.IgnoreSource) string {
	switch source {
	case manifests.IgnoredByAnnotation:
		return manifests.AnnotationIgnore
	case manifests.IgnoredByOption:
		return AnnotationIgnoredByOption
	case manifests.IgnoredBySpec:
		return AnnotationIgnoredBySpec
	}
	return ""
}

// IgnoredOf returns the ignored fields by the reconciler's annotations of a live object. A value that cannot be read is
// skipped, because it is drift: another client changed it, and a later pass repairs it.
func IgnoredOf(annotations map[string]string, reconciler string) []fieldpath.Path {
	var paths []fieldpath.Path
	for _, ignored := range LiveIgnored(annotations, reconciler) {
		paths = append(paths, ignored.Path)
	}
	return paths
}

// LiveIgnored returns the ignored fields of a live object like IgnoredOf, with the sources of their rules.
func LiveIgnored(annotations map[string]string, reconciler string) []manifests.Ignored {
	var ignored []manifests.Ignored
	for _, source := range IgnoreSources {
		text, ok := annotations[reconciler+"/"+IgnoreAnnotation(source)]
		if !ok {
			continue
		}
		paths, err := fieldpath.ParseIgnored(reconciler, text)
		if err != nil {
			continue
		}
		for _, path := range paths {
			ignored = append(ignored, manifests.Ignored{Path: path, Source: source})
		}
	}
	return ignored
}
