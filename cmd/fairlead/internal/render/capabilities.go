package render

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Capabilities returns capabilities without a request to a cluster. The Kubernetes version is kubeVersion, such as 1.36
// or v1.36.3. If kubeVersion is empty, each engine uses its own default. The API versions are the built-in ones and the
// items of more, each in the form group/version or group/version/Kind.
func Capabilities(kubeVersion string, more []string) (generator.Capabilities, error) {
	c := generator.Capabilities{APIVersions: generator.NewAPIVersions(append(builtin.Served(), more...)...)}
	if kubeVersion == "" {
		return c, nil
	}
	parsed, err := version.ParseGeneric(kubeVersion)
	if err != nil {
		return c, fmt.Errorf("want a version such as 1.36 or v1.36.3: %w", err)
	}
	c.Version.GitVersion = "v" + parsed.String()
	c.Version.Major = strconv.FormatUint(uint64(parsed.Major()), 10)
	c.Version.Minor = strconv.FormatUint(uint64(parsed.Minor()), 10)
	return c, nil
}
