package imports

const (
	clients = "k8s.io/client-go/... sigs.k8s.io/controller-runtime/..."
	engines = "pkg/generator/cel/... pkg/generator/function/... pkg/generator/gotemplate/... pkg/generator/helm/... " +
		"pkg/generator/kustomize/..."
	// modules are all packages outside the standard library.
	modules = "modules"
)

// rooms contains a row for each package of api, pkg and internal. Each row stands below the rows of its imports.
var rooms = []room{
	// Leaves: they import no other package of the project.
	{
		"api/meta/v1alpha1", "clients of the types of the API get apimachinery and no other module",
		"k8s.io/apimachinery/...", modules,
	},
	{"internal/apitext", "texts of an API server", "", clients},
	{"internal/authorcode", "code of authors, which may panic", "", ""},
	{"internal/backoff", "delays", "", clients},
	{"internal/bounded", "texts of tenants, before they are decoded", "", ""},
	{"internal/budget", "memory", "", ""},
	{"internal/builtintypes", "tables about built-in types", "", clients},
	{"internal/digests", "JSON values", "", "k8s.io/..."},
	{"internal/due", "keys and times", "", clients},
	{"internal/fieldset", "sets of paths", "", clients},
	{"internal/fuzzing", "the kit of fuzz targets", "", ""},
	{"internal/jsontype", "the schema of a type", "", clients},
	{"internal/leader", "the Lease, and nothing of what a leader does", "", "sigs.k8s.io/controller-runtime/..."},
	{"internal/logging", "what a log line contains", "", ""},
	{"internal/objectmeta", "JSON values", "", clients},
	{"internal/plural", "words", "", ""},
	{"internal/reference", "pages that are generated from comments", "", ""},
	{"internal/turn", "turns", "", ""},
	{"internal/version", "a number", "", ""},
	{"internal/yamltext", "the text of a manifest", "", ""},
	{"pkg/component/internal/apiservertest", "a kit for tests", "", ""},
	{
		"pkg/component/internal/dependencies", "facts about components that it gets; it waits for nothing and reads nothing",
		"k8s.io/apimachinery/pkg/types k8s.io/apimachinery/pkg/util/resourceversion", modules + " context time",
	},
	{"pkg/component/internal/metrics", "numbers; no decision depends on them", "", ""},
	{"pkg/component/internal/ready", "one object", "", clients + " context"},
	{"pkg/component/internal/records/secretstest", "a kit for tests", "", ""},
	{"pkg/generator/internal/versus", "a comparison with other programs, for tests", "", ""},
	{
		"pkg/generator/isolate/internal/fair", "decisions about a line; it has no clock, no lock and no process",
		"", clients + " context os/... sync/...",
	},
	{"pkg/internal/hookorder", "a table of Helm", "", ""},
	{"pkg/internal/packed", "bytes of manifests", "", ""},
	{"pkg/addresses", "addresses of connections", "", modules},
	{"pkg/source", "archives", "", ""},

	// They import leaves only.
	{
		"api/v1alpha1", "clients of the types of the API get apimachinery and no other module",
		"k8s.io/apimachinery/... api/meta/v1alpha1", modules,
	},
	{"internal/expression", "expressions and their values", "internal/bounded", ""},
	{"internal/fieldpath", "paths in an object", "internal/fieldset", ""},
	{"internal/httpservice", "calls of services, and nothing of what is sent", "internal/bounded", ""},
	{
		"internal/validate/values", "values and a schema; its library of expressions asks for a context",
		"internal/bounded", "k8s.io/client-go/dynamic/... net net/http",
	},
	{
		"internal/notification", "Events that others make; it decides nothing",
		"api/meta/v1alpha1 internal/backoff internal/version pkg/addresses", "",
	},
	{"pkg/component/internal/rights", "one error", "internal/apitext", ""},
	{
		"pkg/component/internal/serverrules", "tables about built-in types",
		"internal/jsontype k8s.io/client-go/kubernetes/scheme", clients,
	},
	{"pkg/component/internal/transport", "HTTP requests and the budget", "internal/budget", ""},
	{
		"pkg/source/fetch", "an archive of a URL",
		"api/meta/v1alpha1 internal/budget pkg/addresses pkg/source", "",
	},

	// Manifests.
	{"internal/holes", "texts and expressions", "internal/expression", clients},
	{
		"pkg/manifests", "data and the decoder",
		"api/meta/v1alpha1 internal/bounded internal/expression internal/fieldpath internal/objectmeta internal/yamltext",
		clients,
	},

	// They read manifests.
	{"internal/depgraph", "a graph of manifests", "internal/builtintypes pkg/manifests", clients},
	{"internal/determinism", "two renderings", "pkg/manifests", clients},
	{"internal/marks", "labels and annotations", "internal/fieldpath internal/objectmeta pkg/manifests", clients},
	{"internal/typeset", "types of manifests", "pkg/manifests", clients},
	{
		"internal/validate", "a manifest and a schema; it waits for nothing",
		"api/meta/v1alpha1 internal/builtintypes internal/holes internal/validate/values pkg/manifests",
		"context k8s.io/client-go/dynamic/... net net/http",
	},
	{
		"internal/validate/builtin", "the schemas of built-in types",
		"pkg/manifests", "context k8s.io/client-go/dynamic/... net net/http",
	},
	{"pkg/component/result", "data that every package may import", "api/meta/v1alpha1 pkg/manifests", clients},
	{"pkg/generator", "the interface of generators, and no engine", "api/meta/v1alpha1 internal/bounded pkg/manifests", ""},
	{
		"pkg/internal/ordering", "orders of manifests",
		"api/meta/v1alpha1 internal/builtintypes pkg/internal/hookorder pkg/manifests", clients,
	},

	// Settings, externals, generators.
	{
		"internal/settingtext", "texts of settings",
		"api/meta/v1alpha1 internal/expression internal/fieldpath internal/marks pkg/manifests", clients,
	},
	{
		"pkg/component/external", "the interface of externals, and nothing of the reconciler",
		`api/meta/v1alpha1 internal/authorcode internal/backoff internal/bounded internal/httpservice internal/plural
			pkg/generator pkg/manifests`, "",
	},
	{
		"pkg/component/internal/discovery", "what an API server serves; it decides nothing",
		`internal/apitext internal/budget internal/builtintypes internal/digests internal/validate/values pkg/generator
			pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/inclusion", "conditions of a set",
		"api/meta/v1alpha1 internal/expression pkg/component/result pkg/manifests", clients,
	},
	{"pkg/generator/cel", "expressions that return manifests", "pkg/generator pkg/manifests", ""},
	{
		"pkg/generator/function", "programs and services that return manifests",
		`api/meta/v1alpha1 internal/authorcode internal/bounded internal/httpservice internal/plural pkg/generator
			pkg/manifests`, "",
	},
	{"pkg/generator/internal/rendering", "what the engines share", "internal/authorcode pkg/generator pkg/manifests", ""},
	{
		"pkg/generator/isolate", "renderings in child processes",
		`internal/authorcode internal/backoff internal/budget internal/turn pkg/generator
			pkg/generator/isolate/internal/fair pkg/manifests`, "",
	},
	{
		"pkg/internal/binding", "holes, and the values that it gets for them",
		`internal/builtintypes internal/depgraph internal/digests internal/expression internal/holes internal/marks
			internal/objectmeta pkg/manifests`,
		clients,
	},

	// Decisions, and sets of manifests.
	{
		"pkg/component/external/externaltest", "a kit for tests of externals",
		"api/meta/v1alpha1 pkg/component/external pkg/generator pkg/manifests", "",
	},
	{
		"pkg/component/internal/plan", "decisions from facts; it waits for nothing, reads nothing, logs nothing",
		`api/meta/v1alpha1 internal/backoff internal/builtintypes internal/depgraph internal/digests
			internal/settingtext internal/typeset pkg/component/internal/ready
			pkg/component/internal/serverrules pkg/component/result pkg/manifests`,
		clients + " context net/... os/... log/... github.com/go-logr/... k8s.io/klog/...",
	},
	{
		"pkg/generator/internal/templating", "Go templates",
		"internal/bounded internal/plural pkg/generator pkg/generator/internal/rendering", "",
	},
	{"pkg/generator/transform", "changes of rendered manifests", "internal/settingtext pkg/generator pkg/manifests", ""},
	{"pkg/internal/externalkinds", "the declared kinds of externals", "pkg/component/external", ""},
	{
		"pkg/manifests/normalise", "a set of manifests, and its checks",
		`api/meta/v1alpha1 internal/bounded internal/builtintypes internal/depgraph internal/digests internal/expression
			internal/fieldpath internal/holes internal/marks internal/objectmeta internal/settingtext internal/typeset
			pkg/internal/binding pkg/internal/ordering pkg/manifests`,
		clients,
	},

	// Engines, and what stands on decisions.
	{
		"pkg/component/internal/apierror", "an error goes in, a failure comes out",
		"internal/apitext pkg/component/internal/plan", clients,
	},
	{
		"pkg/component/internal/inspect", "live objects that it gets",
		`api/meta/v1alpha1 internal/authorcode internal/builtintypes internal/expression internal/fieldpath
			internal/fieldset internal/marks internal/settingtext pkg/component/internal/plan pkg/component/internal/ready
			pkg/component/internal/serverrules pkg/manifests`,
		clients,
	},
	{
		"pkg/component/internal/outcome", "data",
		"api/meta/v1alpha1 pkg/component/internal/plan pkg/component/result", clients,
	},
	{
		"pkg/component/internal/tracing", "spans; no decision depends on them",
		"pkg/component/internal/plan pkg/manifests", "",
	},
	{
		"pkg/generator/generatortest", "checks as a reconciler makes them, without a reconciler",
		`internal/authorcode internal/determinism internal/plural internal/settingtext internal/validate
			internal/validate/builtin pkg/component/external pkg/generator pkg/internal/externalkinds pkg/manifests
			pkg/manifests/normalise`,
		"",
	},
	{
		"pkg/generator/gotemplate", "an engine",
		"pkg/generator pkg/generator/internal/rendering pkg/generator/internal/templating pkg/manifests", "",
	},
	{
		"pkg/generator/helm", "an engine",
		`api/meta/v1alpha1 internal/bounded internal/plural internal/typeset internal/yamltext pkg/generator
			pkg/generator/internal/rendering pkg/generator/internal/templating pkg/internal/hookorder pkg/manifests`,
		"",
	},
	{
		"pkg/generator/kustomize", "an engine",
		`internal/authorcode internal/bounded internal/yamltext pkg/generator pkg/generator/internal/rendering
			pkg/generator/internal/templating pkg/manifests`,
		"",
	},

	// Reads and writes of objects.
	{
		"pkg/component/internal/execute", "writes; it shares the types of plan with observe",
		`api/meta/v1alpha1 internal/apitext internal/builtintypes internal/digests internal/fieldpath internal/fieldset
			internal/marks internal/settingtext pkg/component/internal/apierror pkg/component/internal/discovery
			pkg/component/internal/inspect pkg/component/internal/plan pkg/component/internal/rights
			pkg/component/internal/serverrules pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/observe", "watches; it shares the types of plan with execute",
		`internal/builtintypes internal/marks pkg/component/internal/inspect pkg/component/internal/plan
			pkg/component/internal/rights pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/passerror", "errors that every package may return",
		"api/meta/v1alpha1 pkg/component/internal/apierror pkg/component/internal/plan pkg/component/internal/rights",
		"k8s.io/client-go/...",
	},

	// Records, targets, the status.
	{
		"pkg/component/internal/components", "component objects, whatever is rendered, recorded or applied for them",
		`api/meta/v1alpha1 internal/authorcode internal/backoff internal/digests
			pkg/component/internal/inspect pkg/component/internal/passerror pkg/manifests`, "",
	},
	{
		"pkg/component/internal/records", "Secrets; their callers decide what is stored",
		`api/meta/v1alpha1 internal/apitext internal/bounded internal/budget internal/marks pkg/component/internal/observe
			pkg/component/internal/passerror pkg/component/internal/rights pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/schedule", "a state and the end of a pass go in, a delay comes out",
		`api/meta/v1alpha1 internal/backoff pkg/component/internal/outcome pkg/component/internal/passerror
			pkg/component/internal/plan pkg/component/result`,
		clients,
	},
	{
		"pkg/component/internal/status", "a status goes in, a status comes out",
		`api/meta/v1alpha1 pkg/component/internal/outcome pkg/component/internal/passerror pkg/component/internal/plan
			pkg/component/result pkg/generator pkg/manifests`,
		clients,
	},
	{
		"pkg/component/internal/target", "a cluster and an identity, whatever is rendered or applied",
		`api/meta/v1alpha1 internal/bounded internal/plural pkg/component/internal/discovery pkg/component/internal/execute
			pkg/component/internal/inspect pkg/component/internal/observe pkg/component/internal/passerror
			pkg/component/internal/transport pkg/manifests`,
		"",
	},

	// They read and write as the identity of a target.
	{
		"pkg/component/internal/causes", "causes, which are read as the identity of a target",
		`api/meta/v1alpha1 pkg/component/internal/passerror pkg/component/internal/plan pkg/component/internal/target
			pkg/component/result pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/externalstate", "states of externals in Secrets; it decides nothing",
		`api/meta/v1alpha1 internal/apitext internal/bounded internal/budget internal/settingtext pkg/component/external
			pkg/component/internal/passerror pkg/component/internal/records pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/input", "inputs, which are read as the identity of a target",
		`api/meta/v1alpha1 internal/authorcode internal/backoff internal/bounded internal/budget
			pkg/component/internal/inspect pkg/component/internal/observe pkg/component/internal/passerror
			pkg/component/internal/target pkg/generator pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/inventory", "records of decisions; it renders, decides and applies nothing",
		`api/meta/v1alpha1 internal/backoff internal/digests internal/marks internal/settingtext internal/typeset
			pkg/component/internal/components pkg/component/internal/discovery pkg/component/internal/passerror
			pkg/component/internal/plan pkg/component/internal/records pkg/component/internal/rights
			pkg/component/internal/status pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/lookup", "look-ups, which are read as the identity of a target",
		`api/meta/v1alpha1 internal/digests internal/marks internal/settingtext pkg/component/internal/discovery
			pkg/component/internal/observe pkg/component/internal/passerror pkg/component/internal/records
			pkg/component/internal/target pkg/component/result pkg/generator`,
		"",
	},
	{
		"pkg/component/internal/protect", "consequences of a deletion; plan decides",
		`api/meta/v1alpha1 pkg/component/internal/apierror pkg/component/internal/discovery pkg/component/internal/execute
			pkg/component/internal/inspect pkg/component/internal/plan pkg/component/internal/target pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/eventsources", "the Set and the interface of event sources, and no kind of them",
		"internal/authorcode pkg/component/internal/target pkg/manifests", "",
	},
	{
		"pkg/component/internal/polled", "values of services, and no cluster",
		"internal/backoff internal/due pkg/component/internal/eventsources pkg/component/internal/passerror", "k8s.io/client-go/...",
	},
	{
		"pkg/component/internal/related", "objects of clusters, neither passes nor renderings",
		`internal/backoff pkg/component/internal/eventsources pkg/component/internal/inspect
			pkg/component/internal/observe pkg/component/internal/passerror pkg/manifests`,
		"",
	},

	// Externals, event sources, renderings.
	{
		"pkg/component/eventsource", "event sources, and no reconciler",
		"pkg/component/internal/eventsources pkg/component/internal/polled pkg/component/internal/related", "",
	},
	{
		"pkg/component/internal/externals", "facts and calls of externals; plan decides",
		`api/meta/v1alpha1 internal/authorcode internal/backoff internal/digests internal/due internal/marks
			internal/settingtext pkg/component/external pkg/component/internal/apierror
			pkg/component/internal/externalstate pkg/component/internal/inspect pkg/component/internal/outcome
			pkg/component/internal/plan pkg/component/internal/ready pkg/component/result pkg/generator pkg/manifests`,
		"",
	},
	{
		"pkg/component/internal/rendering", "renderings; it writes nothing to a cluster",
		`api/meta/v1alpha1 internal/authorcode internal/budget internal/determinism internal/digests
			internal/marks internal/turn pkg/component/internal/discovery pkg/component/internal/input
			pkg/component/internal/lookup pkg/component/internal/passerror pkg/component/internal/plan
			pkg/component/internal/records pkg/component/internal/target pkg/generator pkg/internal/packed
			pkg/manifests pkg/manifests/normalise`,
		"",
	},
	{
		"pkg/component/tree", "live objects and records, without a reconciler",
		"api/... internal/... pkg/component/internal/... pkg/component/result pkg/manifests", "",
	},

	// Telemetry.
	{
		"pkg/component/internal/telemetry", "what a pass counts and traces; no decision depends on it",
		`api/meta/v1alpha1 internal/budget pkg/component/external pkg/component/internal/externals
			pkg/component/internal/metrics pkg/component/internal/outcome pkg/component/internal/passerror
			pkg/component/internal/plan pkg/component/internal/eventsources pkg/component/internal/status
			pkg/component/internal/tracing`,
		"",
	},

	// The loop of facts, plan and writes.
	{
		"pkg/component/internal/applier", "facts, plan, record, writes; it renders and reports nothing",
		`api/meta/v1alpha1 internal/budget internal/builtintypes internal/digests internal/validate
			internal/validate/values pkg/component/internal/discovery pkg/component/internal/execute
			pkg/component/internal/inclusion pkg/component/internal/inspect pkg/component/internal/metrics
			pkg/component/internal/observe pkg/component/internal/outcome pkg/component/internal/passerror
			pkg/component/internal/plan pkg/component/internal/protect pkg/component/internal/ready
			pkg/component/internal/target pkg/component/internal/telemetry pkg/component/result pkg/internal/binding
			pkg/manifests`,
		"",
	},

	// A pass.
	{
		"pkg/component/internal/reconcile", "a pass", "api/... internal/... pkg/...", engines,
	},
	{
		"pkg/component/internal/wiring", "the parts that an engine and a reconciler share",
		"internal/... pkg/component/internal/... pkg/generator", "",
	},

	// A pass on other ports.
	{
		"pkg/component/internal/preview", "a pass on other ports", "api/... internal/... pkg/...", engines,
	},

	// The package that an author imports.
	{"pkg/component", "ties the parts together", "api/... internal/... pkg/...", engines},

	// They stand above component.
	{"pkg/component/componenttest", "a kit for tests of authors", "api/... internal/... pkg/...", engines},
	{
		"pkg/component/engine", "an engine gets its parts from component, and has no passes over components",
		"api/... internal/... pkg/...", engines + " pkg/component/eventsource",
	},
	{"pkg/component/preview", "a forecast of a pass", "api/... internal/... pkg/...", engines},

	// The ready-made operator.
	{"internal/operator", "the ready-made operator", "api/... internal/... pkg/...", ""},

	// The command line, and examples. A family of commands shares package command with the others, and nothing else.
	{"cmd/fairlead/internal/exit", "a leaf of the command line", "internal/...", ""},
	{"cmd/fairlead/internal/terminal", "a leaf of the command line", "internal/...", ""},
	{"cmd/fairlead/internal/scaffold/merge", "a leaf of the command line", "internal/...", ""},
	{"cmd/fairlead/internal/scaffold/operatorrules", "a leaf of the command line", "internal/...", ""},
	{"cmd/fairlead/internal/scaffold/staging", "a leaf of the command line", "internal/...", ""},
	{"cmd/fairlead/internal/cli/command", "what commands share, and no command", "...", "cmd/fairlead/internal/cli/..."},
	{"cmd/fairlead/internal/cli/*", "a family of commands", "... cmd/fairlead/internal/cli/command", "cmd/fairlead/internal/cli/..."},
	{"examples", "written as an author writes an operator", "api/... pkg/...", ""},
}
