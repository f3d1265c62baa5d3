package component

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// author gives a pass access to the code of the operator's author: the optional interfaces of a component, and the
// hooks. No other type checks whether a component implements an optional interface.
type author[T Component] struct {
	reconciler string
	options    Options
	// ignore are the parsed rules of Options.Ignore.
	ignore []manifests.IgnoreRule
	hooks  Hooks[T]
}

// author returns the author of the reconciler's code.
func (r *Reconciler[T]) author() author[T] {
	return author[T]{reconciler: r.name, options: r.options, ignore: r.ignore, hooks: r.hooks}
}

// ignoreRules returns the parsed rules of ignored fields in the options of the reconciler with the given name.
func (o Options) ignoreRules(name string) ([]manifests.IgnoreRule, error) {
	rules, err := manifests.NewIgnoreRules(name, manifests.IgnoredByOption, o.Ignore)
	if err != nil {
		return nil, fmt.Errorf("Options.Ignore: %w", err)
	}
	return rules, nil
}

// Declare implements reconcile.Author.
func (a author[T]) Declare(obj components.Object) reconcile.Declared {
	d := reconcile.Declared{Namespace: obj.GetNamespace(), Target: declaredTarget(obj)}
	if p, ok := obj.(Placer); ok {
		d.Namespace, _ = p.Placement()
	}
	if h, ok := obj.(PolicyHolder); ok {
		d.Policies = h.Policies()
	}
	if e, ok := obj.(EmptyAllower); ok {
		d.AllowEmpty = e.AllowEmpty()
	}
	if h, ok := obj.(TypeHolder); ok {
		d.ManagedTypes = h.AdditionalManagedTypes()
	}
	// Validate reports invalid rules.
	if d.Ignore, _ = a.ignoreRules(obj); d.Ignore == nil {
		d.Ignore = a.ignore
	}
	if e, ok := obj.(Exporter); ok {
		d.Exports = e.Exports()
	}
	return d
}

// ignoreRules returns the rules of ignored fields of the options and of a component.
func (a author[T]) ignoreRules(obj components.Object) ([]manifests.IgnoreRule, error) {
	h, ok := obj.(IgnoreHolder)
	if !ok {
		return a.ignore, nil
	}
	rules, err := manifests.NewIgnoreRules(a.reconciler, manifests.IgnoredBySpec, h.IgnoreRules())
	if err != nil {
		return nil, err
	}
	return slices.Concat(a.ignore, rules), nil
}

// Intervals implements reconcile.Author. Intervals that the component does not set are taken from the options.
func (a author[T]) Intervals(obj components.Object) schedule.Intervals {
	in := schedule.Intervals{Resync: a.options.ResyncInterval, Retry: a.options.RetryInterval, Timeout: a.options.Timeout}
	if c, ok := obj.(Resyncer); ok {
		in.Resync = c.ResyncInterval()
	}
	if c, ok := obj.(Retrier); ok && c.RetryInterval() > 0 {
		in.Retry = c.RetryInterval()
	}
	if c, ok := obj.(Timeouter); ok {
		in.Timeout = c.Timeout()
	}
	return in
}

// declaredTarget returns the fields of a component that determine the target cluster and the identity of requests.
func declaredTarget(obj any) target.Declaration {
	var d target.Declaration
	if i, ok := obj.(Impersonator); ok {
		d.Impersonate.User, d.Impersonate.Groups = i.Impersonation()
	}
	if h, ok := obj.(ServiceAccountHolder); ok {
		d.ServiceAccount = h.ServiceAccountName()
	}
	if t, ok := obj.(Targeter); ok {
		d.KubeConfig = t.KubeConfig()
	}
	return d
}

// Validate implements reconcile.Author.
func (a author[T]) Validate(obj components.Object) error {
	var errs []error
	if v, ok := obj.(Validator); ok {
		errs = append(errs, v.Validate())
	}
	if _, err := a.ignoreRules(obj); err != nil {
		errs = append(errs, fmt.Errorf("rules of ignored fields: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		return condition.InvalidSpec(err)
	}
	return nil
}

// Inputs implements reconcile.Author.
func (a author[T]) Inputs(obj components.Object) (input.Declaration, error) {
	component, err := typed[T](obj)
	if err != nil {
		return input.Declaration{}, err
	}
	d := input.Declaration{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if p, ok := obj.(Placer); ok {
		d.Namespace, d.Name = p.Placement()
	}
	if d.Parameters, err = component.GetParameters(); err != nil {
		return input.Declaration{}, condition.InvalidSpec(err)
	}
	if h, ok := obj.(TypeHolder); ok {
		d.ManagedTypes = h.AdditionalManagedTypes()
	}
	if h, ok := obj.(ReferenceHolder); ok {
		// A component without references gets an empty list, not nil. An empty list ends the watches of the component's
		// former references.
		d.References = append([]metav1alpha1.Reference{}, h.References()...)
	}
	d.Source, d.SourceName = sourceOf(obj)
	if s, ok := obj.(SourceDigester); ok {
		d.SourceContent = s.SourceDigest()
	}
	d.Rendered, err = renderedPart(component)
	return d, err
}

// sourceOf returns the component's source outside the cluster, or nil if the component has no such source. sourceOf
// also returns the name of the source for the history in the status.
func sourceOf(obj any) (source *metav1alpha1.SourceReference, name string) {
	if h, ok := obj.(SourceHolder); ok && h.Source() != nil {
		source = new(*h.Source())
		name = source.Location()
	}
	if n, ok := obj.(SourceNamer); ok {
		name = n.SourceName()
	}
	return source, name
}

// renderedPart returns the part of a component that is an input of its rendering: the result of its InputSelector, or
// else its spec.
func renderedPart(component Component) (any, error) {
	if s, ok := component.(InputSelector); ok {
		return s.RenderInputs(), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(component)
	if err != nil {
		return nil, err
	}
	return content["spec"], nil
}

// Hook implements reconcile.Author.
func (a author[T]) Hook(point reconcile.Point) reconcile.Hook {
	hook := map[reconcile.Point]Hook[T]{
		reconcile.PostRead: a.hooks.PostRead, reconcile.PreReconcile: a.hooks.PreReconcile,
		reconcile.PostReconcile: a.hooks.PostReconcile, reconcile.PreDelete: a.hooks.PreDelete,
		reconcile.PostDelete: a.hooks.PostDelete,
	}[point]
	if hook == nil {
		return nil
	}
	return func(ctx context.Context, obj components.Object, dependents reconcile.DependentReader) error {
		component, err := typed[T](obj)
		if err != nil {
			return err
		}
		return hook(ctx, component, dependents)
	}
}
