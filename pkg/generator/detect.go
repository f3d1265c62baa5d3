package generator

import (
	"errors"
	"fmt"
	"io/fs"
)

// Engine is the name of a rendering engine: Helm, Kustomize or GoTemplate.
type Engine string

// The engines. Each engine has its own package, so that a program has only the dependencies of the engines that it
// uses.
const (
	EngineHelm       Engine = "Helm"
	EngineKustomize  Engine = "Kustomize"
	EngineGoTemplate Engine = "GoTemplate"
)

// marks are the files whose presence selects an engine. kustomize accepts three names for a kustomization. A
// kustomization that is rendered from a template is recognised by the configuration file of the templates.
var marks = []struct {
	file   string
	engine Engine
}{
	{"Chart.yaml", EngineHelm},
	{"kustomization.yaml", EngineKustomize},
	{"kustomization.yml", EngineKustomize},
	{"Kustomization", EngineKustomize},
	{".fairlead-kustomize.yaml", EngineKustomize},
}

// Detect returns the engine for a folder. A Chart.yaml at its top selects Helm. A kustomization file, or the
// configuration of its templates, selects Kustomize. Templates and plain manifests select GoTemplate. A Chart.yaml
// takes precedence.
func Detect(source fs.FS) (Engine, error) {
	for _, mark := range marks {
		info, err := fs.Stat(source, mark.file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", fmt.Errorf("detect the engine: %w", err)
		case !info.IsDir():
			return mark.engine, nil
		}
	}
	return EngineGoTemplate, nil
}
