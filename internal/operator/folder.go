package operator

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// maxNamedFolders is the largest number of folders that a hint names.
const maxNamedFolders = 3

// folder is the folder that is rendered.
type folder struct {
	files  fs.FS
	digest string
	// tree is the whole source, and path is the folder's path in it.
	tree fs.FS
	path string
}

// folderOf returns the folder of spec.path. If the path is empty, it returns the root of the source, with an exception:
// if the only entry of the root is a folder with a chart or a kustomization, it returns this folder, because a packed
// chart is always in such a folder. For plain templates it returns the root, because they may refer to files by paths
// from the root.
func folderOf(tree fs.FS, path string) (folder, error) {
	if path == "" {
		marked, others, err := markedFolders(tree)
		if err != nil {
			return folder{}, err
		}
		if len(marked) == 1 && !others {
			path = marked[0]
		}
	}
	files, err := source.Sub(tree, path)
	if err != nil {
		return folder{}, fmt.Errorf("spec.path: %w", err)
	}
	digest, err := source.Digest(files)
	if err != nil {
		return folder{}, err
	}
	return folder{files: files, digest: digest, tree: tree, path: path}, nil
}

// markedFolders returns the folders in the root of a source that have a chart or kustomization, and whether the root
// has other entries.
func markedFolders(tree fs.FS) (marked []string, others bool, err error) {
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, false, err
	}
	for _, entry := range entries {
		engine := generator.EngineGoTemplate
		if entry.IsDir() {
			if engine, err = detect(tree, entry.Name()); err != nil {
				return nil, false, err
			}
		}
		if engine == generator.EngineGoTemplate {
			others = true
			continue
		}
		marked = append(marked, entry.Name())
	}
	return marked, others, nil
}

func detect(tree fs.FS, name string) (generator.Engine, error) {
	files, err := fs.Sub(tree, name)
	if err != nil {
		return "", err
	}
	return generator.Detect(files)
}

// misplaced adds a hint to an error of a rendering if the component names no engine, and all files were rendered as
// templates although folders of the source have a chart or a kustomization.
func misplaced(err error, component *v1alpha1.Component, rendered fs.FS) error {
	if err == nil || component.Spec.Generator != "" || rendered == nil {
		return err
	}
	if engine, undetected := generator.Detect(rendered); undetected != nil || engine != generator.EngineGoTemplate {
		return err
	}
	marked := proposals(rendered)
	if len(marked) == 0 {
		return err
	}
	named := strings.Join(marked[:min(len(marked), maxNamedFolders)], ", ")
	if more := len(marked) - maxNamedFolders; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("the root of the source contains no chart and no kustomization, but these folders do: %s; set the "+
		"path to one of these, such as %s; "+
		"all files were rendered as templates: %w", named, marked[0], err)
}

// proposals returns the topmost folders that have a chart or kustomization. It ignores errors, because the result is
// only a hint.
func proposals(tree fs.FS) []string {
	var marked []string
	_ = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || name == "." {
			return nil
		}
		if engine, err := detect(tree, name); err != nil || engine == generator.EngineGoTemplate {
			return nil
		}
		marked = append(marked, name)
		return fs.SkipDir
	})
	return marked
}
