package reconcile

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// EventSources holds the values of event sources; see package eventsources.
type EventSources interface {
	// Begin tells the event sources that a component exists. It reports whether the pass has to wait for a first value.
	Begin(ctx context.Context, obj client.Object, clusters eventsources.Clusters) (waits bool)
	// Inputs returns the values that are inputs of a component.
	Inputs(ctx context.Context, name types.NamespacedName) ([]eventsources.NamedInput, error)
	// Failures returns the event sources without a current value for a component.
	Failures(name types.NamespacedName) []eventsources.Failure
	// Forget drops everything about a component.
	Forget(name types.NamespacedName)
}

// beginEventSources tells the event sources that a component exists, and reports whether the pass has to wait for a
// first value. Nothing is fetched for a suspended component.
func (r *Runner) beginEventSources(ctx context.Context, c *Component) (waits bool) {
	if !c.IsDeleted() && components.Suspended(c.Object) {
		r.EventSources.Forget(c.Name())
		return false
	}
	return r.EventSources.Begin(ctx, c.Object, clusters{&r.Pass, ctx, c})
}

// clusters are the clusters of a component, for event sources.
type clusters struct {
	pass      *Pass
	ctx       context.Context
	component *Component
}

// Target implements eventsources.Clusters.
func (c clusters) Target() (eventsources.Cluster, error) {
	w, err := c.pass.acquire(c.ctx, c.component)
	if err != nil {
		return eventsources.Cluster{}, err
	}
	return eventsources.ClusterOf(w.target.Client.Connection), nil
}

// eventSourceInputs returns the values of event sources that are inputs of a component.
func eventSourceInputs(
	ctx context.Context, from EventSources, component types.NamespacedName,
) ([]input.EventSource, error) {
	named, err := from.Inputs(ctx, component)
	if err != nil {
		return nil, &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: err.Error(), Cause: err}
	}
	var declared []input.EventSource
	for _, n := range named {
		declared = append(declared, input.EventSource{
			Name: n.Name, Digest: n.Digest, Load: n.Load, Secret: n.Secret, Objects: n.Objects,
		})
	}
	return declared, nil
}

// staleInputs says for each event source without a current value since when and why.
func (r *Runner) staleInputs(c *Component) []string {
	var texts []string
	for _, f := range r.EventSources.Failures(c.Name()) {
		texts = append(texts, fmt.Sprintf("%s: since %s: %s", f.EventSource, f.Since.UTC().Format(time.RFC3339), f.Failure))
	}
	return texts
}
