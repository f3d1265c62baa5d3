package kustomize

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// Changes are the fields of a kustomization that change objects. They have the same meaning as in a kustomization, and
// are applied in this order: patches, namespace, images.
type Changes struct {
	// Patches are applied in order.
	Patches []Patch
	// Namespace is set on all namespaced objects and in references to them, like the field namespace of a kustomization.
	Namespace string
	// Images replaces names, tags and digests of images.
	Images []Image
}

// Patch is a strategic merge patch, or a list of JSON patch operations.
type Patch struct {
	// Patch is the text, as YAML or JSON.
	Patch string
	// Target selects the patched objects; nil selects the object that a strategic merge patch names. If the patch names no
	// namespace, this is the object without a namespace or, if there is none, the object in the component's namespace.
	Target *Target
}

// Target selects objects. All fields that are set must match. All fields except the selectors are regular expressions
// that must match the whole value.
type Target struct {
	Group, Version, Kind, Namespace, Name, LabelSelector, AnnotationSelector string
}

// Image replaces an image by another image.
type Image struct {
	// Name of the image, without tag and digest.
	Name string
	// NewName, NewTag and Digest replace the name, the tag and the digest of the image. A digest replaces a tag too.
	NewName, NewTag, Digest string
}

// NewTransformer returns a transformer that applies the changes. Objects that no change selects stay the same, and the
// order of the objects is kept. Errors name the field, such as patches[1].
func NewTransformer(changes Changes) (generator.Transformer, error) {
	version, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	t := &transformer{version: "kustomize " + string(version), kustomization: types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{objectsFile},
		Namespace: changes.Namespace,
	}}
	var errs []error
	for i, patch := range changes.Patches {
		compiled, err := patch.compile()
		if err != nil {
			errs = append(errs, fmt.Errorf("patches[%d]: %w", i, err))
		}
		t.kustomization.Patches = append(t.kustomization.Patches, compiled)
		t.copies += copiesIn([]byte(compiled.Patch))
	}
	for i, image := range changes.Images {
		if image.Name == "" {
			errs = append(
				errs,
				fmt.Errorf("images[%d]: no name: want the name of the image to replace, without its tag", i),
			)
		}
		t.kustomization.Images = append(t.kustomization.Images, types.Image{
			Name: image.Name, NewName: image.NewName, NewTag: image.NewTag, Digest: image.Digest,
		})
	}
	return t, errors.Join(errs...)
}

// objectsFile is the file with the objects in the kustomization that changes them.
const objectsFile = "objects.yaml"

type transformer struct {
	kustomization types.Kustomization
	version       string
	// copies is the number of operations copy in the patches.
	copies int
}

var _ generator.Versioner = (*transformer)(nil)

// Version returns the changes.
func (t *transformer) Version() string { return t.version }

// Transform builds a kustomization of the objects and the changes. An error names the patch.
func (t *transformer) Transform(
	ctx context.Context,
	req generator.Request,
	objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	if len(objects) == 0 {
		return objects, nil
	}
	kustomization, err := t.placed(req.Namespace, objects)
	if err != nil {
		return nil, err
	}
	stream, err := streamOf(objects)
	if err != nil {
		return nil, err
	}
	var changed []*unstructured.Unstructured
	_, err = rendering.Detached(ctx, func() (_ []client.Object, err error) {
		changed, err = t.build(ctx, kustomization, stream, len(objects))
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// placed returns the kustomization for the objects of a component in a namespace. A merge patch that names its object
// without a namespace changes the object without a namespace or, if there is none, the object in the namespace of the
// component: charts differ in whether they set this namespace.
func (t *transformer) placed(
	namespace string,
	objects []*unstructured.Unstructured,
) (types.Kustomization, error) {
	placed := t.kustomization
	placed.Patches = slices.Clone(placed.Patches)
	for i, patch := range placed.Patches {
		if patch.Target != nil {
			continue
		}
		content := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal([]byte(patch.Patch), &content.Object); err != nil {
			return types.Kustomization{}, fmt.Errorf("patches[%d]: %w", i, err)
		}
		in := func(namespace string) bool {
			return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
				return object.GetNamespace() == namespace && object.GetName() == content.GetName() &&
					object.GetKind() == content.GetKind() && object.GetAPIVersion() == content.GetAPIVersion()
			})
		}
		if content.GetNamespace() != "" || in("") || !in(namespace) {
			continue
		}
		content.SetNamespace(namespace)
		text, err := json.Marshal(content.Object)
		if err != nil {
			return types.Kustomization{}, fmt.Errorf("patches[%d]: %w", i, err)
		}
		placed.Patches[i].Patch = string(text)
	}
	return placed, nil
}

// build changes the objects. If that fails, it finds the first patch that fails.
func (t *transformer) build(
	ctx context.Context, kustomization types.Kustomization, stream []byte, objects int,
) ([]*unstructured.Unstructured, error) {
	changed, err := t.buildWith(ctx, kustomization, stream, objects)
	if err == nil {
		return changed, nil
	}
	fewer := kustomization
	for i := range kustomization.Patches {
		fewer.Patches = kustomization.Patches[:i+1]
		if _, err := t.buildWith(ctx, fewer, stream, objects); err != nil {
			return nil, fmt.Errorf("patches[%d]: %w", i, err)
		}
	}
	return nil, err
}

func (t *transformer) buildWith(
	ctx context.Context,
	kustomization types.Kustomization,
	stream []byte,
	objects int,
) ([]*unstructured.Unstructured, error) {
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"kustomization.yaml": text, objectsFile: stream}
	source := newTree(files, generator.Limits{}.WithDefaults())
	// The files are not texts of a source: they were encoded here.
	source.nodes["kustomization.yaml"], source.nodes[objectsFile] = 0, 0
	source.copies["kustomization.yaml"] = t.copies
	source.objects["kustomization.yaml"], source.objects[objectsFile] = 0, objects
	return build(ctx, source, checked{}, generator.Request{})
}

// streamOf returns objects as a stream of documents.
func streamOf(objects []*unstructured.Unstructured) ([]byte, error) {
	var stream bytes.Buffer
	for _, object := range objects {
		text, err := json.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(text)
		stream.WriteString("\n")
	}
	return stream.Bytes(), nil
}
