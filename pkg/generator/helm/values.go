package helm

import (
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// defaultKubeVersion is the Kubernetes version for charts if the version of the target is unknown. It is the version of
// the client libraries of this module.
const defaultKubeVersion = "v1.37.0"

// exponentFrom is the smallest whole number that the template engine prints with an exponent if it is a float64.
const exponentFrom = 1_000_000

// valuesOf copies parameters. Helm has a float64 for each number of a values file and an int64 for each whole number of
// --set; a component does not tell them apart. A number below exponentFrom becomes a float64, because charts compare
// values with their defaults, which come from a file, and the template engine does not compare integers with floats. A
// larger whole number stays an int64, so that it is printed with all its digits, as by helm --set.
func valuesOf(parameters map[string]any) map[string]any {
	return rendering.CopyValues(parameters, func(whole int64) any {
		if whole >= exponentFrom || whole <= -exponentFrom {
			return whole
		}
		return float64(whole)
	})
}

// capabilities are the capabilities of the target, as templates see them.
type capabilities struct {
	*chartutil.Capabilities
	served templating.ServedVersions
}

// APIVersions returns all API versions. It hides the field of Helm's type.
func (c *capabilities) APIVersions() templating.VersionSet { return c.served.APIVersions() }

// HasAPIVersion reports whether an API version is served; see templating.ServedVersions.
func (c *capabilities) HasAPIVersion(version string) bool { return c.served.HasAPIVersion(version) }

// plain returns the capabilities as Helm's type.
func (c *capabilities) plain() *chartutil.Capabilities {
	plain := c.Copy()
	plain.APIVersions = chartutil.VersionSet(c.APIVersions())
	return plain
}

// MarshalJSON implements json.Marshaler, for functions such as toYaml.
func (c *capabilities) MarshalJSON() ([]byte, error) { return json.Marshal(c.plain()) }

// String implements fmt.Stringer.
func (c *capabilities) String() string { return fmt.Sprint(c.plain()) }

// forTemplates returns the capabilities of the target in the form that notes which API versions the templates ask for.
// If the API versions of the target are not known, the templates get Helm's defaults.
func forTemplates(known *chartutil.Capabilities, target generator.Capabilities) *capabilities {
	served := target.APIVersions
	if served.IsEmpty() {
		served = generator.NewAPIVersions(known.APIVersions...)
	}
	return &capabilities{Capabilities: known, served: templating.NewServedVersions(served)}
}

// capabilitiesOf returns the capabilities of the target for Helm's library. The API versions are Helm's defaults,
// because the library does not use them. Unknown fields have Helm's defaults.
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
	return capabilities
}
