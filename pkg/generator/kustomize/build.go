package kustomize

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// building is a lock that allows one build at a time, because kustomize keeps the OpenAPI schema in global variables.
var building = make(chan struct{}, 1)

// build returns the objects of a source.
func build(ctx context.Context, t *tree, found checked, req generator.Request) ([]*unstructured.Unstructured, error) {
	if found.isPlain {
		return decodePlain(found.plain, decoderOf(t, req), req)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case building <- struct{}{}:
	}
	defer func() { <-building }()

	objects, files, err := attempt(ctx, t, found, req, nil)
	if err == nil || files.err != nil {
		return objects, err
	}
	// kustomize refuses keys that occur twice in a map. All other sources use the last value.
	again, single, failure := attempt(ctx, t, found, req, rendering.Warn(req))
	if single.found && failure == nil {
		return again, nil
	}
	return nil, err
}

// attempt builds the source. warn is that of buildFiles.
func attempt(
	ctx context.Context, t *tree, found checked, req generator.Request, warn func(*manifests.FileError),
) ([]*unstructured.Unstructured, *buildFiles, error) {
	limitCopies(1, 1)
	files := newBuildFiles(ctx, t)
	files.warn = warn
	if req.Locate != nil {
		files.traced = found.entry
	}
	resources, err := run(files, found)
	if files.err != nil {
		return nil, files, files.err
	}
	if err != nil {
		return nil, files, fmt.Errorf("build the kustomization: %w", err)
	}
	if resources.Size() > t.limits.Objects {
		return nil, files, fmt.Errorf(
			"the kustomization renders %d objects, and the limit is %d",
			resources.Size(),
			t.limits.Objects,
		)
	}
	objects, err := decodeResources(ctx, resources, decoderOf(t, req))
	if err != nil {
		return nil, files, err
	}
	if req.Locate != nil {
		locate(objects, found.entry, files.addsOrigins, req)
	}
	return objects, files, nil
}

func decoderOf(t *tree, req generator.Request) *manifests.Decoder {
	return &manifests.Decoder{
		MaxObjects: t.limits.Objects, MaxAliasBytes: t.limits.AliasBytes, MaxNodes: t.limits.Nodes, Warn: rendering.Warn(req),
	}
}

// run runs kustomize, and restores its global state.
func run(files filesys.FileSystem, source checked) (resmap.ResMap, error) {
	if source.ownSchema {
		defer openapi.ResetOpenAPI()
	}
	options := krusty.MakeDefaultOptions()
	if source.sorts {
		// With another option the library logs that sortOptions have precedence.
		options.Reorder = krusty.ReorderOptionUnspecified
	}
	return authorcode.Call("kustomize", func() (resmap.ResMap, error) {
		resources, err := krusty.MakeKustomizer(options).Run(files, filesys.Separator+source.entry)
		if err == nil && source.labels {
			err = relabel(resources)
		}
		return resources, err
	})
}

// managedBy is the value of the label that the program kustomize of this version of the library sets. The library takes
// the version of the running program instead, which may be no valid value of a label.
const managedBy = "kustomize-v5.8.1"

// relabel replaces the value of the label that the library has set.
func relabel(resources resmap.ResMap) error {
	for _, resource := range resources.Resources() {
		labels := resource.GetLabels()
		labels[konfig.ManagedbyLabelKey] = managedBy
		if err := resource.SetLabels(labels); err != nil {
			return err
		}
	}
	return nil
}

// decodeResources encodes the resources as YAML and decodes them again, like kubectl apply -k. The decoder assigns the
// types of YAML to scalars; kustomize would keep them as text.
func decodeResources(
	ctx context.Context,
	resources resmap.ResMap,
	decoder *manifests.Decoder,
) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var errs []error
	for _, resource := range resources.Resources() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		origin := fmt.Sprintf("%s %s (built)", resource.GetKind(), resource.GetName())
		text, err := resource.AsYAML()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", origin, err))
			continue
		}
		decoded, err := decoder.Decode(origin, text)
		errs = append(errs, err)
		objects = append(objects, decoded...)
	}
	return objects, errors.Join(errs...)
}

// decodePlain returns the manifests of a source without kustomization.
func decodePlain(
	files []rendering.File,
	decoder *manifests.Decoder,
	req generator.Request,
) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var errs []error
	for _, file := range files {
		decoded, err := decoder.Decode(file.Name, file.Data)
		errs = append(errs, err)
		req.Located(file.Name, decoded...)
		objects = append(objects, decoded...)
	}
	return objects, errors.Join(errs...)
}
