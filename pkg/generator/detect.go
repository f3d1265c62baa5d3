package generator

import (
	"errors"
	"fmt"
	"io/fs"
)

// Engine is the name of an engine for manifests in a folder.
type Engine string

// The engines. Each has a package of its own, so that a program only has the dependencies of the engines it uses.
const (
	EngineHelm       Engine = "Helm"
	EngineKustomize  Engine = "Kustomize"
	EngineGoTemplate Engine = "GoTemplate"
)

// marks are the files that identify an engine. kustomize accepts three names; a template of such a file may have any
// other.
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
