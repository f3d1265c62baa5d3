package operator

import (
	"bytes"
	"io/fs"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// withSurroundings returns a folder in which a kustomization can refer to files outside of spec.path, such as the base
// ../../base of an overlay. If no kustomization of the folder refers to such files, it returns the folder unchanged.
func (f folder) withSurroundings() (folder, error) {
	outside, err := reachesOut(f.files)
	if err != nil || !outside || path.Clean(f.path) == "." {
		return f, err
	}
	digest, err := source.Digest(f.tree)
	if err != nil {
		return folder{}, err
	}
	return folder{
		files: kustomize.At(f.tree, f.path), digest: digest + " " + path.Clean(f.path), tree: f.tree,
		path: f.path,
	}, nil
}

// reachesOut reports whether a kustomization in the folder may refer to files outside of the folder. The result is true
// for templates of kustomizations, because their references are unknown before the rendering.
func reachesOut(files fs.FS) (bool, error) {
	found, top := false, false
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if entry.Name() == kustomize.ConfigFile {
			found = true
		}
		if !isKustomization(entry.Name()) {
			return nil
		}
		top = top || path.Dir(name) == "."
		content, err := fs.ReadFile(files, name)
		found = found || bytes.Contains(content, []byte(".."))
		return err
	})
	return found && top, err
}

// isKustomization reports whether a file is a kustomization or a template of a kustomization.
func isKustomization(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	return stem == "kustomization" || stem == "Kustomization"
}
