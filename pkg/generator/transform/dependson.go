package transform

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// DependsOn adds dependencies to the objects that match: each waits until the objects with the keys are applied and
// ready, except for itself. A key without a namespace means an object of the same namespace, or a cluster-scoped
// object. prefix is the name of the reconciler, which is the prefix of settings. The dependencies are added to those of
// the manifest. The rendering fails if a manifest has an invalid list.
//
// A matching object belongs to no wave, so settings for waves are refused later; see manifests.AnnotationDependsOn. The
// transformer has no version, because match may change with each build of the program.
func DependsOn(
	prefix string, match func(*unstructured.Unstructured) bool, keys ...manifests.Key,
) generator.Transformer {
	return dependsOn{name: prefix + "/" + manifests.AnnotationDependsOn, match: match, keys: slices.Clone(keys)}
}

type dependsOn struct {
	name  string
	match func(*unstructured.Unstructured) bool
	keys  []manifests.Key
}

// Transform implements generator.Transformer.
func (d dependsOn) Transform(
	_ context.Context,
	_ generator.Request,
	objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	for _, object := range objects {
		if !d.match(object) {
			continue
		}
		if err := d.add(object); err != nil {
			return nil, fmt.Errorf("%s %s: annotation %s: %w", object.GetKind(), object.GetName(), d.name, err)
		}
	}
	return objects, nil
}

// add adds the dependencies to an object.
func (d dependsOn) add(object *unstructured.Unstructured) error {
	annotations := object.GetAnnotations()
	var all []manifests.Dependency
	if list, set := annotations[d.name]; set {
		var err error
		if all, err = settingtext.ParseDependencies(list); err != nil {
			return err
		}
	}
	for _, key := range d.keys {
		if added := (manifests.Dependency{Key: key}); !isSelf(key, object) && !slices.Contains(all, added) {
			all = append(all, added)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[d.name] = settingtext.JoinDependencies(all)
	object.SetAnnotations(annotations)
	return nil
}

// isSelf reports whether a key is that of the object itself.
func isSelf(key manifests.Key, object *unstructured.Unstructured) bool {
	inNamespace := key.Namespace == "" || object.GetNamespace() == "" || key.Namespace == object.GetNamespace()
	return key.GroupKind() == object.GroupVersionKind().GroupKind() && key.Name == object.GetName() && inNamespace
}
