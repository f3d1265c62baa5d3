package operator

import (
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// ReconcilerName is the name of the reconciler of Components: the field owner, and the prefix of labels and annotations.
const ReconcilerName = "fairlead.io"

// Policies are those of dependents that name none, in Components that name none.
var Policies = component.Policies{
	Update: metav1alpha1.UpdateSSAOverride, Delete: metav1alpha1.DeleteDelete, Adoption: metav1alpha1.AdoptIfUnowned,
}

// Options configure the reconciler of Components. Zero values mean the defaults of component.Options.
type Options struct {
	// MaxConcurrentReconciles bounds the components that are worked on at once.
	MaxConcurrentReconciles int
	// Writers bounds the requests that write dependents at once, in a target.
	Writers int
	// RenderedBytes bounds the memory of what is rendered.
	RenderedBytes int
	// StatusInventory is how much text of an inventory, in bytes, a status holds.
	StatusInventory int
	// DefaultServiceAccount is that of components that name none.
	DefaultServiceAccount string
	// Observe says how far watches reach, and ObserveNamespaces where components are watched, if not everywhere.
	Observe           component.Reach
	ObserveNamespaces []string
	// Fetch says how archives are fetched from outside the cluster.
	Fetch fetch.Options
	// TracerProvider gets the spans; nil turns them off.
	TracerProvider trace.TracerProvider
	// SkipComponentMetrics leaves out the metrics of single components.
	SkipComponentMetrics bool
	// OwnDeployment is what the program runs in; the component that holds it is not deleted, and does not lose it. It is empty where that is not
	// known.
	OwnDeployment types.NamespacedName
	// SkipNameValidation allows several operators in a process, for tests.
	SkipNameValidation bool
}

// Setup registers the reconciler of Components. The manager's scheme must know them.
func Setup(mgr ctrl.Manager, o Options) error {
	g, err := NewGenerator(RenderOptions{FunctionCalls: functionCalls(o.MaxConcurrentReconciles)})
	if err != nil {
		return fmt.Errorf("generator of components: %w", err)
	}
	var hooks component.Hooks[*v1alpha1.Component]
	if o.OwnDeployment.Name != "" {
		itself := self{reader: mgr.GetAPIReader(), deployment: o.OwnDeployment}
		g, hooks.PostRead, hooks.PreReconcile = staying{Generator: g, self: itself}, itself.refuseEnd, itself.refuseRecreation
	}
	return component.NewReconciler[*v1alpha1.Component](ReconcilerName, g, o.forReconciler()).WithHooks(hooks).SetupWithManager(mgr)
}

func (o Options) forReconciler() component.Options {
	return component.Options{
		Policies:                Policies,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		Writers:                 o.Writers,
		RenderedBytes:           o.RenderedBytes,
		StatusInventory:         o.StatusInventory,
		DefaultServiceAccount:   o.DefaultServiceAccount,
		Observe:                 o.Observe,
		ObserveNamespaces:       o.ObserveNamespaces,
		Fetcher:                 fetch.NewHTTP(o.Fetch),
		TracerProvider:          o.TracerProvider,
		SkipComponentMetrics:    o.SkipComponentMetrics,
		SkipNameValidation:      o.SkipNameValidation,
	}
}

// Preview returns what tells what the reconciler of Components would do, as an operator without options of its own does it. contents stand for
// referenced objects.
func Preview(config *rest.Config, contents generator.References) (component.Preview[*v1alpha1.Component], error) {
	g, err := NewGenerator(RenderOptions{})
	if err != nil {
		return component.Preview[*v1alpha1.Component]{}, fmt.Errorf("generator of components: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return component.Preview[*v1alpha1.Component]{}, err
	}
	return component.Preview[*v1alpha1.Component]{
		Config: config, Scheme: scheme, Name: ReconcilerName, Generator: g, Options: Options{}.forReconciler(), Contents: contents,
	}, nil
}

// functionCalls returns how many functions may be called at once: they hold up half of the workers at the most.
func functionCalls(workers int) int {
	if workers == 0 {
		return function.DefaultMaxCalls
	}
	return max(1, workers/2)
}
