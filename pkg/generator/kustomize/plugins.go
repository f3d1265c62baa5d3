package kustomize

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
)

// plugin validates an entry of the fields generators, transformers or validators. An entry is a plugin configuration,
// or a file with configurations. kustomize also accepts a folder, but a folder is an error here: its configurations
// exist only after a build, so they cannot be validated before.
func (r *references) plugin(file, field, entry string) {
	configurations, err := parseConfigurations([]byte(entry))
	if err == nil {
		r.configurations(file, field, configurations)
		return
	}
	target, ok := r.resolve(file, field, entry)
	if !ok {
		return
	}
	if !r.tree.isFile(target) {
		const advice = "write the configuration here or in a file; folders of configurations are not supported"
		r.errs = append(
			r.errs,
			fmt.Errorf(
				"%s: %s: %q is neither a plugin configuration nor a file with plugin configurations: %s",
				file,
				field,
				entry,
				advice,
			),
		)
		return
	}
	content, err := r.tree.read(target)
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	if configurations, err = parseConfigurations(content); err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", target, err))
		return
	}
	// A path in a configuration is relative to the kustomization file that uses it.
	r.configurations(file, field, configurations)
}

// parseConfigurations decodes configurations as kustomize does.
func parseConfigurations(text []byte) ([]*resource.Resource, error) {
	resources, err := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes(text)
	if err != nil {
		return nil, err
	}
	return resources.Resources(), nil
}

func (r *references) configurations(file, field string, configurations []*resource.Resource) {
	for _, configuration := range configurations {
		gvk := configuration.GetGvk()
		name := fmt.Sprintf("%s: %s %s", field, configuration.GetKind(), configuration.GetName())
		switch {
		case gvk.Group != "" || gvk.Version != konfig.BuiltinPluginApiVersion:
			r.errs = append(
				r.errs,
				fmt.Errorf(
					"%s: %s is a plugin that runs a program or a container, which is not supported: only plugins with apiVersion %s "+
						"are",
					file,
					name,
					konfig.BuiltinPluginApiVersion,
				),
			)
		case gvk.Kind == "HelmChartInflationGenerator":
			r.errs = append(
				r.errs,
				fmt.Errorf(
					"%s: %s runs helm, which is not supported: render the chart with the Helm engine",
					file,
					name,
				),
			)
		default:
			fields, err := configuration.Map()
			if err != nil {
				r.errs = append(r.errs, fmt.Errorf("%s: %s: %w", file, name, err))
				continue
			}
			r.pathsIn(file, name, fields)
			r.patchIn(file, fields)
			r.fieldPathsIn(file, name, fields)
		}
	}
}

// pathsIn validates the fields of a plugin configuration that may contain paths of files. In some plugins the same
// fields contain paths of object fields, so only remote entries are errors. kustomize itself prevents local paths from
// leaving the source.
func (r *references) pathsIn(file, name string, fields any) {
	switch fields := fields.(type) {
	case map[string]any:
		for key, field := range fields {
			switch strings.ToLower(key) {
			case "path", "paths", "env", "envs", "files", "targetfilepath":
				for _, entry := range stringsIn(field) {
					r.local(file, name+"."+key, sourceOfFile(entry))
				}
			default:
				r.pathsIn(file, name, field)
			}
		}
	case []any:
		for _, element := range fields {
			r.pathsIn(file, name, element)
		}
	}
}

// stringsIn returns a string, or the strings in a list.
func stringsIn(field any) []string {
	switch field := field.(type) {
	case string:
		return []string{field}
	case []any:
		var texts []string
		for _, element := range field {
			texts = append(texts, stringsIn(element)...)
		}
		return texts
	default:
		return nil
	}
}

// patchIn counts the operations copy of the patch in the configuration of a plugin that patches objects.
func (r *references) patchIn(file string, fields map[string]any) {
	for _, key := range []string{"patch", "jsonOp", "path"} {
		text, _ := fields[key].(string)
		content := []byte(text)
		if key == "path" && text != "" {
			// Other plugins have paths of fields here. kustomize reports a file that cannot be read.
			content, _ = r.tree.read(path.Join(path.Dir(file), text))
		}
		r.tree.copies[file] += copiesIn(content)
	}
}
