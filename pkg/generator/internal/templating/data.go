package templating

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// dataOf returns the data that templates are executed with.
func dataOf(req generator.Request, values map[string]any) map[string]any {
	return map[string]any{
		"Values":    values,
		"Name":      req.Name,
		"Namespace": req.Namespace,
		"Revision":  req.Revision,
		"Digest":    req.Digest,
		"Capabilities": &capabilities{
			KubeVersion: kubeVersionOf(req.Capabilities), ServedVersions: NewServedVersions(req.Capabilities.APIVersions),
		},
	}
}

// ValuesOf returns a copy of defaults with parameters merged into it: maps are merged, all other values are replaced,
// and a null in parameters removes the default.
func ValuesOf(parameters, defaults map[string]any) map[string]any {
	return overlaid(rendering.CopyValues(defaults, nil), rendering.CopyValues(parameters, nil))
}

func overlaid(base, over map[string]any) map[string]any {
	for key, value := range over {
		below, hasDefault := base[key]
		inner, isMap := value.(map[string]any)
		defaults, mergeable := below.(map[string]any)
		switch {
		case hasDefault && value == nil:
			delete(base, key)
		case isMap && mergeable:
			base[key] = overlaid(defaults, inner)
		default:
			base[key] = value
		}
	}
	return base
}

// kubeVersion is the Kubernetes version of the target cluster, as templates see it.
type kubeVersion struct{ Version, Major, Minor string }

// String returns the full version.
func (v kubeVersion) String() string { return v.Version }

func kubeVersionOf(target generator.Capabilities) kubeVersion {
	return kubeVersion{Version: target.Version.GitVersion, Major: target.Version.Major, Minor: target.Version.Minor}
}

// apiResources returns the kinds that the target serves, in order.
func apiResources(target generator.Capabilities) []any {
	var resources []any
	for _, served := range target.APIVersions.All() {
		parts := strings.Split(served, "/")
		kind := parts[len(parts)-1]
		if len(parts) == 1 || kind == "" || strings.ToUpper(kind[:1]) != kind[:1] {
			// This entry is a group and version without a kind.
			continue
		}
		version, group := parts[len(parts)-2], ""
		if len(parts) > 2 {
			group = parts[0]
		}
		resources = append(resources, map[string]any{
			"apiVersion": strings.TrimSuffix(served, "/"+kind), "group": group, "version": version, "kind": kind,
		})
	}
	return resources
}

// sortedKeys and sortedValues replace the functions keys and values of sprig, whose order is random.
func sortedKeys(dicts ...map[string]any) []string {
	var keys []string
	for _, dict := range dicts {
		keys = append(keys, slices.Sorted(maps.Keys(dict))...)
	}
	return keys
}

func sortedValues(dict map[string]any) []any {
	values := make([]any, 0, len(dict))
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		values = append(values, dict[key])
	}
	return values
}
