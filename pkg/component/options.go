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
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Options configure a Reconciler. The zero value is ready to use. What few operators need is at the end, also in each
// group.
type Options struct {
	// Dependents are the defaults of the policies of dependents, and what decides about their readiness.
	Dependents Dependents

	// Fetcher fetches the sources of components that implement SourceHolder.
	Fetcher Fetcher

	// Externals handle the dependents outside Kubernetes, by kind; see package external. An external whose kind nothing
	// handles is a mistake in the manifests.
	Externals []external.Driver

	// DefaultServiceAccount is the name of the service account for components that set neither a service account nor an
	// impersonated user. The account is in the namespace of the component. If this option is set, the reconciler never
	// acts as the operator for a component. A component with a kubeconfig uses this account for look-ups in its own
	// cluster.
	DefaultServiceAccount string

	// Intervals are the timeout, the retries and the resync of components, and the rate of passes.
	Intervals Intervals

	// Watching selects what is watched, and which changes start passes.
	Watching Watching

	// Limits bound the work at the same time, the memory, and the number of dependents.
	Limits Limits

	// Telemetry has traces, Events about dependents, and metrics.
	Telemetry Telemetry

	// Names are the field owner, the finalizer, and the namespace of records.
	Names Names

	// ExternalsOf returns further handlers for the externals of a component, such as services that its spec names. It is
	// called in each pass, so it must not wait, and it must return the same Driver as long as the spec is the same. An
	// error is treated as a mistake in the spec.
	ExternalsOf func(obj client.Object) ([]external.Driver, error)

	// ConditionParameters, if set, returns the parameters that the conditions include-when and active-when see; with a nil
	// result they see the parameters of the component, and the values of event sources as inputs. The function is called
	// when the inputs or the look-ups of a rendering changed, and after a restart, for components with conditions. The
	// request has Component, Parameters, Inputs and Local. An error is treated as an error of the generator.
	ConditionParameters func(ctx context.Context, req generator.Request) (map[string]any, error)

	// SkipDeterminismCheck renders new inputs only once. By default new inputs are rendered twice, to find values that
	// differ at each rendering, and to find out whether the rendering depends on the status of looked-up objects. Set
	// this option only for generators that are deterministic, and too slow to be called twice. Without the check,
	// values that differ at each rendering, such as random passwords, are not detected and change at a restart of the
	// operator. Every change of the status of a looked-up object then starts a new rendering.
	SkipDeterminismCheck bool

	// SkipNameValidation allows several controllers with the same name in one process. SkipNameValidation is meant for
	// tests.
	SkipNameValidation bool

	// deferred are the names of the conditions that Reconciler.WithCondition added.
	deferred []string
}

// WithDefaults returns the options with the defaults of the numbers, policies and names that are not set.
func (o Options) WithDefaults() Options {
	o.Dependents, o.Intervals = o.Dependents.withDefaults(), o.Intervals.withDefaults()
	o.Limits, o.Names = o.Limits.withDefaults(), o.Names.withDefaults()
	return o
}

// Dependents are options about the dependents of components.
type Dependents struct {
	// Policies are the defaults for dependents if neither their manifests nor their component set a policy.
	Policies metav1alpha1.Policies

	// Ignore are rules of fields of dependents that are left to others, such as the replicas that an autoscaler sets, in
	// addition to the annotation ignore of manifests. A changed option is applied after a restart, without a new revision.
	Ignore []metav1alpha1.IgnoreRule

	// PreviousManagers are field managers of tools that managed the dependents before. kubectl and Helm are always
	// included. Under the update policy ssa-override the reconciler takes over the fields of these managers. A field
	// that only they own is then removed if the manifest does not set it.
	PreviousManagers []string

	// Conditions are conditions in Go that the annotation ready-when of a manifest may name, as go/NAME. Names are DNS
	// names.
	Conditions map[string]Condition

	// Analyzers decide about the readiness of the dependents of a kind, in place of the rules of kstatus.
	Analyzers map[schema.GroupKind]Analyzer

	// Matchers decide, for the dependents of a kind, whether a live object must be written. Dependents of these kinds are
	// cached as complete objects, as those of Watching.CacheFull.
	Matchers map[schema.GroupKind]Matcher

	// Incidental lists objects that controllers of the cluster create in namespaces by themselves. The objects that
	// Kubernetes, Istio and OpenShift create are known and need no entry. If a namespace is a dependent, these objects
	// do not block its deletion; they are deleted with the namespace.
	Incidental []Incidental
}

