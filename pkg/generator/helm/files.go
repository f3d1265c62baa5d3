package helm

import (
	"encoding/base64"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// files is the value of .Files in templates, with the methods of Helm.
type files map[string][]byte

func filesOf(from []*chart.File) files {
	all := make(files, len(from))
	for _, file := range from {
		all[file.Name] = file.Data
	}
	return all
}

// GetBytes returns the content of a file, or nothing if it does not exist.
func (f files) GetBytes(name string) []byte { return append([]byte{}, f[name]...) }

// Get returns the content of a file as text.
func (f files) Get(name string) string { return string(f[name]) }

// Glob returns the files whose paths match a pattern. An invalid pattern matches all files, as in Helm.
func (f files) Glob(pattern string) files {
	matches, err := templating.Glob(pattern)
	if err != nil {
		return maps.Clone(f)
	}
	found := files{}
	for name, content := range f {
		if matches(name) {
			found[name] = content
		}
	}
	return found
}

// AsConfig returns the data of a ConfigMap: the files by their names, without folders.
func (f files) AsConfig() string {
	return f.asData(func(content []byte) string { return string(content) })
}

// AsSecrets returns the data of a Secret.
func (f files) AsSecrets() string { return f.asData(base64.StdEncoding.EncodeToString) }

func (f files) asData(encode func([]byte) string) string {
	if f == nil {
		return ""
	}
	data := make(map[string]string, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		data[path.Base(name)] = encode(f[name])
	}
	text, err := yaml.Marshal(data)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// Lines returns the lines of a file.
func (f files) Lines(name string) []string {
	content := string(f[name])
	if content == "" {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n")
}
