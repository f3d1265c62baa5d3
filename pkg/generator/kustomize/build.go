package kustomize

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// building is held by the build that runs. kustomize keeps the OpenAPI schema of the running build in global variables.
var building = make(chan struct{}, 1)

// build returns the objects of the source.
func (s *checkedSource) build(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if s.files == nil {
		return decodePlain(s.plain)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case building <- struct{}{}:
	}
	defer func() { <-building }()

	resources, err := s.run()
	if err != nil {
		return nil, fmt.Errorf("build the kustomization: %w", err)
	}
	return decodeResources(resources)
}

// run runs kustomize, and takes back what it changed globally.
func (s *checkedSource) run() (resources resmap.ResMap, err error) {
	defer func() {
		if s.ownSchema {
			openapi.ResetOpenAPI()
		}
		if cause := recover(); cause != nil {
			err = fmt.Errorf("kustomize panicked: %v", cause)
		}
	}()
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(s.files, filesys.Separator)
}

// decodeResources goes through YAML, because that is how kubectl apply -k understands scalars that kustomize leaves as they were written.
func decodeResources(resources resmap.ResMap) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var errs []error
	for _, resource := range resources.Resources() {
		origin := fmt.Sprintf("%s %s (built)", resource.GetKind(), resource.GetName())
		text, err := resource.AsYAML()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", origin, err))
			continue
		}
		decoded, err := manifests.Decode(origin, text)
		errs = append(errs, err)
		objects = append(objects, decoded...)
	}
	return objects, errors.Join(errs...)
}

// decodePlain returns the manifests of a source without kustomization.
func decodePlain(files []rendering.File) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var errs []error
	for _, file := range files {
		if !isManifest(file.Name) {
			continue
		}
		decoded, err := manifests.Decode(file.Name, file.Data)
		errs = append(errs, err)
		objects = append(objects, decoded...)
	}
	return objects, errors.Join(errs...)
}
