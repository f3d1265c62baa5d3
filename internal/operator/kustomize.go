package operator

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// surroundings is the folder that a source moves into when a kustomization is put on top of it.
const surroundings = "source"

// withSurroundings returns a folder from which a kustomization can reach what is next to it in the source: an overlay that spec.path names
// usually builds on ../../base, which is not in the folder. The whole source becomes a sub-folder, below a kustomization that consists of
// the wanted one. A folder that needs nothing from outside is returned as it is.
func (f folder) withSurroundings() (folder, error) {
	outside, err := reachesOut(f.files)
	if err != nil || !outside || path.Clean(f.path) == "." {
		return f, err
	}
	entry := "./" + path.Join(surroundings, f.path)
	files := map[string][]byte{
		"kustomization.yaml": fmt.Appendf(nil, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%q]\n", entry),
	}
	err = fs.WalkDir(f.tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[path.Join(surroundings, name)], err = fs.ReadFile(f.tree, name)
		return err
	})
	if err != nil {
		return folder{}, err
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		return folder{}, err
	}
	return folderOf(tree, ".")
}

// reachesOut says whether a kustomization in the folder may refer to something outside of it. Templates may refer to anything.
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

// isKustomization says whether a file is a kustomization, or a template of one.
func isKustomization(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	return stem == "kustomization" || stem == "Kustomization"
}
