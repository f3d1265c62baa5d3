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

// originAnnotation is the annotation in which kustomize writes the source file of an object, if the kustomization
// enables it.
const originAnnotation = "config.kubernetes.io/origin"

// tracing enables origins in the built kustomization, unless it configures them itself, or has a form to which no field
// can be added.
func (f *buildFiles) tracing(name string, content []byte) []byte {
	isEntry := f.traced != "" && path.Dir(name) == path.Clean(f.traced) &&
		slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
	if !isEntry || bytes.Contains(content, []byte("buildMetadata")) {
		return content
	}
	with := slices.Concat(content, []byte("\nbuildMetadata: [originAnnotations]\n"))
	if yaml.Unmarshal(with, &map[string]any{}) != nil {
		return content
	}
	f.addsOrigins = true
	return with
}

// origin is the content of the annotation.
type origin struct {
	// Path is the path of a resource file. ConfiguredIn is the path of the generator that created the object. Both are
	// relative to the folder that is built.
	Path         string `json:"path"`
	ConfiguredIn string `json:"configuredIn"`
}

// locate reports the source file of each object. It removes the annotation with the origin if added is set, so that the
// objects are those of a build without origins.
func locate(objects []*unstructured.Unstructured, entry string, added bool, req generator.Request) {
	for _, o := range objects {
		annotations := o.GetAnnotations()
		text, told := annotations[originAnnotation]
		if !told {
			continue
		}
		if added {
			removeOrigin(o, annotations)
		}
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

func removeOrigin(o *unstructured.Unstructured, annotations map[string]string) {
	delete(annotations, originAnnotation)
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
}
