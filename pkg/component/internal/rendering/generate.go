package rendering

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// timeShift is added to the time of the second rendering. It changes every part of a date, the weekday, and the
	// time of day.
	timeShift = 400*24*time.Hour + 7*time.Hour + 11*time.Minute + 13*time.Second
	// maxGenerate is the timeout of a call of the generator, which occupies one of the reconciler's workers.
	maxGenerate = time.Minute
)

// job renders the inputs of a pass, once or several times.
type job struct {
	renderer *Renderer
	request  generator.Request
	objects  *lookup.AskedObjects
	// served identifies the capabilities of the request, and asked notes which of them the renderings use.
	served discovery.Summary
	asked  *lookup.Asked
	// exports notes the exports that the renderings ask for.
	exports *lookup.AskedExports
	// results are the messages that the generator reported in the first rendering.
	results *results
}

// options are the differences between renderings of the same inputs.
type options struct {
	// later adds timeShift to the time that the generator gets.
	later bool
	// withoutStatus removes the status of looked-up objects.
	withoutStatus bool
	// realKeys makes a later rendering create its random keys as the first one does, and not in the cheaper way of a
	// trial; see generator.Request.Trial.
	realKeys bool
}

// newJob collects the arguments of the generator: source, contents of references, capabilities and look-ups.
func (r *Renderer) newJob(ctx context.Context, req Request) (job, error) {
	files, err := r.source(ctx, req)
	if err != nil {
		return job{}, err
	}
	references, err := input.Load(ctx, req.Target, req.Inputs.References)
	if err != nil {
		return job{}, err
	}
	events, err := req.Inputs.LoadEventSources(ctx)
	if err != nil {
		return job{}, err
	}
	served, err := lookup.Capabilities(ctx, req.Target)
	if err != nil {
		return job{}, err
	}
	revision := req.Status.Revision
	if !req.Inputs.AreRecorded(req.Status) {
		revision++
	}
	capabilities, asked := lookup.NoteVersions(served.Capabilities)
	exports, askedExports := lookup.NoteExports(req.Exports, req.ExportsLost)
	return job{
		renderer: r, objects: lookup.NewAskedObjects(req.Target), served: served.Summary, asked: asked, results: &results{},
		exports: askedExports,
		request: generator.Request{
			Namespace: req.Inputs.Namespace, Name: req.Inputs.Name, Parameters: req.Inputs.Parameters,
			Component: req.Component, Source: files, SourceDigest: req.Inputs.SourceDigest(), References: references,
			Revision: revision, Digest: req.Inputs.Digest, Capabilities: capabilities, Now: r.options.Clock.Now(),
			Owns: req.looker().Recognises, Exports: exports, Inputs: events,
		},
	}, nil
}

// source returns the source of a component, or nil if the component has none. While the source of new inputs is being
// fetched, it returns a condition error with reason Fetching. If the inputs are applied already, for example after a
// restart, the component is not changed, and the error is passerror.ErrObserving.
func (r *Renderer) source(ctx context.Context, req Request) (fs.FS, error) {
	if req.Inputs.Source == nil {
		return nil, nil
	}
	name := req.name()
	files, err := r.options.Fetches.Take(ctx, name, *req.Inputs.Source, func() { r.options.Wake(name) })
	if errors.Is(err, passerror.ErrObserving) && !req.Inputs.AreRecorded(req.Status) {
		return nil, &passerror.Error{
			Reason: metav1alpha1.ReasonFetching, Message: "the source is being fetched from " + req.Inputs.Source.Location(),
			RetryAfter: input.MaxFetch, // The end of the fetch starts the next pass earlier.
		}
	}
	return files, err
}

// render calls the generator once. proven is that of generator.Prover.
func (j job) render(
	ctx context.Context, o options,
) (objects []*unstructured.Unstructured, proven bool, err error) {
	req := j.request
	req.Report, req.SourceVersion = j.results.add, j.results.addVersion
	if o.later {
		req.Now, req.Report, req.Trial = req.Now.Add(timeShift), func(generator.Result) {}, !o.realKeys
	}
	req.Target, req.Local = j.objects.Lookup(false, o.withoutStatus), j.objects.Lookup(true, o.withoutStatus)
	generated, proven, err := j.renderer.call(ctx, req)
	if killed, ok := errors.AsType[*generator.KilledError](err); ok {
		return nil, false, &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: err.Error(), Cause: killed}
	}
	if waits(err) {
		return nil, false, err
	}
	if err != nil {
		return nil, false, passerror.FromAuthor(err, metav1alpha1.ReasonGenerateFailed, true)
	}
	if err := j.exports.Check(); err != nil {
		return nil, false, generateFailed("%v", err)
	}
	objects = make([]*unstructured.Unstructured, 0, len(generated))
	for i, obj := range generated {
		if obj == nil {
			return nil, false, generateFailed("the generator returned nil as object %d", i+1)
		}
		u, err := manifests.ToUnstructured(obj, func(o runtime.Object) (schema.GroupVersionKind, error) {
			return apiutil.GVKForObject(o, j.renderer.options.Scheme)
		})
		if err != nil {
			return nil, false, generateFailed("%T %s: %v", obj, obj.GetName(), err)
		}
		if err := reserve(ctx, u); err != nil {
			return nil, false, err
		}
		objects = append(objects, u)
	}
	return objects, proven, nil
}

// waits reports whether a rendering failed because the component waits for memory, or for its turn.
func waits(err error) bool { return errors.Is(err, budget.ErrWait) || errors.Is(err, turn.ErrLater) }

// objectCopies is the number of copies of a rendered object that are made of it, to compare and to normalise it.
const objectCopies = 2

// reserve reserves memory for the copies of a rendered object.
func reserve(ctx context.Context, u *unstructured.Unstructured) error {
	err := budget.Reserve(ctx, objectCopies*budget.Value(u.Object))
	if err == nil || errors.Is(err, budget.ErrWait) {
		return err
	}
	return generateFailed("%v", err)
}

func generateFailed(format string, args ...any) error {
	return &passerror.Error{
		Reason: metav1alpha1.ReasonGenerateFailed, Message: fmt.Sprintf(format, args...), Terminal: true,
	}
}

// call calls the generator with a timeout. A panic of the generator is returned as an error.
func (r *Renderer) call(
	ctx context.Context, req generator.Request,
) (objects []client.Object, proven bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxGenerate)
	defer cancel()
	defer r.count(ctx, req.Component)()
	var failures lookup.Failures
	req.Target, req.Local = failures.Of(req.Target), failures.Of(req.Local)
	p := authorcode.Run("the generator", func() {
		objects, proven, err = generator.Prove(ctx, r.options.Generator, req)
		err = failures.Explain(err)
	})
	if p != nil {
		log.FromContext(ctx).Error(p, "recovered from a panic", "stack", string(p.Stack))
		err = p
	}
	return objects, proven, err
}

// count counts the time until the returned function is called, without the time in line for a process.
func (r *Renderer) count(ctx context.Context, component client.Object) func() {
	if r.options.Spent == nil {
		return func() {}
	}
	began := r.options.Clock.Now()
	return func() {
		spent := r.options.Clock.Since(began)
		if t := turn.Of(ctx); t != nil {
			spent -= t.TakeWait()
		}
		r.options.Spent(component.GetNamespace(), max(0, spent))
	}
}
