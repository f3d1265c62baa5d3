package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/generator/isolate"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

// RenderOptions configure the output of a generator. The zero value renders what the reconciler applies.
type RenderOptions struct {
	// Raw renders the same output as the engine's own command, such as helm template: hooks stay unchanged, and no
	// settings are added.
	Raw bool
	// SkipCRDs leaves out the objects in the crds folders of charts, for every Component.
	SkipCRDs bool
	// SkipSchema renders charts without the validation of values by their schemas, for every Component.
	SkipSchema bool
	// Sequencing reads the resource groups of charts as dependencies, for every Component.
	Sequencing bool
	// Tests renders the tests of charts instead of their other objects, without post-renderers, as Helm does. Components
	// with other sources are refused.
	Tests bool
	// RefuseFunctions refuses Components with a function, instead of calling the function.
	RefuseFunctions bool
	// FunctionCalls is the maximum number of concurrent calls of functions. Zero means function.DefaultMaxCalls.
	FunctionCalls int
	// Locate receives the source file of each object, with the files that the engine renders; see generator.Request. It
	// may be nil.
	Locate func(files fs.FS, o generator.Origin)
}

// NewGenerator returns the generator of the ready-made operator. It renders a Component with the engine for its source,
// or with its function.
func NewGenerator(o RenderOptions) (generator.Generator, error) {
	charts, err := helm.New(nil, helm.Options{
		AnnotationPrefix: ReconcilerName, Raw: o.Raw, SkipSchema: o.SkipSchema, SkipCRDs: o.SkipCRDs,
		Sequencing: o.Sequencing, Tests: o.Tests,
	})
	if err != nil {
		return nil, fmt.Errorf("helm: %w", err)
	}
	if o.Tests {
		g := newGenerator(map[generator.Engine]generator.Generator{
			generator.EngineHelm: charts, generator.EngineKustomize: withoutTests, generator.EngineGoTemplate: withoutTests,
		}, withoutTests)
		g.skipPostRenderers = true
		return g, nil
	}
	kustomizations, err := kustomize.New(nil, kustomize.Options{LegacyOrder: o.Raw})
	if err != nil {
		return nil, fmt.Errorf("kustomize: %w", err)
	}
	templates, err := gotemplate.New(nil, gotemplate.Options{})
	if err != nil {
		return nil, fmt.Errorf("gotemplate: %w", err)
	}
	functions := isolate.Outside(outsideFunction, newFunctions(o.FunctionCalls))
	if o.RefuseFunctions {
		functions = withoutFunctions
	}
	g := newGenerator(map[generator.Engine]generator.Generator{
		generator.EngineHelm:       charts,
		generator.EngineKustomize:  kustomizations,
		generator.EngineGoTemplate: templates,
	}, functions)
	g.locate = o.Locate
	return g, nil
}

// withoutFunctions refuses Components with a function.
var withoutFunctions = generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
	return nil, errors.New("spec.function: functions are not called here")
})

// withOptions returns the engine with the options of a component with spec.helm. Engines for other sources have no
// options.
func withOptions(engine generator.Generator, options v1alpha1.HelmOptions) (generator.Generator, error) {
	charts, ok := engine.(*helm.Generator)
	if !ok {
		return engine, nil
	}
	tuned, err := charts.With(func(o *helm.Options) {
		o.SkipCRDs = o.SkipCRDs || options.SkipCRDs
		o.SkipSchema = o.SkipSchema || options.SkipSchema
		o.Sequencing = o.Sequencing || options.Sequencing
		if options.HookTimeout != nil {
			o.HookTimeout = options.HookTimeout.Duration
		}
	})
	if err != nil {
		return nil, fmt.Errorf("spec.helm.hookTimeout: %w", err)
	}
	return tuned, nil
}

// withoutTests refuses sources that have no tests.
var withoutTests = generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
	return nil, errors.New("only charts have tests, and the source of this component is no chart")
})
