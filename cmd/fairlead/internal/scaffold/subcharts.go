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

// maxPacked is how deep packed sub-charts may be in each other.
const maxPacked = 8

// belowWrapper returns the folder that a source consists of, or the source itself: helm package and git archive put one at the top of archives.
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

// unpackSubCharts puts the files of packed sub-charts in their place, for whoever looks into them: in the project they stay packed, since helm
// dependency update replaces archives, and no folders. The notes tell of what is heeded in folders only.
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
			notes = append(notes, fmt.Sprintf("%s has annotations of %s, which %s does not read: unpack it, and scaffold again", file.Path, readyMade, o.OperatorName))
		}
	}
	return unpacked, notes, nil
}

// packedChart matches what Helm takes for a packed sub-chart: archives anywhere else are files of templates.
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

// hasSettings says whether files have settings for the ready-made operator, where the project's is another.
func hasSettings(o Options, files []File) bool {
	return o.OperatorName != readyMade && slices.ContainsFunc(files, func(file File) bool { return settings.Match(file.Content) })
}
