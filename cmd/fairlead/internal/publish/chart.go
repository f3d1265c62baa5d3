package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	packed "github.com/fairlead-io/fairlead/pkg/source"
)

// chartFile is the file with the name and the version of a chart. "helm package" writes the file again, without
// comments and in another order.
const chartFile = "Chart.yaml"

// chartOf returns a digest that is the same for a folder with a chart, and for the archive that "helm package" makes of
// it. In such an archive the chart is in a folder, and the text of Chart.yaml may differ. The digest does not depend on
// files that .helmignore leaves out. It is empty if the source is no chart.
func chartOf(tree fs.FS) (string, error) {
	root, err := chartFolder(tree)
	if err != nil || root == "" {
		return "", err
	}
	if tree, err = fs.Sub(tree, root); err != nil {
		return "", err
	}
	ignored, err := ignoredIn(tree)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch leftOut, err := ignored(name, entry); {
		case err != nil:
			return err
		case leftOut && entry.IsDir():
			return fs.SkipDir
		case leftOut, entry.IsDir():
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if path.Base(name) == chartFile {
			content = canonical(content)
		}
		// The lengths make different sequences of files different.
		_, err = fmt.Fprintf(sum, "%d %s %d %s", len(name), name, len(content), content)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// ignoredIn returns a function that reports whether .helmignore leaves out a file or a folder of a chart. It leaves out
// none if another generator than Helm renders the folder by default, or if .helmignore is invalid, which the rendering
// reports.
func ignoredIn(chart fs.FS) (func(name string, entry fs.DirEntry) (bool, error), error) {
	none := func(string, fs.DirEntry) (bool, error) { return false, nil }
	engine, err := generator.Detect(chart)
	if err != nil || engine != generator.EngineHelm {
		return none, err
	}
	rules, err := helm.Ignored(chart)
	if err != nil {
		return none, nil //nolint:nilerr // The rendering reports it.
	}
	return func(name string, entry fs.DirEntry) (bool, error) {
		info, err := entry.Info()
		return err == nil && rules(name, info), err
	}, nil
}

// chartFolder returns the folder of the chart: the root, or the only folder in the root. It returns an empty text if
// there is no chart.
func chartFolder(tree fs.FS) (string, error) {
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return "", err
	}
	folder := "."
	if len(entries) == 1 && entries[0].IsDir() {
		folder = entries[0].Name()
	}
	info, err := fs.Stat(tree, path.Join(folder, chartFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", nil
	}
	return folder, nil
}

// canonical returns YAML as JSON with sorted keys, without the empty fields that Helm drops. It returns a text that is
// not YAML unchanged.
func canonical(text []byte) []byte {
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return text
	}
	for name, value := range fields {
		switch value := value.(type) {
		case nil:
			delete(fields, name)
		case string:
			if value == "" {
				delete(fields, name)
			}
		case []any:
			if len(value) == 0 {
				delete(fields, name)
			}
		case map[string]any:
			if len(value) == 0 {
				delete(fields, name)
			}
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return text
	}
	return data
}

// chartIn returns the digest of the chart in an archive, empty if there is none.
func chartIn(archive []byte) string {
	content, err := packed.Unpack(archive, packed.Limits{})
	if err != nil {
		return ""
	}
	digest, err := chartOf(content)
	if err != nil {
		return ""
	}
	return digest
}
