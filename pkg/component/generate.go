package component

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// timeShift is by how much the time of the second rendering differs: in every part of a date, the weekday, and the time of day.
const timeShift = 400*24*time.Hour + 7*time.Hour + 11*time.Minute + 13*time.Second

// press renders the inputs of a pass, as often as needed.
type press[T Component] struct {
	reconciler *Reconciler[T]
	request    generator.Request
	recorder   *recorder
	// served identifies the capabilities of the request.
	served discovery.Summary
	// told takes what the generator says besides when it renders for the first time.
	told *results
}

// occasion says how one rendering differs from another of the same inputs.
type occasion struct {
	// later says that it pretends to be later.
	later bool
	// withoutStatus keeps the status of what is looked up from it.
	withoutStatus bool
}

// newPress collects what the generator gets.
func (r *Reconciler[T]) newPress(ctx context.Context, component T, in inputs) (press[T], error) {
	files, err := r.source(component, in)
	if err != nil {
		return press[T]{}, err
	}
	references, err := in.target.loadReferences(ctx, in.references)
	if err != nil {
		return press[T]{}, err
	}
	served, err := in.target.engine.capabilities(ctx)
	if err != nil {
		return press[T]{}, err
	}
	revision := component.GetStatus().Revision
	if !in.standing(component.GetStatus()) {
		revision++
	}
	return press[T]{
		reconciler: r, recorder: newRecorder(in.target), served: served.Summary, told: &results{},
		request: generator.Request{
			Namespace: in.namespace, Name: in.name, Parameters: in.parameters, Component: component,
			Source: files, SourceDigest: in.sourceDigest(), References: references, Revision: revision, Digest: in.digest, Capabilities: served.Capabilities, Now: r.clock.Now(),
		},
	}, nil
}

// capabilities returns the capabilities of the target. A failure is a problem that is retried.
func (e *Engine) capabilities(ctx context.Context) (discovery.Capabilities, error) {
	now, err := e.discovery.Capabilities(ctx)
	if err != nil {
		return now, &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("ask the API server what it serves: %v", err)}
	}
	return now, nil
}

// render calls the generator once.
func (p press[T]) render(ctx context.Context, o occasion) ([]*unstructured.Unstructured, error) {
	req := p.request
	req.Report = p.told.add
	if o.later {
		req.Now, req.Report = req.Now.Add(timeShift), func(generator.Result) {}
	}
	req.Target = recordingLookup{recorder: p.recorder, withoutStatus: o.withoutStatus}
	req.Local = recordingLookup{recorder: p.recorder, local: true, withoutStatus: o.withoutStatus}
	generated, err := p.reconciler.callGenerator(ctx, req)
	if err != nil {
		return nil, condition.FromAuthor(err, metav1alpha1.ReasonGenerateFailed, true)
	}
	objects := make([]*unstructured.Unstructured, 0, len(generated))
	for i, obj := range generated {
		if obj == nil {
			return nil, &condition.Error{Reason: metav1alpha1.ReasonGenerateFailed, Message: fmt.Sprintf("the generator returned nil as object %d", i+1), Terminal: true}
		}
		u, err := manifests.ToUnstructured(obj, func(o runtime.Object) (schema.GroupVersionKind, error) {
			return apiutil.GVKForObject(o, p.reconciler.client.Scheme())
		})
		if err != nil {
			return nil, &condition.Error{Reason: metav1alpha1.ReasonGenerateFailed, Message: fmt.Sprintf("%T %s: %v", obj, obj.GetName(), err), Terminal: true}
		}
		objects = append(objects, u)
	}
	return objects, nil
}

// maxGenerate is how long a generator may take: it holds up a worker.
const maxGenerate = time.Minute

// callGenerator calls the generator in bounds: in time, if it honours its context, and without taking the operator down when it panics.
func (r *Reconciler[T]) callGenerator(ctx context.Context, req generator.Request) (objects []client.Object, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxGenerate)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = panicked(ctx, "the generator", cause)
		}
	}()
	var lookups lookupFailures
	req.Target, req.Local = lookups.watch(req.Target), lookups.watch(req.Local)
	objects, err = r.generator.Generate(ctx, req)
	return objects, lookups.explain(err)
}
