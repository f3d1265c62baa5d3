package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/valuetypes"
)

// readChart reads the files of a chart from which types are derived.
func readChart(tree fs.FS) (valuetypes.Chart, error) {
	var chart valuetypes.Chart
	var err error
	if chart.SubCharts, err = subCharts(tree); err != nil {
		return chart, err
	}
	if chart.Values, err = readOptional(tree, "values.yaml"); err != nil {
		return chart, err
	}
	if chart.Schema, err = readOptional(tree, "values.schema.json"); err != nil {
		return chart, err
	}
	chart.Templates, err = readTemplates(tree)
	return chart, err
}

func readOptional(tree fs.FS, name string) ([]byte, error) {
	text, err := fs.ReadFile(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// subCharts returns the keys under which a chart has the values of its sub-charts.
func subCharts(tree fs.FS) ([]string, error) {
	text, err := fs.ReadFile(tree, "Chart.yaml")
	if err != nil {
		return nil, fmt.Errorf("want a chart, with a Chart.yaml in its root folder: %w", err)
	}
	older, err := readOptional(tree, "requirements.yaml")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range []struct {
		name string
		text []byte
	}{{"Chart.yaml", text}, {"requirements.yaml", older}} {
		var parsed struct {
			Dependencies []struct{ Name, Alias string } `json:"dependencies"`
		}
		if err := yaml.Unmarshal(file.text, &parsed); err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
		for _, dependency := range parsed.Dependencies {
			if dependency.Alias != "" {
				names = append(names, dependency.Alias)
				continue
			}
			names = append(names, dependency.Name)
		}
	}
	folders, err := fs.Glob(tree, "charts/*/Chart.yaml")
	for _, folder := range folders {
		names = append(names, path.Base(path.Dir(folder)))
	}
	return names, err
}

// readTemplates returns the templates of the chart, without the templates of sub-charts.
func readTemplates(tree fs.FS) (map[string]string, error) {
	templates := map[string]string{}
	err := fs.WalkDir(tree, "templates", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		switch path.Ext(name) {
		case ".yaml", ".yml", ".tpl", ".txt", ".json":
			text, err := fs.ReadFile(tree, name)
			templates[name] = string(text)
			return err
		}
		return nil
	})
	return templates, err
}
