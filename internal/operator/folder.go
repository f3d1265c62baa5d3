package operator

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// maxNamedFolders is how many folders a hint names.
const maxNamedFolders = 3

// folder is what is rendered.
type folder struct {
	files  fs.FS
	digest string
	// tree is the whole source, and path the place of the folder in there.
	tree fs.FS
	path string
}

// folderOf returns the folder of a source that spec.path names. Where it names none, the root is meant, or the only folder in there if it
// holds what an engine is known by: a packed chart always has one around it. Anything else stays where it is, for templates may name files
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

// markedFolders returns the folders at the top of a source that hold what an engine is known by, and whether there is anything else.
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

// misplaced puts before an error of a rendering what is probably behind it: nobody named an engine, so that what lies around a chart or a
// kustomization was taken for templates.
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
	return fmt.Errorf("the root of the source has no chart and no kustomization, but these folders have: %s; set the path to one of these, such as %s; "+
		"all files were rendered as templates: %w", named, marked[0], err)
}

// proposals returns the folders, at any depth, that hold what an engine is known by, but none inside another. It is only for a hint: what cannot
// be read is left out.
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
