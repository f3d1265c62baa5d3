package preview

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	simulation "github.com/fairlead-io/fairlead/pkg/component/internal/preview"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/wiring"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Preview computes the writes that a reconciler would make for a component. Preview runs the reconciler's own passes,
// and all write requests are dry runs. Preview sends no dry run to an aggregated API that does not declare support for
// dry runs. Preview reads, and makes dry runs, with the rights of Config, or as the user in the field User.
type Preview[T component.Component] struct {
	// Config is the configuration of a client for the cluster of the component.
	Config *rest.Config
	// Scheme contains the types T and those of the typed objects that Generator returns.
	Scheme *runtime.Scheme
	// Name, Generator and Options must be the same as for the reconciler. If Generator is nil, only Delete can be used.
	Name      string
	Generator generator.Generator
	Options   component.Options
	// Contents replace the contents of referenced objects, for a preview of a change of these objects. Referenced
	// objects that are not in Contents are read from the cluster.
	Contents generator.References
	// Inputs are the values of event sources, by their names, that are inputs; see eventsource.AsInput. A preview runs no
	// event sources, so a source that is missing here has no value.
	Inputs map[string]any
	// Conditions are the conditions that Reconciler.WithCondition added, by their names.
	Conditions map[string]component.ComponentCondition[T]
	// User is impersonated for the reads of referenced objects, of the kubeconfig and of looked-up objects, and for dry
	// runs in the cluster of the component. The user of Config needs the right to impersonate User. If User is empty, the
	// rights of Config are used. Set User to the identity of the component if the preview sends data to an address that
	// the author of the component chose: if the component has a kubeconfig, or if Generator calls such an address.
	// Otherwise the author gets data that only the user of Config may read. Watches, and the reads of records, always use
	// the rights of Config.
	User string
	// Credentials includes the references with credentials in the request for Generator. They are left out by default,
	// because most generators do not need them.
	Credentials bool
	// AdoptUnowned assumes that the component may take over all existing objects without an owner, except those with the
	// adoption policy never; see component.AdoptHolder. The forecast then has a step for each of them, with the one who
	// has it.
	AdoptUnowned bool
}

// ErrPlacement is in the chain of a RefusedError if the target cluster, namespace or name of the component changed
// while dependents exist in the previous target.
var ErrPlacement = passerror.ErrPlacement

// RefusedError is an error that would end a pass of the reconciler before the pass changes any dependent.
type RefusedError struct {
	// Reason and Message are those of the conditions that the component would have.
	Reason, Message string
	// Terminal is set if a retry cannot succeed until a person or another controller changes something.
	Terminal bool
	// Cause is the error of the author's code, such as the generator, or of the rendered manifests, that Message quotes.
	// Cause is nil for other errors.
	Cause error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Message }

// Unwrap returns the cause, if there is one.
func (e *RefusedError) Unwrap() error { return e.Cause }

// Apply returns the forecast for an apply of the given component, which need not exist in the cluster. The status of
// the component is used as the record of the last apply. If the error is a RefusedError, nothing would be applied.
func (p Preview[T]) Apply(ctx context.Context, obj T) (result.Forecast, error) {
	return p.run(ctx, obj, (*reconcile.Pass).Apply, func(*simulation.Simulator) {})
}

// Render renders the given component as Apply does, and looks at none of its dependents. It returns the dependents
// whose types the API server does not serve, and that nothing in the component defines. If the error is a RefusedError,
// nothing would be applied.
func (p Preview[T]) Render(ctx context.Context, obj T) ([]result.Waiting, error) {
	renderOnly := func(s *simulation.Simulator) { s.RenderOnly = true }
	forecast, err := p.run(ctx, obj, (*reconcile.Pass).Apply, renderOnly)
	return forecast.Waiting, err
}

// Delete returns the forecast for the deletion of a component.
func (p Preview[T]) Delete(ctx context.Context, obj T) (result.Forecast, error) {
	return p.run(ctx, obj, (*reconcile.Pass).Delete, func(*simulation.Simulator) {})
}

