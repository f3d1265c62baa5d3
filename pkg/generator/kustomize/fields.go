package kustomize

import (
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// kustomization is a kustomization file.
type kustomization struct {
	types.Kustomization
	old oldFields
}

// oldFields are deprecated fields that kustomize reads and does not convert.
type oldFields struct {
	// PatchesStrategicMerge are files, or texts of patches.
	PatchesStrategicMerge []string `json:"patchesStrategicMerge"`
	PatchesJSON6902       []struct {
		Path string `json:"path"`
	} `json:"patchesJson6902"`
}

// readKustomization reads a kustomization file as kustomize does.
func readKustomization(text []byte) (kustomization, error) {
	var k kustomization
	if err := k.Unmarshal(text); err != nil {
		return k, err
	}
	k.FixKustomization()
	return k, yaml.Unmarshal(text, &k.old)
}

// filePaths returns the entries that refer to a file, by field.
func (k kustomization) filePaths() map[string][]string {
	paths := map[string][]string{
		"crds":           k.Crds,
		"configurations": k.Configurations,
	}
	add := func(field, entry string) {
		if entry != "" {
			paths[field] = append(paths[field], entry)
		}
	}
	add("openapi", k.OpenAPI["path"])
	for _, patch := range k.Patches {
		add("patches", patch.Path)
	}
	for _, patch := range k.old.PatchesJSON6902 {
		add("patchesJson6902", patch.Path)
	}
	for _, replacement := range k.Replacements {
		add("replacements", replacement.Path)
	}
	for _, args := range k.generators() {
		for _, entry := range args.EnvSources {
			add("envs", entry)
		}
		for _, entry := range args.FileSources {
			add("files", sourceOfFile(entry))
		}
	}
	return paths
}

// generators returns the common part of the generators of ConfigMaps and Secrets.
func (k kustomization) generators() []types.GeneratorArgs {
	generators := make([]types.GeneratorArgs, 0, len(k.ConfigMapGenerator)+len(k.SecretGenerator))
	for _, configMap := range k.ConfigMapGenerator {
		generators = append(generators, configMap.GeneratorArgs)
	}
	for _, secret := range k.SecretGenerator {
		generators = append(generators, secret.GeneratorArgs)
	}
	return generators
}

// sourceOfFile returns the path in an entry of files, which is key=path or path.
func sourceOfFile(entry string) string {
	if _, source, found := strings.Cut(entry, "="); found {
		return source
	}
	return entry
}

// field is a field with entries that name files or folders.
type field struct {
	name    string
	entries []string
}

// folders returns the fields whose entries may be folders with a kustomization.
func (k kustomization) folders() []field {
	return []field{{"resources", k.Resources}, {"components", k.Components}}
}

// plugins returns the fields whose entries configure plugins.
func (k kustomization) plugins() []field {
	return []field{{"generators", k.Generators}, {"transformers", k.Transformers}, {"validators", k.Validators}}
}

// helmFields returns the fields that make kustomize run helm.
func (k kustomization) helmFields() []string {
	var fields []string
	if len(k.HelmCharts) > 0 {
		fields = append(fields, "helmCharts")
	}
	if len(k.HelmChartInflationGenerator) > 0 {
		fields = append(fields, "helmChartInflationGenerator")
	}
	return fields
}
