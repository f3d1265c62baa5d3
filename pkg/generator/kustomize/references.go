package kustomize

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// references validates all references of a kustomization, and of the kustomizations that it refers to. It collects an
// error for each invalid reference.
//
// kustomize fetches entries that look like remote addresses, over HTTP or with git, and has no option to disable that.
// Therefore every field that may contain a path is validated before kustomize runs.
type references struct {
	tree    *tree
	visited map[string]bool
	// top is the first kustomization.
	top kustomization

	errs      []error
	ownSchema bool
}

func newReferences(t *tree) *references {
	return &references{tree: t, visited: map[string]bool{}}
}

// folder validates the kustomization in a folder, and the kustomizations that it refers to. kustomize itself reports
// cycles and folders without kustomization.
func (r *references) folder(folder string) {
	if r.visited[folder] {
		return
	}
	isTop := len(r.visited) == 0
	r.visited[folder] = true
	k, file, err := r.kustomization(folder)
	if isTop {
		r.top = k
	}
	if err != nil {
		r.errs = append(r.errs, err)
	}
	if err != nil || file == "" {
		return
	}
	r.ownSchema = r.ownSchema || len(k.OpenAPI) > 0
	for _, field := range k.helmFields() {
		r.errs = append(
			r.errs,
			fmt.Errorf("%s: %s runs helm, which is not supported: render the chart with the Helm engine", file, field),
		)
	}
	r.fieldPaths(file, k)
	r.patches(file, k)
	r.filesOf(file, k)
	for _, field := range k.folders() {
		for _, entry := range field.entries {
			r.resource(file, field.name, entry)
		}
	}
	for _, field := range k.plugins() {
		for _, entry := range field.entries {
			r.plugin(file, field.name, entry)
		}
	}
}

// filesOf validates the entries of a kustomization that refer to a file.
func (r *references) filesOf(file string, k kustomization) {
	for _, entry := range k.old.PatchesStrategicMerge {
		// The entry may be the text of a patch, which is neither absolute nor above the source.
		r.local(file, "patchesStrategicMerge", entry)
	}
	paths := k.filePaths()
	for _, field := range slices.Sorted(maps.Keys(paths)) {
		for _, entry := range paths[field] {
			if target, ok := r.resolve(file, field, entry); ok {
				r.render(target)
			}
		}
	}
}

// kustomization reads the kustomization in a folder. The returned path is empty if there is none.
func (r *references) kustomization(folder string) (kustomization, string, error) {
	file, err := r.kustomizationFile(folder)
	if err != nil || file == "" {
		return kustomization{}, "", err
	}
	content, err := r.tree.read(file)
	if err != nil {
		return kustomization{}, "", err
	}
	k, err := readKustomization(content)
	if err != nil {
		return kustomization{}, "", fmt.Errorf("%s: %w", file, err)
	}
	return k, file, nil
}

// resource validates an entry that names a file or a folder.
func (r *references) resource(file, field, entry string) {
	target, ok := r.resolve(file, field, entry)
	if !ok {
		return
	}
	switch {
	case r.tree.folders[target]:
		r.folder(target)
	case r.tree.isFile(target):
		r.render(target)
	default:
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %q does not exist in the source", file, field, entry))
	}
}

// render renders a file before kustomize reads it, so that the errors of all templates are reported together.
func (r *references) render(name string) {
	if _, given := r.tree.outputs[name]; !given || r.visited[name] {
		return
	}
	r.visited[name] = true
	if _, err := r.tree.read(name); err != nil {
		r.errs = append(r.errs, err)
	}
}

// resolve returns the path in the source for an entry of a kustomization file. It returns false, and notes an error, if
// the path leaves the source.
func (r *references) resolve(file, field, entry string) (string, bool) {
	target := path.Join(path.Dir(file), entry)
	switch {
	case !r.local(file, field, entry):
	case path.IsAbs(entry):
		r.errs = append(
			r.errs,
			fmt.Errorf("%s: %s: %q is absolute: write a path relative to the kustomization file", file, field, entry),
		)
	case target == ".." || strings.HasPrefix(target, "../"):
		r.errs = append(r.errs, fmt.Errorf("%s: %s: %q leaves the source", file, field, entry))
	default:
		return target, true
	}
	return "", false
}

// local returns false, and notes an error, for an entry that kustomize might fetch.
func (r *references) local(file, field, entry string) bool {
	if !isRemote(entry) {
		return true
	}
	const advice = "copy it into the source (write ./ in front of a local path that looks remote)"
	r.errs = append(r.errs, fmt.Errorf("%s: %s: %q is a remote address, and remote files are not fetched: %s",
		file, field, entry, advice))
	return false
}

var userAtHost = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// isRemote reports whether kustomize might fetch an entry: a URL, an address of a git repository, or a path on GitHub.
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