func (d Dependents) withDefaults() Dependents {
	d.Policies = d.Policies.Or(metav1alpha1.Policies{
		Reconcile:         metav1alpha1.ReconcileOnObjectChange,
		Update:            metav1alpha1.UpdateReplace,
		Adoption:          metav1alpha1.AdoptIfUnowned,
		Delete:            metav1alpha1.DeleteDelete,
		MissingNamespaces: metav1alpha1.MissingNamespacesCreate,
	})
	return d
}

// Intervals are options about the times of passes. The first three apply to components that do not implement Timeouter,
// Retrier and Resyncer.
type Intervals struct {
	// Timeout is the time in which a component must become Ready; 10m by default. A negative value means that there is
	// no timeout.
	Timeout time.Duration

	// Retry is the delay before the retry of a persistent error; 1m by default.
	Retry time.Duration

	// Resync is the interval of the periodic resync; 10h by default. It is the longest time between two passes; up to a
	// tenth is subtracted, so that resyncs are spread. A negative value turns the resync off.
	Resync time.Duration

	// Min is the minimum time between the end of a pass over a component and the start of the next pass over the same
	// component. The next pass handles all events in between. The interval takes precedence over shorter delays of
	// retries. A pass that ends because the component waits for a watch, or for its turn to render, does not count, and
	// neither does one that ends because a template asks for an export that has a new value. Zero, the default, sets no
	// limit.
	Min time.Duration

	// Limiter limits the rate of passes over each component in addition to Min, such as PassesWithin(2, time.Minute).
	// Nil, the default, sets no limit.
	Limiter Limiter
}

func (i Intervals) withDefaults() Intervals {
	fill(&i.Timeout, 10*time.Minute)
	fill(&i.Retry, time.Minute)
	fill(&i.Resync, 10*time.Hour)
	return i
}

// Watching are options about watches.
type Watching struct {
	// Watches are additional watches that start passes over components. Dependents and references are always watched.
	Watches []Watch

	// CacheFull lists the kinds whose dependents are cached in memory as complete objects. Hooks read these dependents
	// without a request; see DependentReader. For a dependent of another kind, only a few facts are kept in memory.
	CacheFull []schema.GroupKind

	// Scope sets whether dependents are watched in the whole cluster or in some namespaces, and the identity of the
	// watches; WatchScopeCluster by default.
	Scope WatchScope

	// Namespaces are the namespaces in which components are watched under WatchScopeNamespaces.
	Namespaces []string

	// Metadata starts a pass also when the labels, annotations, finalizers or owner references of a component change.
	// By default only these changes start a pass: the spec, the deletion timestamp, the finalizers of other
	// controllers, and the annotation AnnotationReconcileRequested.
	Metadata bool

	// Status starts a pass also when another client changes the author's part of a component's status: the fields
	// outside the embedded Status, and the conditions that the reconciler does not write. A change by this process,
	// with UpdateStatus, starts at most one pass.
	Status bool
}

// Limits are options about the work at the same time, memory and sizes.
type Limits struct {
	// MaxConcurrentReconciles is the maximum number of components over which passes are made at the same time; 8 by
	// default.
	MaxConcurrentReconciles int

	// Writers is the maximum number of concurrent requests that write dependents in a target cluster; 16 by default.
	// All components share this limit fairly: if k components write at the same time, each may send about 1/k of the
	// requests, regardless of the number of its dependents. A single component may send all of them.
	Writers int

	// Quota returns the quota of a namespace. A pass that would add dependents above the quota is refused: the component
	// is Stalled with reason QuotaExceeded, and the pass writes nothing. A component that renders only dependents that it
	// has already is never refused, and a deletion neither. Quota is called in each pass over a namespaced component, so
	// it must not block. After a change of a quota, start passes over the refused components, for example with
	// Watching.Watches. After an error nothing is written; see QuotaExceeded and RetryAfter. Nil, the default, sets no
	// quotas. A preview does not check quotas.
	Quota func(ctx context.Context, namespace string) (Quota, error)

	// RenderedBytes is the memory, in bytes, for the compressed results of renderings, over all components; 256 MiB by
	// default. When the memory is full, the least recently used result is dropped. The dropped result is rendered again
	// when a pass needs it.
	RenderedBytes int

	// MemoryBudget is the memory, in bytes, that the passes over all components take together, by an estimate: their
	// fetched sources and references, decoded renderings, records, plans, and large responses of target clusters. A pass
	// that needs more than is left ends, and is made again when its turn comes; the namespaces take turns. A component
	// that needs more than all of it is refused. Zero, the default, sets no limit. Not included are caches (see
	// RenderedBytes), the objects that watches keep, and the work of a generator in this process before it returns its
	// objects; see package isolate.
	MemoryBudget int64

	// StatusInventory is the maximum size, in bytes, of an inventory in the status of a component; a dependent takes about
	// 150 bytes. The default, which is also the maximum, is 256 KiB. A larger inventory is kept in Secrets in the
	// namespace of the records. If the value is negative, all inventories are kept in Secrets.
	StatusInventory int

	// IdleInventory moves the inventories of components out of the manager's cache, and drops those of idle components,
	// also those that are in Secrets. The cache must be built with Options.Cache, or with IdleInventory.Transform. Nil,
	// the default, keeps all inventories in memory.
	IdleInventory *IdleInventory
}

