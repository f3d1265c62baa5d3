package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/component/preview"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
	"github.com/fairlead-io/fairlead/pkg/generator/isolate"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// ReconcilerName is the name of the reconciler of Components: the field manager, and the prefix of labels and
// annotations.
const ReconcilerName = "fairlead.io"

// Policies are the policies of dependents if neither their manifests nor their Component set a policy.
var Policies = metav1alpha1.Policies{
	Update: metav1alpha1.UpdateSSAOverride, Delete: metav1alpha1.DeleteDelete, Adoption: metav1alpha1.AdoptIfUnowned,
}

// Options configure the reconciler of Components. Zero values mean the defaults of component.Options.
type Options struct {
	// MaxConcurrentReconciles is the maximum number of components that are reconciled at the same time.
	MaxConcurrentReconciles int
	// Limiter limits the rate of passes over each component; nil sets no limit.
	Limiter component.Limiter
	// Writers is the maximum number of concurrent requests to a cluster that write dependents.
	Writers int
	// RenderedBytes is the maximum size, in bytes, of the cache of rendered objects.
	RenderedBytes int
	// MemoryBudget is the memory, in bytes, that the passes over all components take together; 0 means no limit.
	MemoryBudget int64
	// StatusInventory is the maximum size, in bytes, of an inventory in a status.
	StatusInventory int
	// DefaultServiceAccount is the service account for components that name no service account.
	DefaultServiceAccount string
	// WatchScope is the watch scope. If it is WatchScopeNamespaces, components are watched in WatchNamespaces.
	WatchScope      component.WatchScope
	WatchNamespaces []string
	// Fetch contains the options for fetching archives from outside the cluster.
	Fetch fetch.Options
	// TracerProvider receives spans; nil turns tracing off.
	TracerProvider trace.TracerProvider
	// SkipComponentMetrics leaves out the metrics of single components.
	SkipComponentMetrics bool
	// DependentEvents also creates Events about dependents; see component.Telemetry.
	DependentEvents bool
	// OwnDeployment is the Deployment in which the program runs. It is empty if the Deployment is unknown. The operator
	// refuses to delete this Deployment and the component to which it belongs.
	OwnDeployment types.NamespacedName
	// Isolation renders in child processes with these options; nil renders in this process. The program must call
	// isolate.Main with NewChildGenerator. Scheme and Outside need not be set.
	Isolation *isolate.Options
	// IdleInventory drops the inventories of idle components from the manager's cache, which must be built with it. Nil
	// keeps them.
	IdleInventory *component.IdleInventory
	// PollHosts are the hosts that components may poll.
	PollHosts PollHosts
	// WebhookAddress is the address on which signed calls for components are accepted; empty accepts none.
	WebhookAddress string
	// Leader tells to which replica the others forward calls. Nil means that there is no leader election.
	Leader Leader
	// Quotas enforces quotas of namespaces, with these defaults. The operator then watches the metadata of Namespaces. Nil
	// enforces no quotas.
	Quotas *Quotas
	// SkipNameValidation allows several operators in one process. Only tests set it.
	SkipNameValidation bool
}

// Setup registers the reconciler of Components. The manager's scheme must contain the type Component.
func Setup(mgr ctrl.Manager, o Options) error {
	g, err := o.newGenerator()
	if err != nil {
		return fmt.Errorf("generator of components: %w", err)
	}
	var hooks component.Hooks[*v1alpha1.Component]
	if o.OwnDeployment.Name != "" {
		itself := self{reader: mgr.GetAPIReader(), deployment: o.OwnDeployment}
		g, hooks.PostRead, hooks.PreReconcile = staying{Generator: g, self: itself}, itself.refuseEnd, itself.refuseRecreation
	}
	g, options := o.withQuotas(mgr, g, o.forReconciler())
	reconciler := component.NewReconciler[*v1alpha1.Component](ReconcilerName, g, options).WithHooks(hooks)
	polls := newPoller(o.Fetch, o.PollHosts)
	if _, err := reconciler.AddEventSource(eventsource.AsSecretInput(polls.values)); err != nil {
		return err
	}
	if err := o.addWebhook(mgr, reconciler, polls); err != nil {
		return err
	}
	return reconciler.SetupWithManager(mgr)
}

