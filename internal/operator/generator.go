package operator

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// componentGenerator renders Components: it reads source and values as the spec says, and leaves the rest to an engine.
type componentGenerator struct {
	engines  map[generator.Engine]generator.Generator
	archives *archiveCache
	// functions renders components that have no source, but a service.
	functions generator.Generator
}

var (
	_ generator.Generator = (*componentGenerator)(nil)
	_ generator.Versioner = (*componentGenerator)(nil)
)

// newGenerator returns a generator for Components. The engines must render the source of each request.
func newGenerator(engines map[generator.Engine]generator.Generator, functions generator.Generator) generator.Generator {
	return &componentGenerator{engines: engines, archives: newArchiveCache(), functions: functions}
}

// renderingVersion is raised when a release renders other objects from the same inputs; an update of an engine may be the reason.
const renderingVersion = "1"

// Version makes a new rendering a change of the inputs.
func (g *componentGenerator) Version() string { return renderingVersion }

// Generate renders req.Component, which must be a Component, from req.Source where there is one. Errors name the field of the spec, the object and the key, the file, and the
// line where there is one; they quote nothing of a Secret.
func (g *componentGenerator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	component, ok := req.Component.(*v1alpha1.Component)
	if !ok {
		return nil, fmt.Errorf("%T is not a Component", req.Component)
	}
	values, err := valuesOf(component, req.References)
	if err != nil {
		return nil, err
	}
	engine, folder, err := g.engineFor(component, req)
	if err != nil {
		return nil, err
	}
	transformers, err := postRenderers(component)
	if err != nil {
		return nil, err
	}
	req.Source, req.SourceDigest, req.Parameters = folder.files, folder.digest, values
	objects, err := generator.Chain(engine, transformers...).Generate(ctx, req)
	if err != nil {
		return nil, redact(err, secretTexts(component, req.References))
	}
	return objects, nil
}

// engineFor returns the engine of a component, and the folder that it renders.
func (g *componentGenerator) engineFor(component *v1alpha1.Component, req generator.Request) (generator.Generator, folder, error) {
	if generator.Engine(component.Spec.Generator) == engineFunction {
		return g.functions, folder{}, nil
	}
	source, err := g.archives.folderFor(component, req.References, req.Source)
	if err != nil {
		return nil, folder{}, err
	}
	name, err := engineName(component, source)
	if err != nil {
		return nil, folder{}, err
	}
	engine, ok := g.engines[name]
	if !ok {
		return nil, folder{}, fmt.Errorf("spec.generator: this operator has no engine %q", name)
	}
	if name == generator.EngineKustomize {
		source, err = source.withSurroundings()
	}
	return engine, source, err
}

func engineName(component *v1alpha1.Component, folder folder) (generator.Engine, error) {
	if component.Spec.Generator != "" {
		return generator.Engine(component.Spec.Generator), nil
	}
	detected, err := generator.Detect(folder.files)
	if err != nil {
		return "", fmt.Errorf("spec.generator: %w", err)
	}
	return detected, nil
}
