package execute

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Rehearsed is what came of an action that was rehearsed.
type Rehearsed struct {
	plan.Result
	// Before is the object as it is, nil where there is none. After is what the API server would make of it; nil where it refused, or where the
	// object is not as the action supposes.
	Before, After *unstructured.Unstructured
}

// Rehearse carries out a create, an update or a read as Run does, and keeps what the API server answers. It writes as Run does: the clients of the
// executor must be such that the API server is asked for dry runs.
func (e *Executor) Rehearse(ctx context.Context, a plan.Action) Rehearsed {
	var r Rehearsed
	if a.Preconditions.UID != "" && a.Verb != plan.VerbRead {
		r.Before, _ = e.Live(ctx, a)
	}
	rehearsing := *e
	// A watch that was told of a write would wait for the event of it.
	rehearsing.journal = deaf{}
	rehearsing.seen = func(obj *unstructured.Unstructured) { r.After = obj.DeepCopy() }
	if a.Verb == plan.VerbApply && a.Migrate {
		r.Result = rehearsing.rehearseHandover(ctx, a)
	} else {
		r.Result = rehearsing.Run(ctx, nil, []plan.Action{a})[0]
	}
	if r.Failure != nil || r.Verb != a.Verb || a.Verb == plan.VerbRead {
		r.After = nil
	}
	return r
}

// Live reads the object of an action as it is; nil where there is none.
func (e *Executor) Live(ctx context.Context, a plan.Action) (*unstructured.Unstructured, error) {
	obj, err := e.getBy(ctx, a, e.dynamic)
	if isNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// deaf is a journal that nobody reads.
type deaf struct{}

func (deaf) BeginWrite(manifests.Key) func(*plan.Observed) { return func(*plan.Observed) {} }

// rehearseHandover updates an object whose managed fields are put in order before. That takes two writes, of which the second builds on the
// first; as nothing is written, one has to do for both.
func (e *Executor) rehearseHandover(ctx context.Context, a plan.Action) plan.Result {
	whole, err := a.Object.Whole()
	if err != nil {
		return plan.Result{Verb: a.Verb, Failure: &plan.Failure{Class: plan.Transient, Reason: plan.WaitUnreadable, Message: err.Error()}}
	}
	a.Object = &whole
	observed, err := e.handedOver(ctx, a)
	if err != nil {
		return plan.Result{Verb: a.Verb, Failure: e.failure(err, a)}
	}
	return plan.Result{Verb: a.Verb, Observed: observed}
}

// handedOver asks for what an object would be without those of our fields that the manifest does not name, among them those of predecessors.
func (e *Executor) handedOver(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	entries, err := e.handOver(a)(live.GetManagedFields())
	if err != nil {
		return nil, err
	}
	if a.TakesOver() {
		if live, err = e.rehearseEviction(ctx, live, a); err != nil {
			return nil, err
		}
	}
	owned := inspect.Entry(entries, e.reconciler, inspect.Operation(metav1alpha1.UpdateSSAOverride))
	merged, _ := merge(live, a.Object.Body.Object, owned)
	updated := &unstructured.Unstructured{Object: merged}
	updated.SetManagedFields(entries)
	updated.SetResourceVersion(live.GetResourceVersion())
	obj, err := resource.Update(ctx, updated, metav1.UpdateOptions{FieldManager: e.reconciler})
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}

// rehearseEviction asks for what an object would be once it is taken from who owns it.
func (e *Executor) rehearseEviction(ctx context.Context, live *unstructured.Unstructured, a plan.Action) (*unstructured.Unstructured, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"metadata": evicted(live, a.Object.Body, e.reconciler)})
	if err != nil {
		return nil, err
	}
	return resource.Patch(ctx, a.Key.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: e.reconciler})
}
