package generator

import (
	"errors"
	"fmt"
	"io/fs"
)

// Engine names one of the engines for manifests in a folder.
type Engine string

// The engines. Each has a package of its own, so that who does not use one does not carry its dependencies.
const (
	EngineHelm       Engine = "Helm"
	EngineKustomize  Engine = "Kustomize"
	EngineGoTemplate Engine = "GoTemplate"
)

// marks are the files that tell an engine. kustomize knows three names; a template of such a file may have any other.
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

// Detect returns the engine that fits a folder: a Chart.yaml at its top means Helm; a kustomization file, or the configuration of its
// templates, means Kustomize; templates, and plain manifests, which are templates without actions, mean GoTemplate. A Chart.yaml wins.
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
