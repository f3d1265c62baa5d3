package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

const (
	// recordFile holds what a project was rendered with.
	recordFile = ".fairlead/scaffold.yaml"
	// baseFile holds what was rendered, to tell later what people changed.
	baseFile = ".fairlead/base.txtar"

	recordHeader = "# What fairlead scaffold was asked for, which fairlead scaffold update asks for again.\n"
	baseHeader   = "What fairlead scaffold wrote, as it wrote it. fairlead scaffold update tells by it what was changed since; do not edit it.\n"
)

// records returns the files by which Update knows a project.
func records(o Options, rendered []File) ([]File, error) {
	answers, err := yaml.Marshal(o)
	if err != nil {
		return nil, err
	}
	archive := &txtar.Archive{Comment: []byte(baseHeader)}
	for _, file := range rendered {
		archive.Files = append(archive.Files, txtar.File{Name: file.Path, Data: file.Content})
	}
	base := txtar.Format(archive)
	if err := checkArchive(base, rendered); err != nil {
		return nil, err
	}
	return []File{{Path: recordFile, Content: append([]byte(recordHeader), answers...)}, {Path: baseFile, Content: base}}, nil
}

// checkArchive refuses content that the archive cannot hold: a file whose lines look like the archive's own.
func checkArchive(base []byte, files []File) error {
	read := txtar.Parse(base)
	for i, file := range files {
		if i >= len(read.Files) || read.Files[i].Name != file.Path || string(read.Files[i].Data) != string(file.Content) {
			return fmt.Errorf("%s cannot be kept for later updates: it does not end with a line's end, or a line of it looks like -- name --", file.Path)
		}
	}
	return nil
}

// readRecords returns what a project was rendered with, and to.
func readRecords(dir string) (Options, []File, error) {
	answers, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Options{}, nil, fmt.Errorf("%s was not written by fairlead scaffold: it has no %s", dir, recordFile)
	}
	if err != nil {
		return Options{}, nil, err
	}
	var o Options
	if err := yaml.UnmarshalStrict(answers, &o); err != nil {
		return Options{}, nil, fmt.Errorf("%s: %w", recordFile, err)
	}
	if err := o.Validate(); err != nil {
		return Options{}, nil, fmt.Errorf("%s: %w", recordFile, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, baseFile))
	if err != nil {
		return Options{}, nil, fmt.Errorf("what was written once is needed to tell what changed since: %w", err)
	}
	var files []File
	for _, file := range txtar.Parse(text).Files {
		files = append(files, File{Path: file.Name, Content: file.Data})
	}
	return o, files, nil
}
