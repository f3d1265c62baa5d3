package execute

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// WriteTracker tracks requests in flight. The Executor calls BeginRead before it reads an object, and BeginWrite before
// each other request about an object. After the request, the Executor calls done once, with the object in the response,
// or with nil if the result of the request is unknown. Before that, it calls Received with each object in a response.
type WriteTracker interface {
	BeginWrite(key manifests.Key) (done func(answer *plan.Observed))
	BeginRead(key manifests.Key) (done func(answer *plan.Observed))
	Received(key manifests.Key, obj *unstructured.Unstructured)
}

// Monitor observes actions. The Executor calls StartAction before an action, uses the returned context for its
// requests, and calls the returned function with its result.
type Monitor interface {
	StartAction(ctx context.Context, a plan.Action) (context.Context, func(plan.Result))
}

// Executor writes the dependents of one reconciler in one target. Executor is safe for concurrent use.
type Executor struct {
	writer  writer
	guard   *admissionGuard
	writes  WriteTracker
	monitor Monitor
	limiter *limiter
}

// Options configure an Executor.
type Options struct {
	// Reconciler is the reconciler's name: the field manager of all writes.
	Reconciler string
	// View reduces the objects in responses to facts.
	View    inspect.View
	Dynamic dynamic.Interface
	// REST sends the requests that the dynamic client does not support. All requests use absolute paths.
	REST    rest.Interface
	Mapper  meta.RESTMapper
	Tracker WriteTracker
	Monitor Monitor
	// Writers is the maximum number of concurrent actions, over all runs. A value below one is raised to one.
	Writers int
}

// New returns an Executor that reads and writes as the identity of its clients.
func New(o Options) *Executor {
	return &Executor{
		writer: writer{
			reconciler: o.Reconciler, view: o.View.Of(o.Reconciler), tracker: o.Tracker,
			clients: clients{mapper: o.Mapper, rest: o.REST, own: o.Dynamic, operator: o.Dynamic, reader: o.Dynamic},
		},
		guard:  &admissionGuard{reconciler: o.Reconciler, client: o.Dynamic},
		writes: o.Tracker, monitor: o.Monitor, limiter: newLimiter(max(1, o.Writers)),
	}
}

// As returns an Executor that reads and writes dependents as another user, with the clients of that user. Both
// Executors share the limit of concurrent actions.
func (e *Executor) As(user string, objects dynamic.Interface, raw rest.Interface) *Executor {
	other := *e
	other.writer.clients.user, other.writer.clients.own, other.writer.clients.rest = user, objects, raw
	return &other
}

// Seeing returns an Executor that reduces the objects in responses to facts by another view of the same reconciler.
func (e *Executor) Seeing(view inspect.View) *Executor {
	other := *e
	other.writer.view = view.Of(e.writer.reconciler)
	return &other
}

// WithReader returns an Executor that uses the given client first when it checks whether an object still exists.
func (e *Executor) WithReader(objects dynamic.Interface) *Executor {
	other := *e
	other.writer.clients.reader = objects
	return &other
}

// ForNamespace returns an Executor for a component that is in the given namespace of the target cluster. The namespace
// is empty if the component is in another cluster.
func (e *Executor) ForNamespace(namespace string) *Executor {
	other := *e
	other.writer.clients.componentNamespace = namespace
	return &other
}

// Instances lists all objects of a managed type in all namespaces, with a consistent read. The definition has the
// recorded facts about its CustomResourceDefinition; it may be zero. If the type is not served, the result is empty if
// the definition does not exist or never served a version, and an error otherwise.
func (e *Executor) Instances(
	ctx context.Context, gk schema.GroupKind, definition Definition,
) ([]inspect.Instance, error) {
	return e.writer.clients.instances(ctx, gk, definition)
}

// NeverAvailable reports whether an APIService was never Available since it was created for the component, so that no
// object can have been stored through its API. The result is true only if the APIService is still in the recorded
// state.
func (e *Executor) NeverAvailable(ctx context.Context, recorded Definition) (bool, error) {
	return e.writer.clients.neverAvailable(ctx, recorded)
}

