package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// author gives a pass access to the code of the operator's author: the optional interfaces of a component, and the
// hooks. No other type checks whether a component implements an optional interface.
type author[T Component] struct {
	reconciler string
	options    Options
	// ignore are the parsed rules of Options.Dependents.Ignore.
	ignore []normalise.IgnoreRule
	hooks  []Hooks[T]
	// conditions are the conditions in Go that see the component.
	conditions map[string]ComponentCondition[T]
	// adoptField and dependencyField are the fields of the component with the lists of its AdoptHolder and its
	// DependencyHolder, for messages; see specFieldOf.
	adoptField, dependencyField string
}

// author returns the author of the reconciler's code.
func (r *Reconciler[T]) author() author[T] {
	return author[T]{
		reconciler: r.name, options: r.options, ignore: r.ignore, hooks: r.hooks, conditions: r.conditions,
		adoptField:      specFieldOf(reflect.TypeFor[T](), reflect.TypeFor[[]metav1alpha1.AdoptRule]()),
		dependencyField: specFieldOf(reflect.TypeFor[T](), reflect.TypeFor[[]metav1alpha1.Dependency]()),
	}
}

// ignoreRules returns the parsed rules of ignored fields in the options of the reconciler with the given name.
func (o Options) ignoreRules(name string) ([]normalise.IgnoreRule, error) {
	rules, err := normalise.NewIgnoreRules(name, manifests.IgnoredByOption, o.Dependents.Ignore)
	if err != nil {
		return nil, fmt.Errorf("Options.Dependents.Ignore: %w", err)
	}
	return rules, nil
}

// Declare implements reconcile.Author.
func (a author[T]) Declare(obj components.Object) reconcile.Declared {
	d := reconcile.Declared{Target: declaredTarget(obj)}
	d.Namespace, d.TargetName = placement(obj)
	if h, ok := components.Implementation[PolicyHolder](obj); ok {
		d.Policies = h.Policies()
	}
	if h, ok := components.Implementation[AdoptHolder](obj); ok {
		d.Adopt, d.AdoptField = h.AdoptRules(), a.adoptField
	}
	if e, ok := components.Implementation[EmptyAllower](obj); ok {
		d.AllowEmpty = e.AllowEmpty()
	}
	if h, ok := components.Implementation[TypeHolder](obj); ok {
		d.ManagedTypes = h.AdditionalManagedTypes()
	}
	// Validate reports invalid rules.
	if d.Ignore, _ = a.ignoreRules(obj); d.Ignore == nil {
		d.Ignore = a.ignore
	}
	if e, ok := components.Implementation[Exporter](obj); ok {
		d.Exports = e.Exports()
	}
	// Validate reports an error.
	d.Externals, _ = a.externals(obj)
	return d
}

// externals returns the handlers of the externals of a component.
func (a author[T]) externals(obj components.Object) ([]external.Driver, error) {
	if a.options.ExternalsOf == nil {
		return a.options.Externals, nil
	}
	own, err := a.options.ExternalsOf(obj)
	if err != nil {
		return nil, err
	}
	drivers := slices.Concat(a.options.Externals, own)
	return drivers, external.Validate(drivers...)
}

// ignoreRules returns the rules of ignored fields of the options and of a component.
func (a author[T]) ignoreRules(obj components.Object) ([]normalise.IgnoreRule, error) {
	h, ok := components.Implementation[IgnoreHolder](obj)
	if !ok {
		return a.ignore, nil
	}
	rules, err := normalise.NewIgnoreRules(a.reconciler, manifests.IgnoredBySpec, h.IgnoreRules())
	if err != nil {
		return nil, err
	}
	return slices.Concat(a.ignore, rules), nil
}

// Intervals implements reconcile.Author. Intervals that the component does not set are taken from the options.
func (a author[T]) Intervals(obj components.Object) schedule.Intervals {
	in := schedule.Intervals{
		Resync: a.options.Intervals.Resync, Retry: a.options.Intervals.Retry, Timeout: a.options.Intervals.Timeout,
	}
	if c, ok := components.Implementation[Resyncer](obj); ok {
		in.Resync = setOr(c.ResyncInterval(), in.Resync)
	}
	if c, ok := components.Implementation[Retrier](obj); ok && c.RetryInterval() > 0 {
		in.Retry = c.RetryInterval()
	}
	if c, ok := components.Implementation[Timeouter](obj); ok {
		in.Timeout = setOr(c.Timeout(), in.Timeout)
	}
	return in
}

// setOr returns an interval that a component sets, or else the interval of the options.
func setOr(interval, option time.Duration) time.Duration {
	if interval == metav1alpha1.UnsetInterval {
		return option
	}
	return interval
}

// placement returns the namespace and the name under which a component is rendered.
func placement(obj components.Object) (namespace, name string) {
	if p, ok := components.Implementation[Placer](obj); ok {
		namespace, name = p.Placement()
	}
	return cmp.Or(namespace, obj.GetNamespace()), cmp.Or(name, obj.GetName())
}

