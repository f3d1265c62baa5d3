package imports

// reserved are packages that few packages may import.
type reserved struct {
	path, why string
	// by are the packages that may import it, and tests the packages whose tests may do so, too.
	by, tests string
}

// reservations contains the reserved packages. The patterns are those of the rooms; the pattern ... matches all
// packages.
var reservations = []reserved{
	{
		"helm.sh/helm/...", "only pkg/generator/helm carries Helm; the command line reads --set with Helm's own parser, and " +
			"the names of values in packed charts",
		"pkg/generator/helm cmd/fairlead/internal/values cmd/fairlead/internal/unread", "",
	},
	{
		"sigs.k8s.io/kustomize/...", "only pkg/generator/kustomize carries kustomize; the tests of functions serve one that " +
			"is written with its library",
		"pkg/generator/kustomize", "pkg/generator/function",
	},
	{
		"github.com/google/cel-go/...", "only pkg/generator/cel and internal/expression carry CEL",
		"pkg/generator/cel internal/expression", "",
	},
	{
		"k8s.io/client-go/discovery/...", "an operator reads what an API server serves in one package",
		"pkg/component/internal/discovery internal/operator cmd/... test/...", "...",
	},
	{
		"math/rand/...", "the random part of a time comes from internal/backoff, whose calls say the earliest and the latest",
		"internal/backoff pkg/component/componenttest test/...", "...",
	},
	{
		"pkg/component/internal/reconcile", "only a reconciler and its preview make passes",
		"pkg/component pkg/component/preview pkg/component/internal/preview", "...",
	},
	{
		"pkg/component/internal/preview", "only component and its preview simulate passes",
		"pkg/component pkg/component/preview", "...",
	},
	{
		`internal/fuzzing pkg/component/componenttest pkg/component/external/externaltest
			pkg/component/internal/apiservertest pkg/component/internal/eventsources/eventsourcestest
			pkg/component/internal/records/secretstest pkg/generator/generatortest pkg/generator/internal/versus`,
		"tests use the kits for tests", "", "...",
	},
	{
		"github.com/spf13/cobra/...", "only cli and completion know the command line",
		"cmd/fairlead/internal/cli/... cmd/fairlead/internal/completion test/devcluster/...", "...",
	},
	{
		"cmd/fairlead/internal/cli/...", "commands call the packages that do their work, never the other way round",
		"cmd/fairlead cmd/fairlead/internal/cli/...", "...",
	},
	{"cmd/...", "programs use the library", "cmd/... test/...", "..."},
	{"test/...", "tests use the library", "test/...", "..."},
	{"github.com/pkg/errors", "wrap with fmt.Errorf and %w", "", ""},
}