func (l Limits) withDefaults() Limits {
	const maxStatusInventory = 256 << 10
	fill(&l.MaxConcurrentReconciles, 8)
	fill(&l.RenderedBytes, 256<<20)
	fill(&l.StatusInventory, maxStatusInventory)
	l.StatusInventory = min(l.StatusInventory, maxStatusInventory)
	if l.Writers <= 0 {
		l.Writers = 16
	}
	return l
}

// Telemetry are options about traces, Events and metrics.
type Telemetry struct {
	// TracerProvider receives an OpenTelemetry span for each pass, wave and action on a dependent. Nil turns tracing off.
	TracerProvider trace.TracerProvider

	// DependentEvents also creates Kubernetes Events about dependents that were adopted, were repaired, or failed: one
	// for each dependent, reason and revision of the component, and at most ten for each reason and revision. By
	// default the component alone has Events, at most one for each pass. Dependents in the cluster of a kubeconfig, and
	// dependents outside Kubernetes, get no Events. The operator needs the right to create and patch Events in the
	// namespaces of the dependents; the Events about cluster-scoped dependents are in the namespace default.
	DependentEvents bool

	// SkipComponentMetrics omits the metrics per component, which have four time series for each component.
	SkipComponentMetrics bool
}

// Names are options about the names that the reconciler writes into objects.
type Names struct {
	// FieldOwner is the field manager of the writes of dependents and of the reconciler's part of the status; the name of
	// the reconciler by default. Managed fields thus show whether another client wrote the record in the status. Fields of
	// PreviousFieldOwners, and of the name of the reconciler, are treated as fields of FieldOwner. The next write of a
	// dependent moves them to FieldOwner. So a changed FieldOwner writes no dependent by itself, and no field is lost or
	// stays behind. Keep an owner in PreviousFieldOwners until no managed fields name it.
	FieldOwner          string
	PreviousFieldOwners []string

	// Finalizer is the finalizer on components; "<name>/finalizer" by default. A component with one of PreviousFinalizers,
	// or with the default finalizer, is held, too; the first pass replaces these finalizers by Finalizer in one write. A
	// component that is being deleted keeps them until its dependents no longer exist. Finalizer needs a domain, such as
	// example.com/finalizer; PreviousFinalizers may be names without a domain.
	Finalizer          string
	PreviousFinalizers []string

	// RecordNamespace is the namespace of the Secrets that hold the records of cluster-scoped components; kube-system
	// by default. The records of namespaced components are in the namespace of the component. Do not change this option
	// while cluster-scoped components exist, because their records are searched in this namespace only. An inventory
	// whose record is not found is rebuilt from the labels of the dependents. The record of the objects that a deletion
	// applies (its phases) cannot be rebuilt; the Event PhasesLost reports this loss.
	RecordNamespace string
}

func (n Names) withDefaults() Names {
	fill(&n.RecordNamespace, metav1.NamespaceSystem)
	return n
}

// fill sets a value that is not set.
func fill[V comparable](value *V, fallback V) {
	var none V
	if *value == none {
		*value = fallback
	}
}

// Fetcher fetches the sources of components that implement SourceHolder. Package pkg/source/fetch has an
// implementation. A Fetcher must be safe for concurrent use.
type Fetcher interface {
	// Fetch fetches a source. Fetch may take a while, because the reconciler does not call it in its workers. The
	// reconciler makes only a few calls of Fetch at the same time. The context ends when no component needs the source
	// any more. After an error the component becomes Stalled with reason FetchFailed, unless the error is marked as
	// temporary with RetryAfter. The error text must not contain credentials.
	Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error)
	// Fetched returns a source that was fetched before. The workers of the reconciler call Fetched, so it must not
	// block.
	Fetched(ctx context.Context, ref metav1alpha1.SourceReference) (files fs.FS, found bool)
}

// Watch starts passes over components when other objects change. Exactly one of Object and Source is set.
type Watch struct {
	// Object is watched through the manager's cache.
	Object client.Object
	// Map returns the components that a watch event on Object affects. Map is called for the old and for the new
	// object, so that a pass also starts for a component that only the old object referred to.
	Map handler.MapFunc
	// Predicates filter the watch events of Object.
	Predicates []predicate.Predicate
	// Source is any other event source of controller-runtime, with its own handler and predicates.
	Source source.TypedSource[reconcile.Request]
}
