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

// Ignored is a path to fields of an object that are left to others.
type Ignored struct {
	Path   fieldpath.Path
	Source IgnoreSource
}

// IgnoredPaths returns the paths to the fields that are left to others.
func (s Settings) IgnoredPaths() []fieldpath.Path {
	ignored := s.Ignored()
	if len(ignored) == 0 {
		return nil
	}
	paths := make([]fieldpath.Path, 0, len(ignored))
	for _, i := range ignored {
		paths = append(paths, i.Path)
	}
	return paths
}
