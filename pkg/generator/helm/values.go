package helm

import (
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// defaultKubeVersion is what charts see where the target's version is not known. It is the version of the client libraries that this module
// is built with.
const defaultKubeVersion = "v1.37.0"

// valuesOf copies parameters as Helm reads a values file: every number is floating point. Charts compare values with their defaults, and the
// template engine does not compare integers with floating point numbers.
func valuesOf(parameters map[string]any) map[string]any {
	return rendering.CopyValues(parameters, func(whole int64) any { return float64(whole) })
}

// capabilitiesOf describes the target to charts. What is not known gets Helm's defaults.
func capabilitiesOf(target generator.Capabilities) *chartutil.Capabilities {
	capabilities := chartutil.DefaultCapabilities.Copy()
	version := target.Version.GitVersion
	if version == "" {
		version = defaultKubeVersion
	}
	if parsed, err := chartutil.ParseKubeVersion(version); err == nil {
		capabilities.KubeVersion = *parsed
	}
	if target.Version.GitVersion != "" {
		// A distribution's suffix, such as -gke.1, stays visible to charts.
		capabilities.KubeVersion.Version = target.Version.GitVersion
	}
	if len(target.APIVersions) > 0 {
		capabilities.APIVersions = target.APIVersions
	}
	return capabilities
}
