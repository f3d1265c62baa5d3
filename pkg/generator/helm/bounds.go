package helm

import (
	"bytes"
	"fmt"
	"path"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

const (
	// maxArchives is the number of archives that an archive of a sub-chart may be in.
	maxArchives = 10
	// maxChartNodes is the number of maps, lists, values and keys in the values and the metadata of a chart and all its
	// sub-charts.
	maxChartNodes = generator.DefaultMaxNodes
)

// decoded are the files that Helm decodes when it loads a chart.
var decoded = map[string]bool{
	"Chart.yaml": true, "Chart.lock": true, "values.yaml": true, "requirements.yaml": true, "requirements.lock": true,
}

// chartBounds are the limits of the files of a chart and all its sub-charts. Helm unpacks an archive of a sub-chart
// with limits of its own, so many archives, or an archive that contains itself, would have none.
type chartBounds struct {
	bytes, files, nodes int
}

func newChartBounds() *chartBounds {
	return &chartBounds{bytes: rendering.MaxSourceSize, files: rendering.MaxFiles, nodes: maxChartNodes}
}

// check returns an error if the files of a chart exceed a limit. at is the path of the chart, and level is the number
// of archives that it is in.
func (b *chartBounds) check(at string, files []*loader.BufferedFile, level int) error {
	for _, file := range files {
		name := path.Join(at, file.Name)
		if b.files--; b.files < 0 {
			return fmt.Errorf("%s: the chart and its sub-charts contain more than %d files", name, rendering.MaxFiles)
		}
		if b.bytes -= len(file.Data); b.bytes < 0 {
			return fmt.Errorf("%s: the chart and its sub-charts are larger than %d MiB", name, rendering.MaxSourceSize>>20)
		}
		switch {
		case decoded[path.Base(name)]:
			if err := b.decodes(name, file.Data); err != nil {
				return err
			}
		case path.Ext(name) == ".tgz" && path.Base(path.Dir(name)) == "charts":
			if err := b.archive(name, file.Data, level); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodes checks a file that Helm decodes.
func (b *chartBounds) decodes(name string, data []byte) error {
	nodes, err := bounded.Count(data, bounded.Limits{})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if b.nodes -= nodes; b.nodes < 0 {
		return fmt.Errorf("%s: the values of the chart and its sub-charts contain more than %d maps, lists, values and keys",
			name, maxChartNodes)
	}
	return nil
}

// archive checks the archive of a sub-chart. An archive that cannot be read is no error here; Helm reports it.
func (b *chartBounds) archive(name string, data []byte, level int) error {
	if level == maxArchives {
		return fmt.Errorf("%s: archives of sub-charts are nested more than %d deep", name, maxArchives)
	}
	files, err := loader.LoadArchiveFiles(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	return b.check(name, files, level+1)
}

// checkGlobals returns an error if the global values, which each sub-chart gets a copy of, have too many nodes.
func checkGlobals(c *chart.Chart, parameters map[string]any) error {
	charts, nodes := countGlobals(c)
	count, err := bounded.Value(parameters["global"], bounded.Limits{})
	if err != nil {
		return fmt.Errorf("values.global: %w", err)
	}
	if (nodes+count)*charts > maxChartNodes {
		return fmt.Errorf("the global values have %d maps, lists, values and keys, and %d charts get a copy: the limit is "+
			"%d in total", nodes+count, charts, maxChartNodes)
	}
	return nil
}

// countGlobals returns the number of a chart and its sub-charts, and of the nodes of their global values.
func countGlobals(c *chart.Chart) (charts, nodes int) {
	charts = 1
	// The limits of the chart bound the nodes.
	nodes, _ = bounded.Value(c.Values["global"], bounded.Limits{})
	for _, sub := range c.Dependencies() {
		more, moreNodes := countGlobals(sub)
		charts, nodes = charts+more, nodes+moreNodes
	}
	return charts, nodes
}
