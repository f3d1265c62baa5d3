package scaffold

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/merge"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// readSource returns the files of a chart or kustomization.
func readSource(tree fs.FS) ([]File, error) {
	if tree == nil {
		return nil, nil
	}
	var files []File
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		files = append(files, File{Path: name, Content: content})
		return err
	})
	return files, err
}

// withPlainLines returns the files with line feeds at the ends of lines, for code that reads lines.
func withPlainLines(files []File) []File {
	plain := slices.Clone(files)
	for i := range plain {
		plain[i].Content = merge.WithLineFeeds(plain[i].Content)
	}
	return plain
}

// sourceTree returns those files of a project that are the source of its generator.
func sourceTree(o Options, files []File) (fs.FS, error) {
	contents := map[string][]byte{}
	for _, file := range files {
		if relative, ok := strings.CutPrefix(file.Path, sourceFolder(o)+"/"); ok {
			contents[relative] = file.Content
		}
	}
	return source.FromFiles(contents)
}

// renderExample renders the templates of the example's source.
func renderExample(f facts) ([]File, error) {
	var files []File
	for _, e := range generatorLayout(f.Options) {
		if path.Dir(e.path) == "internal/generator" {
			continue
		}
		content, err := renderFile(e, f)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: e.path, Content: content})
	}
	return files, nil
}

// engines contains the engine of each generator.
var engines = map[Generator]generator.Engine{
	GeneratorHelm: generator.EngineHelm, GeneratorKustomize: generator.EngineKustomize,
	GeneratorGoTemplate: generator.EngineGoTemplate,
}

// renderSource renders the source with values. The result includes hooks.
func renderSource(
	ctx context.Context, o Options, tree fs.FS, values map[string]any,
) ([]*unstructured.Unstructured, error) {
	capabilities, err := render.Capabilities("", nil)
	if err != nil {
		return nil, err
	}
	return render.Raw(ctx, render.Request{
		Source: tree, Engine: engines[o.Generator], Namespace: "default", Name: "sample", Values: values,
		Capabilities: capabilities, SkipSchema: o.SkipSchema,
	})
}
