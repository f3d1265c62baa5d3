package operator

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

// engineHelmWithoutCRDs renders charts of which spec.helm.skipCRDs leaves out the folders crds.
const engineHelmWithoutCRDs generator.Engine = "HelmWithoutCRDs"

// RenderOptions say what a generator returns. The zero value is what the reconciler applies.
type RenderOptions struct {
	// Raw returns what the engine's own command line prints: hooks are left as they are, and no settings are written.
	Raw bool
	// SkipCRDs leaves out the folders crds of charts, whatever the Component says.
	SkipCRDs bool
	// FunctionCalls bounds how many functions are called at once; function.DefaultMaxCalls where it is zero.
	FunctionCalls int
}

// NewGenerator returns the generator of the ready-made operator, which renders a Component with the engine that fits its source, or with
// its function.
func NewGenerator(o RenderOptions) (generator.Generator, error) {
	charts, err := helm.New(nil, helm.Options{AnnotationPrefix: ReconcilerName, Raw: o.Raw, SkipCRDs: o.SkipCRDs})
	if err != nil {
		return nil, fmt.Errorf("helm: %w", err)
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
