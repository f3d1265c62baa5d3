package kustomize

import (
	"bytes"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// originAnnotation is the annotation in which kustomize records the source file of an object, if the kustomization
// enables it.
const originAnnotation = "config.kubernetes.io/origin"

// tracing enables origins in the built kustomization, unless it configures them itself.
func (f *buildFiles) tracing(name string, content []byte) []byte {
	isEntry := f.traced != "" && path.Dir(name) == path.Clean(f.traced) &&
		slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
	if !isEntry || bytes.Contains(content, []byte("buildMetadata")) {
		return content
	}
	return append(content, "\nbuildMetadata: [originAnnotations]\n"...)
}

// origin is the content of the annotation.
type origin struct {
	// Path is the path of a resource file. ConfiguredIn is the path of the generator that created the object. Both are
	// relative to the folder that is built.
	Path         string `json:"path"`
	ConfiguredIn string `json:"configuredIn"`
}

// locate reports the source file of each object, and removes the annotation with the origin.
func locate(objects []*unstructured.Unstructured, entry string, req generator.Request) {
	for _, o := range objects {
		annotations := o.GetAnnotations()
		text, told := annotations[originAnnotation]
		if !told {
			continue
		}
		delete(annotations, originAnnotation)
		if len(annotations) == 0 {
			annotations = nil
		}
		o.SetAnnotations(annotations)
		var from origin
		if err := yaml.Unmarshal([]byte(text), &from); err != nil {
			continue
		}
		if from.Path == "" {
			from.Path = from.ConfiguredIn
		}
		req.Located(path.Join(entry, from.Path), o)
	}
}