// Blockers returns only the field Blocked of the forecast for the deletion of a component. Blockers makes no dry runs.
func (p Preview[T]) Blockers(ctx context.Context, obj T) ([]result.Blocked, error) {
	blockersOnly := func(s *simulation.Simulator) { s.BlockersOnly = true }
	forecast, err := p.run(ctx, obj, (*reconcile.Pass).Delete, blockersOnly)
	return forecast.Blocked, err
}

func (p Preview[T]) run(
	ctx context.Context, obj T,
	simulate func(*reconcile.Pass, context.Context, *reconcile.Component) (outcome.Outcome, error),
	limit func(*simulation.Simulator),
) (result.Forecast, error) {
	ctx, cancel := context.WithCancel(logging.Context(ctx))
	defer cancel()
	copied, ok := obj.DeepCopyObject().(T)
	if !ok {
		return result.Forecast{}, fmt.Errorf("a copy of %T is another type", obj)
	}
	pass, simulator, err := p.open(ctx, copied)
	if err != nil {
		return result.Forecast{}, err
	}
	limit(simulator)
	simulator.Published = copied.GetStatus().Exports
	c := &reconcile.Component{Object: copied, State: &reconcile.State{}, Declared: pass.Author.Declare(copied)}
	c.AdoptUnowned = p.AdoptUnowned
	last := copied.GetStatus().Revision
	// A pass whose rendering contains outdated values of exports is made again, as by the reconciler. Pass.Apply bounds
	// this.
	for again := true; again; {
		o, err := simulate(pass, ctx, c)
		if err != nil {
			return result.Forecast{}, refused(err)
		}
		again = o.Asked != nil
	}
	forecast := simulator.Forecast
	forecast.Revision = copied.GetStatus().Revision
	forecast.NewRevision = forecast.Revision != last
	forecast.Suspended, forecast.LostPhases = components.Suspended(copied), simulator.LostPhases
	forecast.Finalizers = pass.Finalizers.Others(copied)
	return forecast, nil
}

// open returns a pass over a component that only makes dry runs.
func (p Preview[T]) open(ctx context.Context, obj T) (*reconcile.Pass, *simulation.Simulator, error) {
	fetcher, err := p.fetch(ctx, obj)
	if err != nil {
		return nil, nil, err
	}
	r := component.NewReconciler[T](p.Name, p.Generator, p.Options)
	for name, holds := range p.Conditions {
		r.WithCondition(name, holds)
	}
	return r.OpenPreview(ctx, wiring.Preview{
		Config: p.Config, Scheme: p.Scheme, Component: obj, Fetcher: fetcher,
		Contents: p.Contents, Credentials: p.Credentials, Inputs: p.Inputs, User: p.User,
	})
}

// refused converts an error of the internal package passerror to a RefusedError, which callers outside this module can
// detect by its type.
func refused(err error) error {
	failure := passerror.Of(err)
	if failure == nil || passerror.Interrupted(err) {
		return err
	}
	return &RefusedError{
		Reason:   failure.Reason,
		Message:  failure.Message,
		Terminal: failure.Terminal,
		Cause:    failure.Cause,
	}
}

// fetch fetches the source of the component, if it has a source outside the cluster.
func (p Preview[T]) fetch(ctx context.Context, obj T) (component.Fetcher, error) {
	holder, ok := components.Implementation[component.SourceHolder](obj)
	if !ok || holder.Source() == nil || p.Options.Fetcher == nil {
		return p.Options.Fetcher, nil
	}
	files, err := p.Options.Fetcher.Fetch(ctx, *holder.Source())
	if err != nil {
		err = fmt.Errorf("fetch the source: %w", err)
		return nil, refused(passerror.FromAuthor(err, metav1alpha1.ReasonFetchFailed, true))
	}
	return simulation.Source{Files: files}, nil
}
