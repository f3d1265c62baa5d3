package manifests

import (
	"github.com/fairlead-io/fairlead/internal/fieldpath"
)

// IgnoreSource says where a rule of an ignored field was written.
type IgnoreSource string

// The sources of rules.
const (
	// IgnoredByAnnotation is the annotation ignore of the manifest.
	IgnoredByAnnotation IgnoreSource = "annotation"
	// IgnoredByOption is an option of the reconciler.
	IgnoredByOption IgnoreSource = "option"
	// IgnoredBySpec is the spec of the component.
	IgnoredBySpec IgnoreSource = "spec"
)

// IgnoreSources are all sources.
var IgnoreSources = []IgnoreSource{IgnoredByAnnotation, IgnoredByOption, IgnoredBySpec}

// Annotation returns the name of the annotation with the ignored fields of a source.
func (s IgnoreSource) Annotation() string {
	switch s {
	case IgnoredByAnnotation:
		return AnnotationIgnore
	case IgnoredByOption:
		return AnnotationIgnoredByOption
	case IgnoredBySpec:
		return AnnotationIgnoredBySpec
	}
	return ""
}

// Ignored is a path to fields of an object that are left to others.
type Ignored struct {
	Path   fieldpath.Path
	Source IgnoreSource
}

// IgnoredOf returns the ignored fields by the reconciler's annotations of a live object. A value that cannot be read is
// skipped, because it is drift: another client changed it, and a later pass repairs it.
func IgnoredOf(annotations map[string]string, reconciler string) []fieldpath.Path {
	return pathsOf(LiveIgnored(annotations, reconciler))
}

// LiveIgnored returns the ignored fields of a live object like IgnoredOf, with the sources of their rules.
func LiveIgnored(annotations map[string]string, reconciler string) []Ignored {
	var ignored []Ignored
	for _, source := range IgnoreSources {
		text, ok := annotations[reconciler+"/"+source.Annotation()]
		if !ok {
			continue
		}
		paths, err := fieldpath.ParseIgnored(reconciler, text)
		if err != nil {
			continue
		}
		for _, path := range paths {
			ignored = append(ignored, Ignored{Path: path, Source: source})
		}
	}
	return ignored
}

func (p *settingsParser) ignored() []Ignored {
	text, ok := p.value(AnnotationIgnore)
	if !ok {
		return nil
	}
	paths, err := fieldpath.ParseIgnored(p.prefix, text)
	if err != nil {
		p.fail(AnnotationIgnore, "%w", err)
	}
	var ignored []Ignored
	for _, path := range paths {
		ignored = append(ignored, Ignored{Path: path, Source: IgnoredByAnnotation})
	}
	return ignored
}

// IgnoredPaths returns the paths to the fields that are left to others.
func (s Settings) IgnoredPaths() []fieldpath.Path {
	return pathsOf(s.Ignored())
}

func pathsOf(ignored []Ignored) []fieldpath.Path {
	if len(ignored) == 0 {
		return nil
	}
	paths := make([]fieldpath.Path, 0, len(ignored))
	for _, i := range ignored {
		paths = append(paths, i.Path)
	}
	return paths
}
