package helm

import (
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

// defaultKubeVersion is the Kubernetes version for charts if the version of the target is unknown. It is the version of
// the client libraries of this module.
const defaultKubeVersion = "v1.37.0"

// valuesOf copies parameters as Helm decodes a values file: every number is a float64. Charts compare values with their
// defaults, and the template engine does not compare integers with floats.
func valuesOf(parameters map[string]any) map[string]any {
	return rendering.CopyValues(parameters, func(whole int64) any { return float64(whole) })
}

// capabilitiesOf returns the capabilities of the target for charts. Unknown fields have Helm's defaults.
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
		// The suffix of a distribution, such as -gke.1, is kept for charts.
		capabilities.KubeVersion.Version = target.Version.GitVersion
	}
	if len(target.APIVersions) > 0 {
		capabilities.APIVersions = target.APIVersions
	}
	return capabilities
}
