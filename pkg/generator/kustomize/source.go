package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// checkedSource is a source that refers to nothing outside itself. Builds share it and do not change it.
type checkedSource struct {
	// files is a copy of the source, where there is a kustomization at its top; nil otherwise.
	files filesys.FileSystem
	// ownSchema says that a kustomization names an OpenAPI schema.
	ownSchema bool
	// plain are the files of a source without a kustomization.
	plain []rendering.File
}

// checkSource reads a source and follows its kustomizations from the top.
func checkSource(source fs.FS) (*checkedSource, error) {
	files, err := rendering.ReadFiles(source, isRepository)
	if err != nil {
		return nil, err
	}
	checks := newReferences(files)
	file, err := checks.kustomizationFile(".")
	if err != nil {
		return nil, err
	}
	if file == "" {
		return &checkedSource{plain: files}, nil
	}
	checks.folder(".")
	if err := errors.Join(checks.errs...); err != nil {
		return nil, err
	}
	return &checkedSource{files: newFiles(files), ownSchema: checks.ownSchema}, nil
}

// isRepository leaves out the git repository of a source that is a checkout.
func isRepository(name string, _ fs.FileInfo) bool { return path.Base(name) == ".git" }

// kustomizationFile returns the path of the kustomization file in a folder, or nothing.
func (r *references) kustomizationFile(folder string) (string, error) {
	var found []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if _, ok := r.files[path.Join(folder, name)]; ok {
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
	if slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") }) {
		return false
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}
