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

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// parsedSource is what the renderings of a source share. None of them changes it.
type parsedSource struct {
	// contents are the files of a source without templates, and checked says what was found in it.
	contents map[string][]byte
	checked  checked
	// templated are the templates of a source; nil where it has none.
	templated *templatedSource
}

// checked is what is known of a source that refers to nothing outside itself.
type checked struct {
	// ownSchema says that a kustomization names an OpenAPI schema.
	ownSchema bool
	// isPlain says that there is no kustomization at its top, and plain are its manifests then.
	isPlain bool
	plain   []rendering.File
}

// parseSource reads a source, and checks what does not depend on a request.
func parseSource(source fs.FS, options Options) (*parsedSource, error) {
	files, err := rendering.ReadFiles(source, isRepository)
	if err != nil {
		return nil, err
	}
	if templated := newTemplatedSource(files, options); templated != nil {
		// Others may be in folders that nothing refers to.
		if top := templated.folders["."]; top != nil && top.err != nil {
			return nil, top.err
		}
		return &parsedSource{templated: templated}, nil
	}
	contents := make(map[string][]byte, len(files))
	for _, file := range files {
		contents[file.Name] = file.Data
	}
	found, err := check(newTree(contents, options.Limits))
	return &parsedSource{contents: contents, checked: found}, err
}

// forRequest returns the source as kustomize sees it for a request.
func (s *parsedSource) forRequest(ctx context.Context, req generator.Request, limits generator.Limits) (*tree, checked, error) {
	if s.templated == nil {
		return newTree(s.contents, limits), s.checked, nil
	}
	rendered := newTemplatedTree(ctx, s.templated, req, limits)
	found, err := check(rendered)
	if ctx.Err() != nil {
		return nil, checked{}, ctx.Err()
	}
	return rendered, found, err
}

// check follows the kustomizations of a source from its top.
func check(t *tree) (checked, error) {
	checks := newReferences(t)
	file, err := checks.kustomizationFile(".")
	if err != nil {
		return checked{}, err
	}
	if file == "" {
		files, errs := t.plain()
		return checked{isPlain: true, plain: files}, errors.Join(errs...)
	}
	checks.folder(".")
	return checked{ownSchema: checks.ownSchema}, errors.Join(checks.errs...)
}

// isRepository leaves out the git repository of a source that is a checkout.
func isRepository(name string, _ fs.FileInfo) bool { return path.Base(name) == ".git" }

// kustomizationFile returns the path of the kustomization file in a folder, or nothing.
func (r *references) kustomizationFile(folder string) (string, error) {
	var found []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if r.tree.isFile(path.Join(folder, name)) {
			found = append(found, path.Join(folder, name))
		}
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s: a folder has one kustomization file: remove all but one", strings.Join(found, ", "))
	}
	return strings.Join(found, ""), nil
}

// isManifest says whether a file of a folder of plain manifests is one.
func isManifest(name string) bool {
	hidden := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
	return !hidden && isYAML(name)
}