// declaredTarget returns the fields of a component that determine the target cluster and the identity of requests.
func declaredTarget(obj any) target.Declaration {
	var d target.Declaration
	if i, ok := components.Implementation[Impersonator](obj); ok {
		d.Impersonate.User, d.Impersonate.Groups = i.Impersonation()
	}
	if h, ok := components.Implementation[ServiceAccountHolder](obj); ok {
		d.ServiceAccount = h.ServiceAccountName()
	}
	if t, ok := components.Implementation[Targeter](obj); ok {
		d.KubeConfig = t.KubeConfig()
	}
	return d
}

// Validate implements reconcile.Author.
func (a author[T]) Validate(obj components.Object) error {
	var errs []error
	if v, ok := components.Implementation[Validator](obj); ok {
		errs = append(errs, v.Validate())
	}
	if _, err := a.ignoreRules(obj); err != nil {
		errs = append(errs, fmt.Errorf("rules of ignored fields: %w", err))
	}
	if _, err := a.externals(obj); err != nil {
		errs = append(errs, fmt.Errorf("handlers of externals: %w", err))
	}
	if h, ok := components.Implementation[DependencyHolder](obj); ok {
		errs = append(errs, checkDependencies(obj, h.Dependencies(), a.fieldOfDependencies()))
	}
	if err := errors.Join(errs...); err != nil {
		return passerror.InvalidSpec(err)
	}
	return nil
}

// Inputs implements reconcile.Author.
func (a author[T]) Inputs(obj components.Object) (input.Declaration, error) {
	component, err := typed[T](obj)
	if err != nil {
		return input.Declaration{}, err
	}
	d := input.Declaration{}
	d.Namespace, d.Name = placement(obj)
	if d.Parameters, err = component.GetParameters(); err != nil {
		return input.Declaration{}, passerror.InvalidSpec(err)
	}
	if h, ok := components.Implementation[TypeHolder](obj); ok {
		d.ManagedTypes = h.AdditionalManagedTypes()
	}
	if h, ok := components.Implementation[ReferenceHolder](obj); ok {
		// A component without references gets an empty list, not nil. An empty list ends the watches of the component's
		// previous references.
		d.References = append([]metav1alpha1.Reference{}, h.References()...)
	}
	d.Source, d.SourceName = sourceOf(obj)
	if s, ok := components.Implementation[SourceDigester](obj); ok {
		d.SourceContent = s.SourceDigest()
	}
	d.Rendered, err = renderedPart(component)
	return d, err
}

// sourceOf returns the component's source outside the cluster, or nil if the component has no such source. sourceOf
// also returns the name of the source for the history in the status.
func sourceOf(obj any) (source *metav1alpha1.SourceReference, name string) {
	if h, ok := components.Implementation[SourceHolder](obj); ok && h.Source() != nil {
		source = new(*h.Source())
		name = source.Location()
	}
	if n, ok := components.Implementation[SourceNamer](obj); ok {
		name = n.SourceName()
	}
	return source, name
}

// Hooks implements reconcile.Author.
func (a author[T]) Hooks(point reconcile.Point) []reconcile.Hook {
	var hooks []reconcile.Hook
	for _, h := range a.hooks {
		if hook := h.at(point); hook != nil {
			hooks = append(hooks, hook)
		}
	}
	return hooks
}

// at returns the hook for a point of a pass, or nil.
func (h Hooks[T]) at(point reconcile.Point) reconcile.Hook {
	switch point {
	case reconcile.PostRead:
		return untyped(h.PostRead)
	case reconcile.PreReconcile:
		return untyped(h.PreReconcile)
	case reconcile.PostReconcile:
		return untyped(h.PostReconcile)
	case reconcile.PreDelete:
		return untyped(h.PreDelete)
	case reconcile.PostDelete:
		return untyped(h.PostDelete)
	case reconcile.PostFailure:
		return untypedResult(h.PostFailure, func(r reconcile.Result) *PassError { return publicFailure(r.Failure) })
	case reconcile.PostPass:
		return untypedResult(h.PostPass, func(r reconcile.Result) PassResult {
			return PassResult{Outcome: r.Outcome.Outcome, Failure: publicFailure(r.Failure)}
		})
	}
	return nil
}

// untyped converts a hook, which may be nil.
func untyped[T Component](hook Hook[T]) reconcile.Hook {
	if hook == nil {
		return nil
	}
	return func(
		ctx context.Context, obj components.Object, dependents reconcile.DependentReader, _ reconcile.Result,
	) error {
		component, err := typed[T](obj)
		if err != nil {
			return err
		}
		return hook(ctx, component, dependents)
	}
}

// untypedResult converts a hook that gets a part of the result. The hook may be nil.
func untypedResult[T Component, R any](
	hook func(context.Context, T, DependentReader, R) error, part func(reconcile.Result) R,
) reconcile.Hook {
	if hook == nil {
		return nil
	}
	return func(
		ctx context.Context, obj components.Object, dependents reconcile.DependentReader, result reconcile.Result,
	) error {
		component, err := typed[T](obj)
		if err != nil {
			return err
		}
		return hook(ctx, component, dependents, part(result))
	}
}
