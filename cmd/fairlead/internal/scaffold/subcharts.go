package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/source"
)

// maxPacked is the maximum nesting depth of packed sub-charts.
const maxPacked = 8

// belowWrapper returns the folder of a source if it is the only entry of the source, and the source itself otherwise.
// Archives of helm package and git archive contain such a folder.
func belowWrapper(tree fs.FS) (fs.FS, error) {
	if tree == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(tree, ".")
	if err != nil || len(entries) != 1 || !entries[0].IsDir() {
		return tree, err
	}
	return source.Sub(tree, entries[0].Name())
}

// unpackSubCharts replaces packed sub-charts by their files, for the analysis of the chart. In the project the
// sub-charts stay packed, because helm dependency update replaces archives but not folders. The notes describe settings
// that only work in unpacked sub-charts.
func unpackSubCharts(o Options, files []File) (unpacked []File, notes []string, err error) {
	if o.Generator != GeneratorHelm {
		return files, nil, nil
	}
	for _, file := range files {
		if !isPackedChart(o, file.Path) {
			unpacked = append(unpacked, file)
			continue
		}
		inside, err := unpackSubChart(o, file, maxPacked)
		if err != nil {
			return nil, nil, err
		}
		unpacked = append(unpacked, inside...)
		if hasSettings(o, inside) {
			notes = append(notes, fmt.Sprintf("%s has annotations of %s, which %s does not read: unpack it, and scaffold again",
				file.Path, readyMade, o.OperatorName))
		}
	}
	return unpacked, notes, nil
}

// packedChart matches the paths of packed sub-charts. Archives with other paths are ordinary files of a chart.
var packedChart = regexp.MustCompile(`^(charts/[^/]+/)*charts/[^/]+\.tgz$`)

func isPackedChart(o Options, name string) bool {
	relative, inside := strings.CutPrefix(name, sourceFolder(o)+"/")
	return inside && packedChart.MatchString(relative)
}

func unpackSubChart(o Options, packed File, depth int) ([]File, error) {
	if depth == 0 {
		return nil, fmt.Errorf("%s: packed charts are nested more than %d deep", packed.Path, maxPacked)
	}
	tree, err := source.Unpack(packed.Content, source.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", packed.Path, err)
	}
	files, err := readSource(tree)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", packed.Path, err)
	}
	var unpacked []File
	for _, file := range files {
		file.Path = path.Join(path.Dir(packed.Path), file.Path)
		if !isPackedChart(o, file.Path) {
			unpacked = append(unpacked, file)
			continue
		}
		inside, err := unpackSubChart(o, file, depth-1)
		if err != nil {
			return nil, err
		}
		unpacked = append(unpacked, inside...)
	}
	return unpacked, nil
}

// hasSettings reports whether files contain settings of the ready-made operator, which the project's operator ignores.
func hasSettings(o Options, files []File) bool {
	return o.OperatorName != readyMade && slices.ContainsFunc(files,
		func(file File) bool { return settings.Match(file.Content) })
}
