package execute

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Journal is told of every write: the returned function gets what the answer said of the object, nil where the outcome is not known.
type Journal interface {
	BeginWrite(key manifests.Key) (done func(answer *plan.Observed))
}

// Monitor is told of every action: the context that it returns is that of its requests, and the function gets what came of it.
type Monitor interface {
	Acting(ctx context.Context, a plan.Action) (context.Context, func(plan.Result))
}

// Executor writes the dependents of one reconciler in one target. It is safe for concurrent use.
type Executor struct {
	reconciler string
	// user is who reads and writes dependents; empty where that is who watches.
	user    string
	dynamic dynamic.Interface
	// watching reads, whatever the identity that writes may see, what defines types.
	watching dynamic.Interface
	// seeing is asked first whether an object is gone.
	seeing dynamic.Interface
	// home is the namespace of the component; empty where it has none, or is not known.
	home    string
	rest    rest.Interface
	mapper  meta.RESTMapper
	journal Journal
	monitor Monitor
	turns   *turns
	// seen, which may be nil, gets each object that the API server answers with.
	seen func(*unstructured.Unstructured)
}

// Options are what an Executor needs.
type Options struct {
	// Reconciler is the reconciler's name: the field manager of all writes.
	Reconciler string
	Dynamic    dynamic.Interface
	// REST sends what the dynamic client cannot; only its absolute paths are used.
	REST    rest.Interface
	Mapper  meta.RESTMapper
	Journal Journal
	Monitor Monitor
	// Writers bounds the actions under way, over all runs, which share it fairly.
	Writers int
}

// New returns an Executor.
func New(o Options) *Executor {
	return &Executor{
		reconciler: o.Reconciler, dynamic: o.Dynamic, watching: o.Dynamic, seeing: o.Dynamic, rest: o.REST, mapper: o.Mapper, journal: o.Journal, monitor: o.Monitor,
		turns: newTurns(max(1, o.Writers)),
	}
}

// As returns an Executor that reads and writes dependents as another user, with the clients of that. It shares the bound on requests under way.
func (e *Executor) As(user string, objects dynamic.Interface, raw rest.Interface) *Executor {
	other := *e
	other.user, other.dynamic, other.rest = user, objects, raw
	return &other
}

// Seeing returns an Executor that asks with another client first whether an object is gone.
func (e *Executor) Seeing(objects dynamic.Interface) *Executor {
	other := *e
	other.seeing = objects
	return &other
}

// For returns an Executor that works for a component in a namespace.
func (e *Executor) For(home string) *Executor {
	other := *e
	other.home = home
	return &other
}

// Run carries out the actions in parallel, begun in their order, and returns a result for each, in the same order. Runs at the same time get
// their turns fairly. An action that was not begun because ctx ended, or stop was closed, is a transient failure. With ctx what is under way
// ends too; with stop it is carried out to its end.
func (e *Executor) Run(ctx context.Context, stop <-chan struct{}, actions []plan.Action) []plan.Result {
	results := make([]plan.Result, len(actions))
	share := e.turns.share()
	var wg sync.WaitGroup
	for i, a := range actions {
		if err := share.acquire(ctx, stop); err != nil {
			results[i] = plan.Result{Verb: a.Verb, Failure: Classify(err)}
			continue
		}
		wg.Go(func() {
			defer share.release()
			results[i] = e.monitored(ctx, a)
		})
	}
	wg.Wait()
	return results
}

func (e *Executor) monitored(ctx context.Context, a plan.Action) plan.Result {
	ctx, ended := e.monitor.Acting(ctx, a)
	result := e.run(ctx, a)
	ended(result)
	return result
}

// run carries out one action. A conflict is not a failure: the object is read, and the next plan decides with what was found.
func (e *Executor) run(ctx context.Context, a plan.Action) plan.Result {
	if a.Verb.Guards() {
		return e.guard(ctx, a)
	}
	if a.Object != nil {
		whole, err := a.Object.Whole()
		if err != nil {
			return plan.Result{Verb: a.Verb, Failure: &plan.Failure{Class: plan.Transient, Reason: plan.WaitUnreadable, Message: err.Error()}}
		}
		a.Object = &whole
	}
	done := e.journal.BeginWrite(a.Key)
	observed, err := e.do(ctx, a)
	if a.Verb == plan.VerbCreateNamespace && apierrors.IsAlreadyExists(err) {
		// Somebody else was faster, and that will do.
		done(nil)
		return plan.Result{Verb: plan.VerbRead}
	}
	if isConflict(err) {
		done(nil)
		observed, err = e.read(ctx, a)
		result := plan.Result{Verb: plan.VerbRead, Observed: dated(observed, a)}
		if err != nil {
			result.Failure = e.failure(err, a)
		}
		return result
	}
	done(journaled(observed, a))
	if err != nil && a.NameRivals {
		return plan.Result{Verb: a.Verb}
	}
	if err != nil {
		return plan.Result{Verb: a.Verb, Failure: e.goneWithRights(ctx, e.failure(err, a), a)}
	}
	return plan.Result{Verb: a.Verb, Observed: dated(observed, a)}
}

