package operator

import (
	"context"
	"fmt"
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// componentGenerator renders Components. It reads source and values, and passes them to an engine.
type componentGenerator struct {
	engines  map[generator.Engine]generator.Generator
	archives *archiveCache
	// functions renders Components without a source.
	functions generator.Generator
	// skipPostRenderers leaves the output of the engines as it is.
	skipPostRenderers bool
	// locate receives the source files of the objects; see RenderOptions.
	locate func(files fs.FS, o generator.Origin)
}

var (
	_ generator.Generator = (*componentGenerator)(nil)
	_ generator.Versioner = (*componentGenerator)(nil)
	_ generator.Prover    = (*componentGenerator)(nil)
)

// newGenerator returns a generator for Components. The engines must render the source of each request.
func newGenerator(engines map[generator.Engine]generator.Generator, functions generator.Generator) *componentGenerator {
	return &componentGenerator{engines: engines, archives: newArchiveCache(), functions: functions}
}

// renderingVersion must be raised if a release renders other objects from the same inputs, for instance because an
// engine was updated.
const renderingVersion = "2"

// Version implements generator.Versioner. The version is an input of each rendering, so all components are rendered
// again when it changes.
func (g *componentGenerator) Version() string { return renderingVersion }

// Generate renders req.Component, which must be a Component. If req.Source is set, it is the source. Errors name the
// field of the spec, the object and the key, and the file and the line. They never contain contents of a Secret.
func (g *componentGenerator) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, _, err := g.Prove(ctx, req)
	return objects, err
}

// Prove implements generator.Prover. It renders like Generate.
func (g *componentGenerator) Prove(
	ctx context.Context, req generator.Request,
) (objects []client.Object, proven bool, err error) {
	engine, req, err := g.prepare(ctx, req)
	if err != nil {
		return nil, false, err
	}
	objects, proven, err = generator.Prove(ctx, engine, req)
	return objects, proven, explained(err, req)
}

// prepare returns the engine that renders a Component, and the request for that engine.
func (g *componentGenerator) prepare(
	ctx context.Context, req generator.Request,
) (generator.Generator, generator.Request, error) {
	component, ok := req.Component.(*v1alpha1.Component)
	if !ok {
		return nil, req, fmt.Errorf("%T is not a Component", req.Component)
	}
	inputs, err := inputValues(ctx, component, req)
	if err != nil {
		return nil, req, err
	}
	values, err := valuesOf(component, req.References, inputs, func(text string) {
		req.Tell(generator.Result{Severity: generator.SeverityWarning, Message: text})
	})
	if err != nil {
		return nil, req, err
	}
	engine, folder, err := g.engineFor(component, req)
	if err != nil {
		return nil, req, err
	}
	var transformers []generator.Transformer
	if !g.skipPostRenderers {
		if transformers, err = postRenderers(component); err != nil {
			return nil, req, err
		}
	}
	req.Source, req.SourceDigest, req.Parameters = folder.files, folder.digest, values
	if g.locate != nil {
		req.Locate = func(o generator.Origin) { g.locate(folder.files, o) }
	}
	return generator.Chain(engine, transformers...), req, nil
}

// explained adds a hint to an error of an engine, and redacts texts from Secrets.
func explained(err error, req generator.Request) error {
	component, ok := req.Component.(*v1alpha1.Component)
	if err == nil || !ok {
		return err
	}
	return misplaced(redact(err, secretTexts(component, req.References)), component, req.Source)
}

// engineFor returns the engine of a Component, and the folder that it renders.
func (g *componentGenerator) engineFor(
	component *v1alpha1.Component, req generator.Request,
) (generator.Generator, folder, error) {
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
	switch {
	case component.Spec.Helm != nil:
		engine, err = withOptions(engine, *component.Spec.Helm)
	case name == generator.EngineKustomize:
		source, err = source.withSurroundings()
	}
	return engine, source, err
}

func engineName(component *v1alpha1.Component, folder folder) (generator.Engine, error) {
	name := generator.Engine(component.Spec.Generator)
	if name == "" {
		detected, err := generator.Detect(folder.files)
		if err != nil {
			return "", fmt.Errorf("spec.generator: %w", err)
		}
		name = detected
	}
	if component.Spec.Helm != nil && name != generator.EngineHelm {
		return "", fmt.Errorf("spec.helm is for charts, but the source is rendered by %s: remove spec.helm, or set "+
			"spec.path to the folder of a chart", name)
	}
	return name, nil
}
