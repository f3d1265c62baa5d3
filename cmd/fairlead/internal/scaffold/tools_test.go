package scaffold

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// required returns the version of a module that a go.mod of this checkout requires.
func required(t *testing.T, file, module string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse(file, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if module == "go" {
		return parsed.Go.Version
	}
	for _, requirement := range parsed.Require {
		if requirement.Mod.Path == module {
			return requirement.Mod.Version
		}
	}
	t.Fatalf("%s does not require %s", file, module)
	return ""
}

func TestProjectsAreBuiltWithTheToolsOfThisCheckout(t *testing.T) {
	const own, forTools, cluster = "../../../../go.mod", "../../../../test/tools/go.mod",
		"../../../../test/devcluster/go.mod"
	if want := required(t, own, "go"); tools.Go != want || !strings.HasPrefix(want, tools.GoMinor+".") {
		t.Errorf("new projects use Go %s and %s, want %s", tools.Go, tools.GoMinor, want)
	}
	if want := required(t, forTools, "sigs.k8s.io/controller-tools"); tools.ControllerGen != want {
		t.Errorf("new projects use controller-gen %s, want %s", tools.ControllerGen, want)
	}
	if want := required(t, forTools, "github.com/golangci/golangci-lint/v2"); tools.GolangciLint != want {
		t.Errorf("new projects use golangci-lint %s, want %s", tools.GolangciLint, want)
	}
	if runtime := required(t, own, "sigs.k8s.io/controller-runtime"); !strings.HasPrefix(runtime,
		"v"+strings.TrimPrefix(tools.SetupEnvtest, "release-")+".") {
		t.Errorf("new projects use setup-envtest %s, want the release of controller-runtime %s", tools.SetupEnvtest, runtime)
	}
	if version := required(t, cluster, "k8s.io/kubernetes"); !strings.HasPrefix(version, "v"+tools.Kubernetes+".") {
		t.Errorf("new projects use Kubernetes %s, want the version %s of the dev cluster", tools.Kubernetes, version)
	}
}