// addWebhook adds the server of calls to a manager, if it is turned on.
func (o Options) addWebhook(
	mgr ctrl.Manager, reconciler *component.Reconciler[*v1alpha1.Component], polls *poller,
) error {
	if o.WebhookAddress == "" {
		return nil
	}
	verify := &webhooks{
		components: mgr.GetClient(), server: mgr.GetAPIReader(), readSecret: secretsOf(reconciler),
		recorder: mgr.GetEventRecorder(ReconcilerName), secrets: lru.New(keptSecrets),
		slots: make(chan struct{}, maxSecretReads),
	}
	polled, observed := newPacer(polls.askAll), newPacer(reconciler.Trigger)
	calls := newReplica(o.Leader)
	calls.calls = verify.handler(func(ctx context.Context, name types.NamespacedName) error {
		polled.call(name)
		if hasExternals(ctx, mgr.GetClient(), name) {
			observed.call(name)
		}
		if !calls.leads() {
			return errNoLeader
		}
		return nil
	})
	return errors.Join(mgr.Add(calls), mgr.Add(webhookServer{address: o.WebhookAddress, handler: calls}))
}

// newGenerator returns the generator of the reconciler, which renders in child processes or in this process.
func (o Options) newGenerator() (generator.Generator, error) {
	g, err := NewGenerator(RenderOptions{FunctionCalls: functionCalls(o.MaxConcurrentReconciles)})
	if err != nil || o.Isolation == nil {
		return g, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	isolation := *o.Isolation
	isolation.Scheme = scheme
	isolation.Outside = map[string]generator.Generator{
		outsideFunction: newFunctions(functionCalls(o.MaxConcurrentReconciles)),
	}
	return isolate.New(g, isolation)
}

// NewChildGenerator returns the generator of a child process, and the scheme with its components; see isolate.Main.
func NewChildGenerator() (generator.Generator, *runtime.Scheme, error) {
	g, err := NewGenerator(RenderOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("generator of components: %w", err)
	}
	scheme, err := newScheme()
	return g, scheme, err
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, v1alpha1.AddToScheme(scheme)
}

func (o Options) forReconciler() component.Options {
	return component.Options{
		Dependents:            component.Dependents{Policies: Policies},
		Fetcher:               fetch.NewHTTP(o.Fetch),
		DefaultServiceAccount: o.DefaultServiceAccount,
		Intervals:             component.Intervals{Limiter: o.Limiter},
		Watching:              component.Watching{Scope: o.WatchScope, Namespaces: o.WatchNamespaces},
		Limits: component.Limits{
			MaxConcurrentReconciles: o.MaxConcurrentReconciles, Writers: o.Writers, RenderedBytes: o.RenderedBytes,
			MemoryBudget: o.MemoryBudget, StatusInventory: o.StatusInventory, IdleInventory: o.IdleInventory,
		},
		Telemetry: component.Telemetry{
			TracerProvider: o.TracerProvider, DependentEvents: o.DependentEvents,
			SkipComponentMetrics: o.SkipComponentMetrics,
		},
		ExternalsOf:         newExternalServices().of,
		ConditionParameters: conditionParameters,
		SkipNameValidation:  o.SkipNameValidation,
	}
}

// PreviewOptions configure a preview.
type PreviewOptions struct {
	// Contents replace the contents of referenced objects.
	Contents generator.References
	// Inputs are the values of inputs; see GivenInputs.
	Inputs map[string]any
	// User is impersonated; see component.Preview.
	User string
	// CallFunctions allows calls of functions. Without it, Components with a function are refused.
	CallFunctions bool
	// Locate receives the source file of each object; see RenderOptions. It may be nil.
	Locate func(files fs.FS, o generator.Origin)
}

// Preview returns a preview of the changes that the reconciler of Components would make, with default options.
func Preview(config *rest.Config, o PreviewOptions) (preview.Preview[*v1alpha1.Component], error) {
	g, err := NewGenerator(RenderOptions{RefuseFunctions: !o.CallFunctions, Locate: o.Locate})
	if err != nil {
		return preview.Preview[*v1alpha1.Component]{}, fmt.Errorf("generator of components: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return preview.Preview[*v1alpha1.Component]{}, err
	}
	return preview.Preview[*v1alpha1.Component]{
		Config: config, Scheme: scheme, Name: ReconcilerName, Generator: g, Options: Options{}.forReconciler(),
		Contents: o.Contents, Inputs: o.Inputs, User: o.User, Credentials: o.CallFunctions,
	}, nil
}

// functionCalls returns the maximum number of concurrent function calls. It is half of the number of workers, so that
// slow functions do not block all workers.
func functionCalls(workers int) int {
	if workers == 0 {
		return function.DefaultMaxCalls
	}
	return max(1, workers/2)
}
