package operator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
	"github.com/fairlead-io/fairlead/pkg/generator/transform"
)

// postRenderers returns the transformers of spec.postRenderers in their order. Errors name the entry and the field.
func postRenderers(component *v1alpha1.Component) ([]generator.Transformer, error) {
	var transformers []generator.Transformer
	for i, entry := range component.Spec.PostRenderers {
		if entry.Kustomize == nil {
			return nil, fmt.Errorf("spec.postRenderers[%d]: want kustomize", i)
		}
		field := fmt.Sprintf("spec.postRenderers[%d].kustomize", i)
		changes, err := kustomize.NewTransformer(changesOf(entry.Kustomize))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		transformers = append(transformers, at(field, changes))
		if common := entry.Kustomize.CommonMetadata; common != nil {
			transformers = append(transformers, transform.Labels(common.Labels), transform.Annotations(common.Annotations))
		}
	}
	return transformers, nil
}

// at adds the field of the spec to the errors of a transformer.
func at(field string, transformer generator.Transformer) generator.Transformer {
	return generator.TransformerFunc(func(
		ctx context.Context, req generator.Request, objects []*unstructured.Unstructured,
	) ([]*unstructured.Unstructured, error) {
		changed, err := transformer.Transform(ctx, req, objects)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		return changed, nil
	})
}

func changesOf(spec *v1alpha1.KustomizePostRenderer) kustomize.Changes {
	var changes kustomize.Changes
	for _, patch := range spec.Patches {
		var target *kustomize.Target
		if t := patch.Target; t != nil {
			target = new(kustomize.Target(*t))
		}
		changes.Patches = append(changes.Patches, kustomize.Patch{Patch: patch.Patch, Target: target})
	}
	for _, image := range spec.Images {
		changes.Images = append(changes.Images, kustomize.Image(image))
	}
	return changes
}
