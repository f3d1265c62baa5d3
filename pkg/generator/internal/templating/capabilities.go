package templating

import (
	"encoding/json"
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// capabilities are the capabilities of the target cluster, as templates see them.
type capabilities struct {
	KubeVersion kubeVersion
	ServedVersions
}

// plain returns the capabilities as plain data.
func (c *capabilities) plain() map[string]any {
	return map[string]any{"KubeVersion": c.KubeVersion, "APIVersions": c.APIVersions()}
}

// MarshalJSON implements json.Marshaler, for functions such as toYaml.
func (c *capabilities) MarshalJSON() ([]byte, error) { return json.Marshal(c.plain()) }

// String implements fmt.Stringer.
func (c *capabilities) String() string { return fmt.Sprint(c.plain()) }

// ServedVersions contains the API versions that templates use as .Capabilities.APIVersions. It must be embedded in the
// value of .Capabilities. A template that calls only .Capabilities.APIVersions.Has depends only on the versions that it
// asks for; see generator.APIVersions.
type ServedVersions struct{ served generator.APIVersions }

// NewServedVersions returns the served API versions for templates.
func NewServedVersions(served generator.APIVersions) ServedVersions { return ServedVersions{served} }

// APIVersions returns all served API versions.
func (s ServedVersions) APIVersions() VersionSet { return s.served.All() }

// HasAPIVersion reports whether an API version is served. Parsed templates call it in place of APIVersions.Has; see
// askOne.
func (s ServedVersions) HasAPIVersion(version string) bool { return s.served.Has(version) }

// VersionSet is a set of API versions.
type VersionSet []string

// Has reports whether a group/version, or a group/version/Kind, is served.
func (v VersionSet) Has(version string) bool { return slices.Contains(v, version) }

// askOne replaces APIVersions.Has by HasAPIVersion at the end of a method that is called with an argument. Otherwise
// APIVersions would be evaluated first, and the rendering would depend on all API versions. Only the capabilities have
// such a method: a value in a map cannot be called.
func askOne(method parse.Node) {
	switch method := method.(type) {
	case *parse.FieldNode:
		method.Ident = withHasAPIVersion(method.Ident)
	case *parse.VariableNode:
		method.Ident = withHasAPIVersion(method.Ident)
	case *parse.ChainNode:
		method.Field = withHasAPIVersion(method.Field)
	}
}

func withHasAPIVersion(names []string) []string {
	at := len(names) - 2
	if at < 0 || !slices.Equal(names[at:], []string{"APIVersions", "Has"}) {
		return names
	}
	return append(slices.Clone(names[:at]), "HasAPIVersion")
}
