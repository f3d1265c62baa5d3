package kustomize

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// tree is the source as kustomize reads it: with the output of templates instead of the templates. Each rendering has
// its own tree.
type tree struct {
	limits generator.Limits
	// contents are the files that are not templates. folders are all folders.
	contents map[string][]byte
	folders  map[string]bool
	// outputs are the output files of templates. The field rendition renders them.
	outputs   map[string]output
	rendition *rendition
	// nodes contains the number of nodes of each file that was read before and is safe to parse.
	nodes map[string]int
	// copies contains the number of operations copy in the JSON patches of a kustomization file. objects is the number of
	// objects that a file makes, for files whose text does not show it.
	copies, objects map[string]int
}

// newTree returns the tree of files without templates.
func newTree(contents map[string][]byte, limits generator.Limits) *tree {
	t := &tree{
		limits: limits, contents: contents, folders: map[string]bool{".": true},
		nodes: map[string]int{}, copies: map[string]int{}, objects: map[string]int{},
	}
	for name := range contents {
		t.addFolders(name)
	}
	return t
}

// newTemplatedTree returns the tree of a source with templates for a request.
func newTemplatedTree(
	ctx context.Context,
	source *templatedSource,
	request generator.Request,
	limits generator.Limits,
) *tree {
	contents := map[string][]byte{}
	for _, file := range source.files {
		if !source.templates[file.Name] {
			contents[file.Name] = file.Data
		}
	}
	t := newTree(contents, limits)
	t.outputs = source.outputs
	for name := range source.outputs {
		t.addFolders(name)
	}
	t.rendition = &rendition{
		source:   source,
		request:  request,
		budget:   templating.NewBudget(ctx, limits),
		rendered: map[string][]byte{},
	}
	return t
}

// addFolders adds the folders that a file implies.
func (t *tree) addFolders(name string) {
	for folder := path.Dir(name); !t.folders[folder]; folder = path.Dir(folder) {
		t.folders[folder] = true
	}
}

// nodeShare is the part of Limits.Nodes that a build may read. kustomize takes about 1700 bytes for a node.
const nodeShare = 4

// maxNodes is the number of nodes that a build may read.
func (t *tree) maxNodes() int { return t.limits.Nodes / nodeShare }

func (t *tree) isFile(name string) bool {
	if _, given := t.outputs[name]; given {
		return true
	}
	_, found := t.contents[name]
	return found
}

// read returns a file that is safe to parse as YAML. Its errors name the file.
func (t *tree) read(name string) ([]byte, error) {
	content, found := t.contents[name]
	if from, given := t.outputs[name]; given {
		var err error
		if content, err = t.rendition.read(name, from); err != nil {
			return nil, err
		}
	} else if !found {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if _, known := t.nodes[name]; known {
		return content, nil
	}
	nodes, err := bounded.Count(content, bounded.Limits{Nodes: t.maxNodes(), AliasBytes: t.limits.AliasBytes})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.nodes[name] = nodes
	return content, nil
}

// plain returns the manifests in a folder without kustomization, and below, in order.
func (t *tree) plain(folder string) ([]rendering.File, []error) {
	names := slices.Collect(maps.Keys(t.contents))
	for name := range t.outputs {
		if _, also := t.contents[name]; !also {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var files []rendering.File
	var errs []error
	for _, name := range names {
		if !within(folder, name) || !isManifest(name) {
			continue
		}
		content, err := t.read(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		files = append(files, rendering.File{Name: name, Data: content})
	}
	return files, errs
}
