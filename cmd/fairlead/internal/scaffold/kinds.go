package scaffold

import (
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

var (
	apiVersionLine = regexp.MustCompile(`(?m)^apiVersion:[ \t]*["']?([^\s"'#]+)["']?[ \t]*(#.*)?$`)
	kindLine       = regexp.MustCompile(`(?m)^kind:[ \t]*["']?([A-Za-z0-9]+)["']?[ \t]*(#.*)?$`)
	separatorLine  = regexp.MustCompile(`(?m)^---`)
)

// kindsIn returns the kinds that manifests and templates name, also those that the sample does not render. An apiVersion that a template
// computes is found by the kind where Kubernetes itself has it; of others a note tells.
func kindsIn(files []File) (kinds []schema.GroupVersionKind, notes []string) {
	for _, file := range files {
		if !isManifest(file.Path) {
			continue
		}
		for _, document := range separatorLine.Split(string(file.Content), -1) {
			found := kindLine.FindStringSubmatch(document)
			if found == nil {
				continue
			}
			kind, ok := completeKind(document, found[1])
			if !ok {
				notes = append(notes, file.Path+": the API group of "+found[1]+" is computed; add it to chart/rights.yaml")
				continue
			}
			if !strings.HasSuffix(kind.Group, "config.k8s.io") {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds, notes
}

// isManifest says whether a file may hold manifests: values and the descriptions of charts hold none.
func isManifest(name string) bool {
	switch path.Base(name) {
	case "Chart.yaml", "values.yaml", "Chart.lock", "requirements.yaml":
		return false
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json", ".tpl":
		return !strings.Contains(name, "/ci/") && !strings.Contains(name, "/tests/")
	}
	return false
}

func completeKind(document, kind string) (schema.GroupVersionKind, bool) {
	if version := apiVersionLine.FindStringSubmatch(document); version != nil && !strings.Contains(version[1], "{{") {
		gv, err := schema.ParseGroupVersion(version[1])
		return gv.WithKind(kind), err == nil
	}
	// The scheme's versions are in the order in which clients prefer them.
	for _, gv := range clientgoscheme.Scheme.PrioritizedVersionsAllGroups() {
		if gvk := gv.WithKind(kind); clientgoscheme.Scheme.Recognizes(gvk) {
			return gvk, true
		}
	}
	return schema.GroupVersionKind{}, false
}