// dated gives an object that is gone the version that it was last known in, so that a watch which shows an older object of its name can
// be told from one which shows its successor.
func dated(observed *plan.Observed, a plan.Action) *plan.Observed {
	if observed != nil && observed.Presence == plan.Absent && observed.UID == a.Preconditions.UID {
		observed.ResourceVersion = a.Preconditions.ResourceVersion
	}
	return observed
}

// failure classifies an error. A right that is missing is named by the API server, with the user who lacks it. What it says of a manifest
// may quote it, which must not happen to a Secret.
func (e *Executor) failure(err error, a plan.Action) *plan.Failure {
	f := Classify(err)
	if f.Cause == plan.CauseMissingRight {
		f.Message += "; " + rights.Advice(f.Message, e.user, rights.Grant)
	}
	if a.Key.GroupKind() == (schema.GroupKind{Kind: "Secret"}) && f.Class == plan.Terminal && f.Reason != plan.WaitForbidden {
		f = withheld(f, err)
	}
	advise(f, err, a)
	return f
}

// journaled returns what the watch of our label may know of an answer: an object without our label is none of its business, nor is one that
// a read shows and the watch does not. A read may be answered late, and nothing would ever tell the watch that the object is gone.
func journaled(observed *plan.Observed, a plan.Action) *plan.Observed {
	switch {
	case observed == nil || observed.Presence != plan.Present:
		return observed
	case a.Verb == plan.VerbRead && observed.UID != a.Preconditions.UID:
		return nil
	case observed.Owner == a.Owner:
		return observed
	case a.Verb == plan.VerbOrphan:
		// It vanishes from the watch, and that is no news.
		return &plan.Observed{Presence: plan.Absent, UID: observed.UID, ResourceVersion: observed.ResourceVersion}
	}
	return nil
}

// do carries out an action, and once more where the path was wrong because a version is served no more, or the type was defined anew.
func (e *Executor) do(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	observed, err := e.try(ctx, a)
	m, ok := e.mapper.(meta.ResettableRESTMapper)
	if !ok || !isUnknownPath(err) {
		return observed, err
	}
	m.Reset()
	return e.try(ctx, a)
}

// isUnknownPath says that the API server serves nothing at the path of a request: not that an object is missing there.
func isUnknownPath(err error) bool { return isNotServed(err) && apierrors.IsNotFound(err) }

func (e *Executor) try(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	if a.TakesOver() {
		var err error
		if a, err = e.evict(ctx, a); err != nil {
			return nil, err
		}
	}
	switch a.Verb {
	case plan.VerbCreate:
		return e.create(ctx, a)
	case plan.VerbApply:
		return e.apply(ctx, a)
	case plan.VerbReplace:
		return e.replace(ctx, a)
	case plan.VerbCreateNamespace:
		return e.createNamespace(ctx, a)
	case plan.VerbDelete:
		return e.delete(ctx, a)
	case plan.VerbOrphan:
		return e.orphan(ctx, a)
	case plan.VerbRead:
		return e.read(ctx, a)
	case plan.VerbGuard, plan.VerbProbe, plan.VerbUnguard:
	}
	return nil, &unknownVerbError{a}
}

// unknownVerbError is a plan that this executor cannot carry out.
type unknownVerbError struct{ action plan.Action }

func (e *unknownVerbError) Error() string {
	return "no such verb: " + string(e.action.Verb) + " " + e.action.Key.String()
}

// mapping finds the resource of an action. Where there is no manifest to write, any served version will do.
func (e *Executor) mapping(a plan.Action) (*meta.RESTMapping, error) {
	gk := schema.GroupKind{Group: a.Key.Group, Kind: a.Key.Kind}
	mapping, err := e.mapper.RESTMapping(gk, a.Version)
	if err != nil && a.Object == nil {
		return e.mapper.RESTMapping(gk)
	}
	return mapping, err
}

// resource returns the client of the type of an action.
func (e *Executor) resource(a plan.Action) (dynamic.ResourceInterface, error) {
	return e.resourceBy(a, e.dynamic)
}

func (e *Executor) resourceBy(a plan.Action, objects dynamic.Interface) (dynamic.ResourceInterface, error) {
	mapping, err := e.mapping(a)
	if err != nil {
		return nil, err
	}
	if a.Key.Namespace == "" {
		return objects.Resource(mapping.Resource), nil
	}
	return objects.Resource(mapping.Resource).Namespace(a.Key.Namespace), nil
}

// observe reduces an answer to facts, compared with the manifest where the action has one.
func (e *Executor) observe(obj *unstructured.Unstructured, a plan.Action) *plan.Observed {
	if e.seen != nil {
		e.seen(obj)
	}
	o := inspect.Object(obj, e.reconciler)
	if a.Object != nil {
		o = inspect.Compare(o, obj, *a.Object, a.Policy, e.reconciler)
	}
	if a.NameRivals {
		o.Rivals = inspect.Rivals(obj, *a.Object, a.Policy, e.reconciler)
	}
	return &o
}
