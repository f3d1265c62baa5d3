package main

import (
	"embed"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

//go:embed shapes/*.yaml
var shapeFiles embed.FS

// serviceAddress is the text in a shape in place of the address of the service for externals.
const serviceAddress = "http://service.example.com"

// readShapes returns the components of all shapes, and the objects that they need, each in the order of the files. A
// shape is a kind of component; its components have a value text that selects a version.
func readShapes(service string) (components, scenery []*unstructured.Unstructured, err error) {
	files, err := fs.Glob(shapeFiles, "shapes/*.yaml")
	if err != nil {
		return nil, nil, err
	}
	for _, file := range slices.Sorted(slices.Values(files)) {
		content, err := shapeFiles.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		text := strings.ReplaceAll(string(content), serviceAddress, service)
		objects, err := manifests.Decode(file, []byte(text))
		if err != nil {
			return nil, nil, err
		}
		for _, o := range objects {
			if o.GetNamespace() == "" && o.GetKind() != "Namespace" && !strings.HasPrefix(o.GetKind(), "Cluster") {
				o.SetNamespace(namespace)
			}
			if o.GetKind() == "Component" {
				components = append(components, o)
			} else {
				scenery = append(scenery, o)
			}
		}
	}
	return components, scenery, nil
}
