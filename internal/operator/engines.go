package operator

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

// engineHelmWithoutCRDs renders the charts of components with spec.helm.skipCRDs.
const engineHelmWithoutCRDs generator.Engine = "HelmWithoutCRDs"

// RenderOptions configure the output of a generator. The zero value renders what the reconciler applies.
type RenderOptions struct {
	// Raw renders the same output as the engine's own command, such as helm template: hooks stay unchanged, and no
	// settings are added.
	Raw bool
	// SkipCRDs leaves out the objects in the crds folders of charts, for every Component.
	SkipCRDs bool
	// Tests renders the tests of charts instead of their other objects, without post-renderers, as Helm does. Components
	// with other sources are refused.
	Tests bool
	// FunctionCalls is the maximum number of concurrent calls of functions. Zero means function.DefaultMaxCalls.
	FunctionCalls int
}

// NewGenerator returns the generator of the ready-made operator. It renders a Component with the engine for its source,
// or with its function.
func NewGenerator(o RenderOptions) (generator.Generator, error) {
	charts, err := helm.New(nil, helm.Options{
		AnnotationPrefix: ReconcilerName, Raw: o.Raw, SkipCRDs: o.SkipCRDs, Tests: o.Tests,
	})
	if err != nil {
		return nil, fmt.Errorf("helm: %w", err)
	}
	if o.Tests {
		g := newGenerator(map[generator.Engine]generator.Generator{
			generator.EngineHelm: charts, engineHelmWithoutCRDs: charts,
			generator.EngineKustomize: withoutTests, generator.EngineGoTemplate: withoutTests,
		}, withoutTests)
		g.skipPostRenderers = true
		return g, nil
	}
	withoutCRDs, err := helm.New(nil, helm.Options{AnnotationPrefix: ReconcilerName, Raw: o.Raw, SkipCRDs: true})
	if err != nil {
		return nil, fmt.Errorf("helm: %w", err)
	}
	kustomizations, err := kustomize.New(nil, kustomize.Options{})
	if err != nil {
		return nil, fmt.Errorf("kustomize: %w", err)
	}
	templates, err := gotemplate.New(nil, gotemplate.Options{})
	if err != nil {
		return nil, fmt.Errorf("gotemplate: %w", err)
	}
	return newGenerator(map[generator.Engine]generator.Generator{
		generator.EngineHelm:       charts,
		engineHelmWithoutCRDs:      withoutCRDs,
		generator.EngineKustomize:  kustomizations,
		generator.EngineGoTemplate: templates,
	}, newFunctions(o.FunctionCalls)), nil
}

// withoutTests refuses sources that have no tests.
var withoutTests = generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
	return nil, errors.New("only charts have tests, and the source of this component is no chart")
})
