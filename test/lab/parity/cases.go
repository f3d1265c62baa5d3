package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rival is the program that Fairlead is compared with in a case.
type rival string

const (
	rivalHelm      rival = "helm"
	rivalKustomize rival = "kustomize"
)

// testCase is one rendering.
type testCase struct {
	// name is the place from the command line. name and variant identify the case in the report.
	name, variant string
	rival         rival
	// source is a folder, and path is the rendered folder inside of source.
	source, path string
	// values is the path of a values file, or empty.
	values  string
	upgrade bool
}

// folder returns the folder that the rival renders.
func (c testCase) folder() string { return filepath.Join(c.source, c.path) }

// casesOf returns the cases for a place on the command line, which has the form DIR or DIR//PATH.
func casesOf(place string) ([]testCase, error) {
	source, path, _ := strings.Cut(filepath.ToSlash(place), "//")
	base := testCase{name: place, source: source, path: path, rival: rivalKustomize}
	info, err := os.Stat(base.folder())
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", base.folder())
	}
	if _, err := os.Stat(filepath.Join(base.folder(), "Chart.yaml")); err != nil {
		return []testCase{base}, nil
	}
	base.rival = rivalHelm
	upgrade := base
	upgrade.variant, upgrade.upgrade = "upgrade", true
	cases := []testCase{base, upgrade}
	files, err := filepath.Glob(filepath.Join(base.folder(), "ci", "*.y*ml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		withValues := base
		withValues.variant, withValues.values = "ci/"+filepath.Base(file), file
		cases = append(cases, withValues)
	}
	return cases, nil
}
