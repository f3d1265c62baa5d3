package helm

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/utils/lru"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// keptSets is the maximum number of cached template sets of a chart. A chart has several sets, because values enable
// sub-charts and set their names.
const keptSets = 4

// Templates of a chart are not executed by Helm's engine. Helm's engine parses them for each rendering, cannot be
// interrupted, limits neither output nor memory, and crashes on a text that calls tpl with itself.
// TestRendersAsHelmDoes compares the results of both engines.

// source is a template of a chart or sub-chart, with the data that all templates of that chart share.
type source struct {
	name string
	file *chart.File
	data map[string]any
	base string
}

// sourcesOf returns the templates in Helm's order: deeper folders first. Because later definitions replace earlier
// ones, a definition of the chart takes precedence over a definition of a sub-chart.
func sourcesOf(c *chart.Chart, values chartutil.Values) []source {
	var sources []source
	collect(c, values, &sources)
	slices.SortFunc(sources, func(a, b source) int {
		if deeper := strings.Count(b.name, "/") - strings.Count(a.name, "/"); deeper != 0 {
			return deeper
		}
		return strings.Compare(b.name, a.name)
	})
	return sources
}

// collect adds the templates of a chart and its sub-charts, and returns the data of the chart's templates.
func collect(c *chart.Chart, parent chartutil.Values, sources *[]source) map[string]any {
	subCharts := map[string]any{}
	data := map[string]any{
		"Chart": struct {
			chart.Metadata
			IsRoot bool
		}{*c.Metadata, c.IsRoot()},
		"Files":        filesOf(c.Files),
		"Release":      parent["Release"],
		"Capabilities": parent["Capabilities"],
		"Values":       chartutil.Values{},
		"Subcharts":    subCharts,
	}
	if c.IsRoot() {
		data["Values"] = parent["Values"]
	} else if own, err := parent.Table("Values." + c.Name()); err == nil {
		data["Values"] = own
	}
	for _, sub := range c.Dependencies() {
		subCharts[sub.Name()] = collect(sub, data, sources)
	}
	place := c.ChartFullPath()
	isLibrary := strings.EqualFold(c.Metadata.Type, "library")
	for _, file := range c.Templates {
		if file == nil || isLibrary && !isPartial(file.Name) {
			continue
		}
		*sources = append(
			*sources,
			source{name: path.Join(place, file.Name), file: file, data: data, base: path.Join(place, "templates")},
		)
	}
	return data
}

// isPartial reports whether a template only defines templates for others.
func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), "_") }

// parsedSets caches the parsed templates of a chart.
type parsedSets struct {
	mu   sync.Mutex
	kept *lru.Cache
}

// of returns the parsed templates of a rendering. Renderings with the same enabled sub-charts share them.
func (p *parsedSets) of(sources []source) (*templating.Set, error) {
	var key strings.Builder
	for _, s := range sources {
		_, _ = fmt.Fprintf(&key, "%s %p\n", s.name, s.file)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, found := p.kept.Get(key.String()); found {
		if set, ok := known.(*templating.Set); ok {
			return set, nil
		}
	}
	files := make([]rendering.File, 0, len(sources))
	for _, s := range sources {
		files = append(files, rendering.File{Name: s.name, Data: s.file.Data})
	}
	set, err := templating.Parse(files, templating.Options{Chart: true})
	if err == nil {
		p.kept.Add(key.String(), set)
	}
	return set, err
}

// execute returns the output of all templates except partials.
func (p *parsedChart) execute(
	budget *templating.Budget,
	working *chart.Chart,
	values chartutil.Values,
	req generator.Request,
) ([]rendering.File, error) {
	sources := sourcesOf(working, values)
	set, err := p.sets.of(sources)
	if err != nil {
		return nil, err
	}
	items := make([]templating.Item, 0, len(sources))
	for _, s := range sources {
		if isPartial(s.name) {
			continue
		}
		items = append(items, templating.Item{Name: s.name, Data: func() any {
			s.data["Template"] = chartutil.Values{"Name": s.name, "BasePath": s.base}
			return s.data
		}})
	}
	return set.RenderItems(templating.Input{Request: req, Budget: budget}, items)
}
