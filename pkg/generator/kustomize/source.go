package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// At returns a source whose kustomization is in the given folder instead of the root. The kustomization may refer to
// all files of the source, because an overlay usually builds on adjacent folders. The result can be passed to New, or
// set as Request.Source.
func At(source fs.FS, folder string) fs.FS { return placed{FS: source, folder: path.Clean(folder)} }

// placed is a source whose entry folder is not the root.
type placed struct {
	fs.FS
	folder string
}

// entryOf returns the entry folder of a source.
func entryOf(source fs.FS) string {
	if p, ok := source.(placed); ok {
		return p.folder
	}
	return "."
}

// parsedSource is the parsed form of a source. It is read-only and shared by renderings.
type parsedSource struct {
	// entry is the folder that is rendered.
	entry string
	// contents are the files of a source without templates, and checked is the result of its validation.
	contents map[string][]byte
	checked  checked
	// templated are the templates of the source; nil if it has no templates.
	templated *templatedSource
}

// checked is the result of validating a source. A validated source has no references to the outside.
type checked struct {
	// ownSchema is set if a kustomization names an OpenAPI schema.
	ownSchema bool
	// entry is the folder that is rendered.
	entry string
	// sorts is set if kustomize sorts the objects, by default or by sortOptions. labels is set if the kustomization asks
	// for the label of kustomize.
	sorts, labels bool
	// isPlain is set if the entry folder contains no kustomization. Then the field plain contains its manifests.
	isPlain bool
	plain   []rendering.File
	// copies and objects are those of the tree.
	copies, objects map[string]int
}

// parseSource reads a source, and validates the parts that do not depend on a request.
func parseSource(source fs.FS, options Options) (*parsedSource, error) {
	files, err := rendering.ReadFiles(source, isRepository)
	if err != nil {
		return nil, err
	}
	entry := entryOf(source)
	if templated := newTemplatedSource(files, options); templated != nil {
		// Other templates may be in folders without references to them.
		if top := templated.folders[entry]; top != nil && top.err != nil {
			return nil, top.err
		}
		return &parsedSource{entry: entry, templated: templated}, nil
	}
	contents := make(map[string][]byte, len(files))
	for _, file := range files {
		contents[file.Name] = file.Data
	}
	found, err := check(newTree(contents, options.Limits), entry)
	return &parsedSource{entry: entry, contents: contents, checked: found}, err
}

// forRequest returns the tree of the source for a request.
func (s *parsedSource) forRequest(
	ctx context.Context,
	req generator.Request,
	limits generator.Limits,
) (*tree, checked, error) {
	if s.templated == nil {
		t := newTree(s.contents, limits)
		t.copies, t.objects = s.checked.copies, s.checked.objects
		return t, s.checked, nil
	}
	rendered := newTemplatedTree(ctx, s.templated, req, limits)
	found, err := check(rendered, s.entry)
	if ctx.Err() != nil {
		return nil, checked{}, ctx.Err()
	}
	return rendered, found, err
}

// check follows the kustomizations of a source from a folder.
func check(t *tree, entry string) (checked, error) {
	checks := newReferences(t)
	file, err := checks.kustomizationFile(entry)
	if err != nil {
		return checked{}, err
	}
	if file == "" {
		files, errs := t.plain(entry)
		return checked{entry: entry, isPlain: true, plain: files}, errors.Join(errs...)
	}
	checks.folder(entry)
	found := checked{entry: entry, ownSchema: checks.ownSchema, copies: t.copies, objects: t.objects}
	found.sorts = checks.top.SortOptions != nil
	found.labels = slices.Contains(checks.top.BuildMetadata, types.ManagedByLabelOption)
	return found, errors.Join(checks.errs...)
}

// isRepository omits the git repository of a checkout.
func isRepository(name string, _ fs.FileInfo) bool { return path.Base(name) == ".git" }

// kustomizationFile returns the path of the kustomization file in a folder, or an empty string.
func (r *references) kustomizationFile(folder string) (string, error) {
	var found []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if r.tree.isFile(path.Join(folder, name)) {
			found = append(found, path.Join(folder, name))
		}
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s: a folder must have only one kustomization file: move the others elsewhere",
			strings.Join(found, ", "))
	}
	return strings.Join(found, ""), nil
}

// isManifest reports whether a file in a folder of plain manifests is a manifest.
func isManifest(name string) bool {
	hidden := slices.ContainsFunc(
		strings.Split(name, "/"),
		func(part string) bool { return strings.HasPrefix(part, ".") },
	)
	return !hidden && isYAML(name)
}
