package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/ignore"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/lru"

	"github.com/fairlead-io/fairlead/internal/yamltext"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// parsedChart is a parsed chart. It is shared by concurrent renderings and read-only; each rendering changes a copy.
type parsedChart struct {
	chart *chart.Chart
	// schemas holds the compiled schema for the text of each values.schema.json.
	schemas map[string]*jsonschema.Schema
	// invalidSchema is the error of a schema that cannot be compiled.
	invalidSchema error
	// duplicates are the keys that occur twice in a map of a values.yaml.
	duplicates []*manifests.FileError
	sets       *parsedSets
}

// parseChart loads and validates the chart in source, with its sub-charts.
func parseChart(source fs.FS) (*parsedChart, error) {
	rules, err := ignoreRules(source)
	if err != nil {
		return nil, err
	}
	files, err := rendering.ReadFiles(source, rules.Ignore)
	if err != nil {
		return nil, err
	}
	buffered := make([]*loader.BufferedFile, len(files))
	for i, file := range files {
		buffered[i] = &loader.BufferedFile{Name: file.Name, Data: bytes.TrimPrefix(file.Data, []byte("\xef\xbb\xbf"))}
	}
	if err := newChartBounds().check("", buffered, 0); err != nil {
		return nil, fmt.Errorf("load the chart: %w", err)
	}
	loaded, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, fmt.Errorf("load the chart: %w", err)
	}
	if loaded.Metadata.Type == "library" {
		return nil, fmt.Errorf(
			"chart %s is a library: it renders nothing on its own; use it as a sub-chart",
			loaded.Name(),
		)
	}
	if err := checkDependencies(loaded); err != nil {
		return nil, err
	}
	schemas := map[string]*jsonschema.Schema{}
	invalid := compileSchemas(loaded, schemas)
	return &parsedChart{
		chart: loaded, schemas: schemas, invalidSchema: invalid, duplicates: duplicatesOf(loaded),
		sets: &parsedSets{kept: lru.New(keptSets)},
	}, nil
}

// duplicatesOf returns the keys that occur twice in a map of the default values of a chart and its sub-charts.
func duplicatesOf(c *chart.Chart) (duplicates []*manifests.FileError) {
	for _, file := range c.Raw {
		if file.Name != chartutil.ValuesfileName {
			continue
		}
		_, found, err := yamltext.ToJSON(file.Data)
		if err != nil {
			continue
		}
		for _, duplicate := range found {
			duplicates = append(duplicates, &manifests.FileError{
				File: path.Join(c.ChartFullPath(), file.Name), Line: duplicate.Line, Err: errors.New(duplicate.String()),
			})
		}
	}
	for _, sub := range c.Dependencies() {
		duplicates = append(duplicates, duplicatesOf(sub)...)
	}
	return duplicates
}

// Ignored returns a function that reports whether the .helmignore of a chart leaves out a file or a folder. A rendering
// does not depend on such files, so their change is no change of the chart.
func Ignored(chart fs.FS) (func(name string, info fs.FileInfo) bool, error) {
	rules, err := ignoreRules(chart)
	if err != nil {
		return nil, err
	}
	return rules.Ignore, nil
}

func ignoreRules(source fs.FS) (*ignore.Rules, error) {
	rules := ignore.Empty()
	content, err := fs.ReadFile(source, ignore.HelmIgnore)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read the source: %w", err)
	default:
		if rules, err = ignore.Parse(bytes.NewReader(content)); err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	}
	rules.AddDefaults()
	return rules, nil
}

// checkDependencies returns an error if a sub-chart that Chart.yaml requires is missing in the folder charts. As in
// Helm, only names are compared, not versions, and the dependencies of sub-charts are not checked. Nothing is fetched.
func checkDependencies(c *chart.Chart) error {
	var missing []string
	for _, dependency := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(
			c.Dependencies(),
			func(sub *chart.Chart) bool { return sub.Name() == dependency.Name },
		) {
			missing = append(missing, strings.TrimSpace(dependency.Name+" "+dependency.Version))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &MissingDependenciesError{Chart: c.Name(), Missing: missing}
}

// MissingDependenciesError is the error of a chart without sub-charts that its Chart.yaml requires.
type MissingDependenciesError struct {
	Chart string
	// Missing contains the name of each sub-chart, and the version that Chart.yaml requires.
	Missing []string
}

// Error implements error.
func (e *MissingDependenciesError) Error() string {
	return fmt.Sprintf("chart %s: Chart.yaml requires %s, which is missing in the folder charts: add it with helm "+
		"dependency build", e.Chart, strings.Join(e.Missing, ", "))
}

// copyChart copies the parts of a chart that Helm changes while it processes dependencies: the metadata, the values,
// and the tree of sub-charts. Templates, files and schemas are shared with the original.
func copyChart(c *chart.Chart) *chart.Chart {
	metadata := *c.Metadata
	metadata.Dependencies = make([]*chart.Dependency, len(c.Metadata.Dependencies))
	for i, dependency := range c.Metadata.Dependencies {
		copied := *dependency
		metadata.Dependencies[i] = &copied
	}
	copied := &chart.Chart{
		Raw:       c.Raw,
		Metadata:  &metadata,
		Lock:      c.Lock,
		Templates: c.Templates,
		Values:    runtime.DeepCopyJSON(c.Values),
		Schema:    c.Schema,
		Files:     c.Files,
	}
	for _, sub := range c.Dependencies() {
		copied.AddDependency(copyChart(sub))
	}
	return copied
}
