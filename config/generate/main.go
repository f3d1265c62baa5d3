// Command generate writes the files of the chart that repeat other manifests of the project: the definition of
// components, the rules of the operator, and its monitoring. "make generate" runs it in the project's root; another
// root is its argument.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// header is the first line of each generated file.
const header = "# Generated from %s by make generate; do not edit.\n"

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := write(filepath.Join(root, "config")); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "generate the files of the chart: %v\n", err)
		os.Exit(1)
	}
}

// write writes the files of the chart in a folder config.
func write(folder string) error {
	files, err := render(os.DirFS(folder))
	if err != nil {
		return err
	}
	into := filepath.Join(folder, "chart", "files")
	// Files that are not generated any more must not stay.
	if err := os.RemoveAll(into); err != nil {
		return err
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(into, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render returns the files of the chart by name.
func render(config fs.FS) (map[string][]byte, error) {
	dashboard, err := fs.ReadFile(config, "monitoring/dashboard.json")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"dashboard.json": dashboard}
	for name, from := range map[string]struct{ pattern, kind string }{
		"crd.yaml":            {"crd/*.yaml", "CustomResourceDefinition"},
		"prometheusrule.yaml": {"monitoring/prometheusrule.yaml", "PrometheusRule"},
		"servicemonitor.yaml": {"monitoring/servicemonitor.yaml", "ServiceMonitor"},
	} {
		if files[name], err = only(config, from.pattern, from.kind); err != nil {
			return nil, err
		}
	}
	files["rbac.yaml"], err = roles(config)
	return files, err
}

// decode returns all objects in the files that match a pattern.
func decode(config fs.FS, pattern string) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(config, pattern)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range names {
		content, err := fs.ReadFile(config, name)
		if err != nil {
			return nil, err
		}
		found, err := manifests.Decode(name, content)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// only returns the only object of a kind in the files that match a pattern.
func only(config fs.FS, pattern, kind string) ([]byte, error) {
	objects, err := decode(config, pattern)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
	if len(objects) != 1 {
		return nil, fmt.Errorf("%d objects of kind %s in config/%s: want one", len(objects), kind, pattern)
	}
	return document("config/"+pattern, objects[0].Object)
}

// role contains the fields of a role that the chart uses.
type role struct {
	Labels          map[string]string `json:"labels,omitempty"`
	Rules           any               `json:"rules,omitempty"`
	AggregationRule any               `json:"aggregationRule,omitempty"`
}

// roles returns all roles by name. The operator's name is removed from its roles: the release provides it.
func roles(config fs.FS) ([]byte, error) {
	objects, err := decode(config, "rbac/*.yaml")
	if err != nil {
		return nil, err
	}
	found := map[string]role{}
	for _, object := range objects {
		if kind := object.GetKind(); kind == "Role" || kind == "ClusterRole" {
			name := strings.TrimPrefix(object.GetName(), "fairlead-operator-")
			found[name] = role{object.GetLabels(), object.Object["rules"], object.Object["aggregationRule"]}
		}
	}
	return document("config/rbac", found)
}

func document(source string, content any) ([]byte, error) {
	text, err := yaml.Marshal(content)
	return append(fmt.Appendf(nil, header, source), text...), err
}
