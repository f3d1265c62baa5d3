package operatorrules

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

// Kinds returns the kinds in the text of a file of manifests or templates, including kinds that the sample does not
// render. If a template computes the apiVersion, Kinds searches the kind among the built-in types. If it does not find
// the kind, it returns a note that the person must add the kind to the chart.
func Kinds(name string, content []byte) (kinds []schema.GroupVersionKind, notes []string) {
	if !isManifest(name) {
		return nil, nil
	}
	for _, document := range separatorLine.Split(string(content), -1) {
		found := kindLine.FindStringSubmatch(document)
		if found == nil {
			continue
		}
		kind, ok := completeKind(document, found[1])
		if !ok {
			notes = append(notes, name+": the API group of "+found[1]+" is computed; add this kind to chart/rights.yaml")
			continue
		}
		if !strings.HasSuffix(kind.Group, "config.k8s.io") {
			kinds = append(kinds, kind)
		}
	}
	return kinds, notes
}

// isManifest reports whether a file may contain manifests.
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
	// The scheme returns versions in the order of preference.
	for _, gv := range clientgoscheme.Scheme.PrioritizedVersionsAllGroups() {
		if gvk := gv.WithKind(kind); clientgoscheme.Scheme.Recognizes(gvk) {
			return gvk, true
		}
	}
	return schema.GroupVersionKind{}, false
}
