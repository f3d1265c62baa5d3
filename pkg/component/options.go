package component

import (
	"context"
	"io/fs"
	"time"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// DefaultRenderedBytes is the memory for what is rendered, unless Options say otherwise.
const DefaultRenderedBytes = 256 << 20

// MaxStatusInventory is how much text of an inventory, in bytes, a status holds at the most, and unless Options say
// otherwise.
const MaxStatusInventory = 256 << 10

// Options configure a Reconciler. The zero value is ready to use.
type Options struct {
	// Policies of dependents that name none, in components that name none.
	Policies Policies
	// PreviousManagers are managers, besides those of kubectl and Helm, whose fields dependents take over under the
	// update policy ssa-override, so that what the manifest does not name disappears: the names under which another
	// tool managed them before.
	PreviousManagers []string
	// MaxConcurrentReconciles bounds the components that are worked on at once; 8 by default.
	MaxConcurrentReconciles int
	// Writers bounds the requests that write dependents at once in a target; 16 by default. All components share it
	// fairly: each of k that write at once has about a k-th of it, however many dependents it has, and a single one has
	// all of it.
	Writers int
	// ResyncInterval of components that are no Resyncer; 10h by default, negative turns it off.
	ResyncInterval time.Duration
	// RetryInterval of components that are no Retrier; 1m by default.
	RetryInterval time.Duration
	// Timeout of components that are no Timeouter; 10m by default.
	Timeout time.Duration
	// DefaultServiceAccount is the service account of components that name no identity, each in its own namespace. With
	// it no component acts as the operator; those with a kubeconfig look up in their own cluster as this account.
	DefaultServiceAccount string
	// RenderedBytes bounds the memory of what is rendered, over all components; 256 MiB by default. It is kept
	// compressed, and where it takes more, that which was wanted least recently goes, and is rendered again when a pass
	// wants it.
	RenderedBytes int
	// CacheFull are the kinds whose dependents are kept whole in memory, as the API server sends them. Of all others
	// only facts are kept. Hooks read them without a request; see DependentReader.
	CacheFull []schema.GroupKind
	// WatchScope says how far watches reach, and as whom they are made; WatchScopeCluster by default.
	WatchScope WatchScope
	// WatchNamespaces are where components are watched under WatchScopeNamespaces.
	WatchNamespaces []string
	// Incidental are objects that controllers of the cluster put into namespaces by themselves, besides those of
	// Kubernetes, Istio and OpenShift, which are known: they hold up no deletion of a namespace that is a dependent,
	// and go with it.
	Incidental []Incidental
	// MinInterval is the rate limit of each component: at least this long between the end of a pass and the begin of
	// the next. What happens meanwhile is seen by one pass at its end. It wins over retries and delays that errors ask
	// for. Off by default.
	MinInterval time.Duration
	// WatchMetadata starts a pass at every change of a component's labels, annotations, finalizers and owner references
	// too. By default only its spec, its deletion, finalizers of others and the request for a pass do.
	WatchMetadata bool
	// RecordNamespace is where the records of cluster-scoped components are kept; kube-system by default. Those of
	// others are kept in the component's namespace. It must not change while such components exist, for records are
	// looked for here alone: an inventory is rebuilt from the labels of dependents then, but what is to be applied in a
	// deletion is not, which an event PhasesLost tells.
	RecordNamespace string
	// StatusInventory is how much text of an inventory the status of a component holds, in bytes, about 150 for a
	// dependent; 256 KiB by default, and at the most. What takes more is kept in Secrets, where records are. Below
	// zero, all inventories are.
	StatusInventory int
	// Fetcher gets the sources of components that are SourceHolders.
	Fetcher Fetcher
	// SkipDeterminismCheck renders new inputs once only. By default they are rendered a second time, to find values
	// that differ each time, and whether the status of what is looked up matters. It is for generators that are
	// deterministic, and so slow that it counts: what differs each time goes unnoticed then, is not kept over a
	// restart, and a change of any status that is looked up renders again.
	SkipDeterminismCheck bool
	// Watches are an author's own: what wakes a component besides its dependents and references.
	Watches []Watch
	// TracerProvider gets an OpenTelemetry span for each pass, wave and action on a dependent. Nil turns that off.
	TracerProvider trace.TracerProvider
	// SkipComponentMetrics leaves out the metrics of single components, of which there are four series each.
	SkipComponentMetrics bool
	// SkipNameValidation allows several controllers of one name in a process, for tests.
	SkipNameValidation bool
}

// Fetcher gets the sources of components that are SourceHolders; package source/fetch has one. It must be safe for
// concurrent use.
type Fetcher interface {
	// Fetch gets a source. It may take a while: it is called off the workers, a few calls at a time, and its context
	// ends when nobody wants the source any more. An error stalls the component with reason FetchFailed, unless it goes
	// away by itself; see RetryAfter. It must not tell credentials.
	Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error)
	// Fetched returns a source that is at hand. A worker calls it, so it must not wait.
	Fetched(ref metav1alpha1.SourceReference) (files fs.FS, found bool)
}

// Watch wakes components when something else changes. Exactly one of Object and Source is set.
type Watch struct {
	// Object is watched through the manager's cache.
	Object client.Object
	// Map names the components that an event on Object concerns. It is called for the old and for the new object, so
	// that a component that lost a reference is woken too.
	Map handler.MapFunc
	// Predicates filter the events on Object.
	Predicates []predicate.Predicate
	// Source is any other source of requests, with its own handler and predicates.
	Source source.TypedSource[reconcile.Request]
}

func fill[V comparable](value *V, fallback V) {
	var none V
	if *value == none {
		*value = fallback
	}
}

func (o Options) withDefaults() Options {
	fill(&o.MaxConcurrentReconciles, 8)
	fill(&o.ResyncInterval, 10*time.Hour)
	fill(&o.RetryInterval, time.Minute)
	fill(&o.Timeout, 10*time.Minute)
	fill(&o.RenderedBytes, DefaultRenderedBytes)
	fill(&o.RecordNamespace, metav1.NamespaceSystem)
	fill(&o.StatusInventory, MaxStatusInventory)
	o.StatusInventory = min(max(o.StatusInventory, 0), MaxStatusInventory)
	return o
}

// engine returns the options of the engine beneath a reconciler.
func (o Options) engine() EngineOptions {
	return EngineOptions{
		Policies:         o.Policies,
		PreviousManagers: o.PreviousManagers,
		Writers:          o.Writers,
		CacheFull:        o.CacheFull,
		Incidental:       o.Incidental,
		WatchScope:       o.WatchScope,
		WatchNamespaces:  o.WatchNamespaces,
		TracerProvider:   o.TracerProvider,
	}
}

// Policies are the policies of dependents whose manifests set none.
type Policies = metav1alpha1.Policies

// defaultPolicies are used if neither the manifest, the component nor the options set a policy.
var defaultPolicies = Policies{
	Reconcile:         metav1alpha1.ReconcileOnObjectChange,
	Update:            metav1alpha1.UpdateReplace,
	Adoption:          metav1alpha1.AdoptIfUnowned,
	Delete:            metav1alpha1.DeleteDelete,
	MissingNamespaces: metav1alpha1.MissingNamespacesCreate,
}