// NamespaceGoes reports whether a namespace does not exist or is being deleted. The deletion of a namespace cannot be
// undone. The roles in such a namespace may be deleted before its other objects. So an identity may lose the right to
// read the objects in such a namespace.
func (e *Executor) NamespaceGoes(ctx context.Context, namespace string) bool {
	absent, terminating := e.writer.clients.namespaceState(ctx, namespace)
	return absent || terminating
}

// Live reads the object of an action. Live returns nil if the object does not exist.
func (e *Executor) Live(ctx context.Context, a plan.Action) (*unstructured.Unstructured, error) {
	var obj *unstructured.Unstructured
	err := discovery.WithRenewal(e.writer.clients.mapper, func() (err error) {
		obj, err = e.writer.clients.getAs(ctx, a, e.writer.clients.own)
		return err
	})
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// Run carries out actions in parallel, and returns their results in the order of the actions. The actions begin in this
// order, too. Concurrent runs share the limit of concurrent actions fairly. An action that did not begin, because ctx
// ended or stop was closed, has a transient failure. Requests in flight are cancelled when ctx ends, and are completed
// when stop is closed.
func (e *Executor) Run(ctx context.Context, stop <-chan struct{}, actions []plan.Action) []plan.Result {
	results := make([]plan.Result, len(actions))
	share := e.limiter.newShare()
	var wg sync.WaitGroup
	for i, a := range actions {
		if err := share.acquire(ctx, stop); err != nil {
			results[i] = plan.Result{Verb: a.Verb, Failure: apierror.Classify(err)}
			continue
		}
		wg.Go(func() {
			defer share.release()
			ctx, end := e.monitor.StartAction(ctx, a)
			results[i] = e.run(ctx, a)
			end(results[i])
		})
	}
	wg.Wait()
	return results
}

// run carries out one action. A conflict is not a failure: the object is read, and the next plan decides.
func (e *Executor) run(ctx context.Context, a plan.Action) plan.Result {
	if a.Verb.Guards() {
		return e.guard.run(ctx, a)
	}
	if a.Verb == plan.VerbTryDelete {
		return e.tryDelete(ctx, a)
	}
	if a.Object != nil {
		whole, err := a.Object.Whole()
		if err != nil {
			return unreadable(err, a)
		}
		a.Object = &whole
	}
	begin := e.writes.BeginWrite
	if a.Verb == plan.VerbRead {
		begin = e.writes.BeginRead
	}
	done := begin(a.Key)
	observed, err := e.perform(ctx, a)
	if a.Verb == plan.VerbCreateNamespace && apierrors.IsAlreadyExists(err) {
		done(nil)
		return e.foundNamespace(ctx, a)
	}
	if apierror.IsConflict(err) {
		done(nil)
		return e.readInstead(ctx, a)
	}
	if err == nil && isOutdated(observed, a) {
		done(nil)
		return plan.Result{Verb: a.Verb, Failure: outdated(observed, a)}
	}
	done(trackedAnswer(observed, a))
	if err != nil && a.FindConflictingManagers {
		return plan.Result{Verb: a.Verb}
	}
	if err != nil {
		return e.failed(ctx, a, err)
	}
	return plan.Result{Verb: a.Verb, Observed: withLastVersion(observed, a)}
}

// isOutdated reports whether a read returned an older version of an object than the watches have shown, or the recorded
// object with our label, which no watch shows any more.
func isOutdated(observed *plan.Observed, a plan.Action) bool {
	if a.Verb != plan.VerbRead || observed == nil || observed.Presence != plan.Present {
		return false
	}
	if a.Reason == plan.ReasonConfirm {
		return observed.Owner == a.Owner && observed.UID == a.Preconditions.UID
	}
	planned := a.Preconditions.ResourceVersion
	return planned != "" && inspect.Older(observed.ResourceVersion, planned)
}

// outdated returns the failure of a read that returned an older version. The read is repeated, because no watch event
// will follow.
func outdated(observed *plan.Observed, a plan.Action) *plan.Failure {
	contradiction := a.Preconditions.ResourceVersion + " is known"
	if a.Reason == plan.ReasonConfirm {
		contradiction = "the watch does not show the object"
	}
	return &plan.Failure{Class: plan.Transient, Reason: plan.WaitAPIError, Message: fmt.Sprintf(
		"the API server returned the resource version %s of the object, but %s; it is read again",
		observed.ResourceVersion, contradiction)}
}

// readInstead reads the object of an action whose preconditions are not met.
func (e *Executor) readInstead(ctx context.Context, a plan.Action) plan.Result {
	observed, err := e.writer.read(ctx, a)
	result := plan.Result{Verb: plan.VerbRead, Observed: withLastVersion(observed, a)}
	if err != nil {
		result.Failure = failureOf(err, a, e.writer.clients.user)
	}
	return result
}

// foundNamespace returns the result of the creation of a namespace that exists already. Another client has created it
// first, so the action has nothing left to do. If the namespace was to belong to the component, it is read, because its
// label shows whether an earlier request created it. If it cannot be read, the plan learns its owner later.
func (e *Executor) foundNamespace(ctx context.Context, a plan.Action) plan.Result {
	if a.OwnerName == "" {
		return plan.Result{Verb: plan.VerbRead}
	}
	found := e.readInstead(ctx, a)
	return plan.Result{Verb: found.Verb, Observed: found.Observed}
}

func (e *Executor) failed(ctx context.Context, a plan.Action, err error) plan.Result {
	f := failureOf(err, a, e.writer.clients.user)
	e.nameFields(ctx, f, a, err)
	e.nameOthers(ctx, f, a, err)
	return plan.Result{Verb: a.Verb, Failure: e.writer.clients.explainForbidden(ctx, f, a)}
}

// tryDelete makes a dry run of a deletion, with the identity and the preconditions of the deletion. So the same rights,
// webhooks and policies decide about it. A webhook that supports no dry runs is asked only after the API server has
// checked the rights, so the dry run then counts as successful.
func (e *Executor) tryDelete(ctx context.Context, a plan.Action) plan.Result {
	err := discovery.WithRenewal(e.writer.clients.mapper, func() error {
		options := deleteOptions(a)
		options.DryRun = []string{metav1.DryRunAll}
		_, err := e.writer.clients.delete(ctx, a, options)
		return err
	})
	switch {
	case apierror.IsConflict(err), apierror.IsNotFound(err):
		return e.readInstead(ctx, a)
	case err != nil && apierror.CauseOf(err) != plan.CauseDryRunUnsupported:
		return e.failed(ctx, a, err)
	}
	return plan.Result{Verb: a.Verb}
}

// Guards lists the guards of the reconciler in the cluster, with the rights of the operator.
func (e *Executor) Guards(ctx context.Context) ([]Guard, error) { return e.guard.list(ctx) }

// unreadable returns the result of an action whose compressed manifest could not be read.
func unreadable(err error, a plan.Action) plan.Result {
	f := &plan.Failure{Class: plan.Transient, Reason: plan.WaitUnreadable, Message: err.Error()}
	return plan.Result{Verb: a.Verb, Failure: f}
}

// perform carries out an action. The API server may no longer serve the path of the request, because it no longer
// serves the version, or because the type was deleted and defined again. If the path is not served, perform resets the
// mapper and repeats the request once.
func (e *Executor) perform(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	var observed *plan.Observed
	err := discovery.WithRenewal(e.writer.clients.mapper, func() (err error) {
		observed, err = e.writer.perform(ctx, a)
		return err
	})
	return observed, err
}

// withLastVersion sets the resource version of an absent object to its last known version. So a later watch event on
// the object can be compared with the time of its deletion.
func withLastVersion(observed *plan.Observed, a plan.Action) *plan.Observed {
	if observed != nil && observed.Presence == plan.Absent && observed.UID == a.Preconditions.UID {
		observed.ResourceVersion = a.Preconditions.ResourceVersion
	}
	return observed
}

// trackedAnswer returns the state of an object that the watches on our label may take over from a response, or nil if
// they must ignore the response. An object without our label is not part of these watches.
func trackedAnswer(observed *plan.Observed, a plan.Action) *plan.Observed {
	switch {
	case observed == nil || observed.Presence != plan.Present:
		return observed
	case a.Verb == plan.VerbRead && observed.UID != a.Preconditions.UID:
		return nil
	case observed.Owner == a.Owner:
		return observed
	case a.Verb == plan.VerbOrphan:
		// The object has lost our label, so it disappears from the watch. The object is stored as absent here, so that
		// the watch event is not treated as a change by another client.
		return &plan.Observed{Presence: plan.Absent, UID: observed.UID, ResourceVersion: observed.ResourceVersion}
	}
	return nil
}
