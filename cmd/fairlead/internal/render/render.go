package render

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// Request contains the source, the options and the identity of a rendering.
type Request struct {
	Source fs.FS
	// Path is the folder inside the source that is rendered.
	Path string
	// Engine is the name of the engine. If it is empty, the engine is detected from the files.
	Engine generator.Engine
	// Namespace and Name are the namespace and name of the component.
	Namespace, Name string
	// Component is the component whose spec is rendered, apart from what the other fields have. It may be nil.
	Component *v1alpha1.Component
	Values    map[string]any
	// Inputs are the inputs of the component, and Given are their values by their names.
	Inputs       []v1alpha1.Input
	Given        map[string]any
	Capabilities generator.Capabilities
	// Upgrade renders the second revision instead of the first.
	Upgrade bool
	// SkipCRDs leaves out the objects in the crds folders of charts.
	SkipCRDs bool
	// SkipSchema leaves out the validation of values by the schemas of charts.
	SkipSchema bool
	// Sequencing reads the resource groups of charts as dependencies.
	Sequencing bool
	// Exports are the values of exports.
	Exports generator.Exports
	// Report receives warnings and hints of the rendering. It may be nil.
	Report func(generator.Result)
	// Target reads the objects that templates look up in the cluster. If it is nil, look-ups find no objects.
	Target generator.Lookup

	// places receives the source files of the objects. It may be nil.
	places *Places
}

// Raw returns the unchanged output of the engine, in the order in which the engine's own command, such as helm, prints
// it.
func Raw(ctx context.Context, req Request) ([]*unstructured.Unstructured, error) {
	return generate(ctx, req, operator.RenderOptions{Raw: true})
}

// Dependents returns the objects that the reconciler would apply, in the order in which it applies them. Hooks of the
// deletion come last.
func Dependents(ctx context.Context, req Request) ([]manifests.Object, error) {
	if req.places == nil {
		req.places = &Places{Namespace: req.Namespace}
	}
	generated, err := generate(ctx, req, operator.RenderOptions{Locate: req.places.Add})
	if err != nil {
		return nil, err
	}
	ignored, err := ignoredBySpec(req.Component)
	if err != nil {
		return nil, err
	}
	objects, err := normaliseSet(generated, req.Namespace, req.Name, ignored, builtin.ScopeOf)
	if err != nil {
		return nil, WithPlaces(err, req.places)
	}
	phases := []manifests.Phase{manifests.PhaseApply, manifests.PhasePreDelete, manifests.PhasePostDelete}
	slices.SortStableFunc(objects, func(a, b manifests.Object) int {
		return slices.Index(phases, a.Settings.Phase) - slices.Index(phases, b.Settings.Phase)
	})
	return objects, nil
}

// Live renders the dependents of a component that exists in a cluster, with the inputs in the request and the ignored
// fields of its spec. Without callFunctions, a component with a function is refused.
func Live(
	ctx context.Context, req generator.Request, scopes meta.RESTMapper, callFunctions bool,
) ([]manifests.Object, error) {
	places := &Places{Namespace: req.Namespace}
	g, err := operator.NewGenerator(operator.RenderOptions{RefuseFunctions: !callFunctions, Locate: places.Add})
	if err != nil {
		return nil, err
	}
	rendered, err := g.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	objects, err := asData(rendered)
	if err != nil {
		return nil, err
	}
	ignored, err := ignoredBySpec(req.Component)
	if err != nil {
		return nil, err
	}
	served := func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		mapping, err := scopes.RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case meta.IsNoMatchError(err):
			return builtin.ScopeOf(gvk)
		case err != nil:
			return manifests.ScopeUnknown, err
		case mapping.Scope.Name() == meta.RESTScopeNameRoot:
			return manifests.ScopeCluster, nil
		}
		return manifests.ScopeNamespaced, nil
	}
	normalised, err := normaliseSet(objects, req.Namespace, req.Name, ignored, served)
	return normalised, WithPlaces(err, places)
}

// ignoredBySpec returns the rules of ignored fields of a component of the ready-made operator.
func ignoredBySpec(obj client.Object) ([]normalise.IgnoreRule, error) {
	c, ok := obj.(*v1alpha1.Component)
	if !ok || c == nil {
		return nil, nil
	}
	rules, err := normalise.NewIgnoreRules(operator.ReconcilerName, manifests.IgnoredBySpec, c.Spec.IgnoreRules())
	if err != nil {
		return nil, fmt.Errorf("spec.ignore: %w", err)
	}
	return rules, nil
}

func normaliseSet(
	objects []*unstructured.Unstructured, namespace, name string, ignored []normalise.IgnoreRule,
	scopeOf func(schema.GroupVersionKind) (manifests.Scope, error),
) ([]manifests.Object, error) {
	return normalise.Manifests(objects, normalise.Options{
		Reconciler: operator.ReconcilerName, Namespace: namespace, ScopeOf: scopeOf, Ignore: ignored,
		Owner: manifests.Owner{
			Reconciler: operator.ReconcilerName, Group: v1alpha1.GroupVersion.Group, Kind: "Component", Namespace: namespace,
			Name: name,
		},
	})
}

func generate(ctx context.Context, req Request, options operator.RenderOptions) ([]*unstructured.Unstructured, error) {
	options.RefuseFunctions = true
	options.SkipCRDs, options.SkipSchema, options.Sequencing = req.SkipCRDs, req.SkipSchema, req.Sequencing && !options.Raw
	g, err := operator.NewGenerator(options)
	if err != nil {
		return nil, err
	}
	values, err := json.Marshal(req.Values)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	revision := int64(1)
	if req.Upgrade {
		revision = 2
	}
	component := &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name},
	}
	if req.Component != nil {
		req.Component.Spec.DeepCopyInto(&component.Spec)
	}
	component.Spec.Path, component.Spec.Generator = req.Path, v1alpha1.GeneratorName(req.Engine)
	component.Spec.Values, component.Spec.Inputs = &runtime.RawExtension{Raw: values}, req.Inputs
	inputs, err := operator.GivenInputs(component, req.Given)
	if err != nil {
		return nil, err
	}
	rendered, err := g.Generate(ctx, generator.Request{
		Namespace: req.Namespace, Name: req.Name, Source: req.Source, Revision: revision, Capabilities: req.Capabilities,
		Target: req.Target, Report: req.Report, Exports: req.Exports, Inputs: inputs, Component: component,
	})
	if err != nil {
		return nil, err
	}
	return asData(rendered)
}

func asData(rendered []client.Object) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(rendered))
	for _, object := range rendered {
		data, err := manifests.ToUnstructured(object, func(o runtime.Object) (schema.GroupVersionKind, error) {
			return apiutil.GVKForObject(o, clientgoscheme.Scheme)
		})
		if err != nil {
			return nil, fmt.Errorf("%T %s: %w", object, object.GetName(), err)
		}
		objects = append(objects, data)
	}
	return objects, nil
}
