package kustomize

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// references follows a kustomization through its source and collects what it refers to in vain.
//
// kustomize fetches whatever looks remote to it, over HTTP or by running git, and offers no way to switch that off. So every field that it takes a path from
// is checked before it runs, by its own reading of the file.
type references struct {
	files   map[string][]byte
	folders map[string]bool
	visited map[string]bool

	errs      []error
	ownSchema bool
}

func newReferences(files []rendering.File) *references {
	r := &references{files: map[string][]byte{}, folders: map[string]bool{".": true}, visited: map[string]bool{}}
	for _, file := range files {
		r.files[file.Name] = file.Data
		for folder := path.Dir(file.Name); folder != "."; folder = path.Dir(folder) {
			r.folders[folder] = true
		}
	}
	return r
}

// folder checks the kustomization in a folder, and those that it refers to. kustomize itself reports cycles, and folders without kustomization.
func (r *references) folder(folder string) {
	if r.visited[folder] {
		return
	}
	r.visited[folder] = true
	file, err := r.kustomizationFile(folder)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	if file == "" {
		return
	}
	k, err := readKustomization(r.files[file])
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", file, err))
		return
	}
	for _, entry := range k.old.PatchesStrategicMerge {
		// It may be the text of a patch, which is neither absolute nor above something.
		r.local(file, "patchesStrategicMerge", entry)
	}
	r.ownSchema = r.ownSchema || len(k.OpenAPI) > 0
	if len(k.HelmCharts) > 0 {
		r.errs = append(r.errs, fmt.Errorf("%s: helmCharts runs helm, which is not supported: render the chart with the Helm engine", file))
	}
	paths := k.filePaths()
	for _, field := range slices.Sorted(maps.Keys(paths)) {
		for _, entry := range paths[field] {
			r.resolve(file, field, entry)
		}
	}
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		r.resource(file, entry)
	}
	for _, entry := range slices.Concat(k.Generators, k.Transformers, k.Validators) {
		r.plugin(file, entry)
	}
}

// resource checks an entry that is a file or a folder.
func (r *references) resource(file, entry string) {
	target, ok := r.resolve(file, "resources", entry)
	if !ok {
		return
	}
	_, isFile := r.files[target]
	switch {
	case r.folders[target]:
		r.folder(target)
	case !isFile:
		r.errs = append(r.errs, fmt.Errorf("%s: %q does not exist in the source", file, entry))
	}
}

// resolve returns the path in the source that an entry of a kustomization file means; false, with an error kept, where it leaves the source.
func (r *references) resolve(file, field, entry string) (string, bool) {
	target := path.Join(path.Dir(file), entry)
	switch {
	case !r.local(file, field, entry):
	case path.IsAbs(entry):
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %q is absolute: write a path relative to the kustomization file", file, field, entry))
	case target == ".." || strings.HasPrefix(target, "../"):
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %q leaves the source", file, field, entry))
	default:
		return target, true
	}
	return "", false
}

// local refuses an entry that kustomize might fetch.
func (r *references) local(file, field, entry string) bool {
	if !isRemote(entry) {
		return true
	}
	const advice = "copy it into the source (write ./ in front of a local path that looks remote)"
	r.errs = append(r.errs, fmt.Errorf("%s: %s: %q is remote, and nothing is fetched: %s", file, field, entry, advice))
	return false
}

var userAtHost = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// isRemote says whether kustomize might take an entry for something to fetch: a URL, an address of a git repository, or a path on GitHub.
func isRemote(entry string) bool {
	lower := strings.ToLower(entry)
	for _, prefix := range []string{"git::", "ssh:", "http:", "https:", "file:", "github.com/", "github.com:"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	parsed, err := url.Parse(entry)
	return userAtHost.MatchString(entry) || err == nil && parsed.Host != ""
}
