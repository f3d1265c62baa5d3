package component

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rendering is the last rendered set of a component. While its inputs stand nothing is rendered again, unless it had to make room for others.
type rendering struct {
	// digest is that of the inputs, and cluster the one that it was rendered for.
	digest, cluster string
	draft
	// objects are packed: a pass that finds nothing to do needs none of their bodies, and one that writes needs them one after the other.
	objects []manifests.Object
	// size is how many bytes of memory it takes.
	size int
	// resets counts how often the RESTMapper had been reset when the objects were normalised.
	resets int
}

// settled says that the scope of every object was known when it was normalised.
func (r rendering) settled() bool {
	for _, o := range r.objects {
		if o.Scope == manifests.ScopeUnknown {
			return false
		}
	}
	return true
}

// renderSet returns what is rendered of the inputs, and of that the apply set, as far as both can be relied on.
func (r *Reconciler[T]) renderSet(
	ctx context.Context, component T, owner manifests.Owner, in inputs, inventory []metav1alpha1.InventoryEntry,
) (rendering, []manifests.Object, error) {
	rendered, err := r.render(ctx, component, owner, in)
	if err != nil {
		return rendering{}, nil, err
	}
	if err := r.checkPartialDiscovery(component, in, rendered, inventory); err != nil {
		return rendering{}, nil, err
	}
	desired, _ := ofPhase(rendered.objects, manifests.PhaseApply)
	return rendered, desired, checkEmpty(component, len(desired), len(inventory))
}

// render returns what is rendered of the inputs: what is in memory, what is recorded, or what the generator makes of them.
func (r *Reconciler[T]) render(ctx context.Context, component T, owner manifests.Owner, in inputs) (rendering, error) {
	defer r.vitals.meter.Time(metrics.StepGenerate)()
	last, err := r.lastRendering(ctx, component, owner, in)
	if err != nil {
		return rendering{}, err
	}
	if last != nil && last.settled() && !in.target.engine.rescoped(*last) {
		r.forgetSource(client.ObjectKeyFromObject(component))
		r.enterResults(component, last.told)
		return *last, nil
	}
	var d draft
	if last != nil && !last.bodies.dropped() {
		d = last.draft
	} else if d, err = r.draft(ctx, component, owner, in); err != nil {
		return rendering{}, err
	}
	rendered, err := r.normalised(owner, in, d)
	if err != nil {
		return rendering{}, err
	}
	r.rendered.put(client.ObjectKeyFromObject(component), rendered)
	r.enterResults(component, d.told)
	return rendered, nil
}

// enterResults enters the results of a rendering into the status. They stay as they are where the generator was not called.
func (r *Reconciler[T]) enterResults(component T, told *results) {
	if all, ok := told.all(); ok {
		*component.GetStatus() = status.WithGeneratorResults(*component.GetStatus(), all, component.GetGeneration(), r.clock.Now())
	}
}

// normalised makes of a draft what is applied, and packs it. Its manifests are only kept as they were rendered where they are to be normalised
// again, when their types are served, or where a second rendering would be another one.
func (r *Reconciler[T]) normalised(owner manifests.Owner, in inputs, d draft) (rendering, error) {
	rendered := rendering{
		digest: in.digest, cluster: in.target.cluster, draft: d, resets: in.target.engine.discovery.Resets(),
	}
	bodies, err := d.bodies.all()
	if err != nil {
		return rendering{}, err
	}
	objects, err := normalise(bodies, manifests.NormaliseOptions{
		Reconciler: r.name, Namespace: in.namespace, Owner: owner, ScopeOf: in.target.engine.discovery.Scope,
		StatusIsSubresource: in.target.engine.discovery.HasStatusSubresource, Managed: in.managed,
	})
	if err != nil {
		return rendering{}, err
	}
	if err := checkSelf(owner, in.target, objects); err != nil {
		return rendering{}, err
	}
	if rendered.objects, err = packObjects(objects); err != nil {
		return rendering{}, err
	}
	rendered.bodies = drafted{}
	if !rendered.settled() || rendered.id != "" {
		rendered.bodies, err = d.bodies.pack()
	}
	rendered.size = sizeOf(rendered.objects, rendered.bodies)
	return rendered, err
}

// lastRendering returns the rendering in memory, nil where there is none of the same inputs.
func (r *Reconciler[T]) lastRendering(ctx context.Context, component T, owner manifests.Owner, in inputs) (*rendering, error) {
	name := client.ObjectKeyFromObject(component)
	last := r.remembered(name, in)
	if last == nil {
		return nil, nil
	}
	seen, same, err := r.lookAgain(ctx, owner, in.target, last.looks)
	if err != nil || !same {
		return nil, err
	}
	last.looks = seen
	r.rendered.put(name, *last)
	r.follow(name, owner, in.target, seen)
	return last, nil
}

// remembered returns the rendering in memory, nil where there is none of the same spec, references and generator.
func (r *Reconciler[T]) remembered(name client.ObjectKey, in inputs) *rendering {
	last, ok := r.rendered.get(name)
	if !ok || last.digest != in.digest || last.cluster != in.target.cluster {
		return nil
	}
	return &last
}

// normalise tells what is wrong with the manifests from an API server that does not say what it serves: that goes away by itself.
func normalise(generated []*unstructured.Unstructured, o manifests.NormaliseOptions) ([]manifests.Object, error) {
	var failure error
	scopeOf := o.ScopeOf
	o.ScopeOf = func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		scope, err := scopeOf(gvk)
		if err != nil {
			failure = err
		}
		return scope, err
	}
	objects, err := manifests.Normalise(generated, o)
	switch {
	case failure != nil:
		return nil, &condition.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("ask the API server what it serves: %v", failure),
		}
	case err != nil:
		return nil, &condition.Error{Reason: metav1alpha1.ReasonInvalidManifests, Message: err.Error(), Terminal: true}
	}
	return objects, nil
}

// rescoped reports whether a type has another scope than when the objects were normalised: it was defined again.
func (e *Engine) rescoped(r rendering) bool {
	if r.resets == e.discovery.Resets() {
		return false
	}
	scopes := map[schema.GroupVersionKind]manifests.Scope{}
	for _, o := range r.objects {
		gvk := o.GroupVersionKind()
		scope, asked := scopes[gvk]
		if !asked {
			var err error
			if scope, err = e.discovery.Scope(gvk); err != nil {
				scope = manifests.ScopeUnknown
			}
			scopes[gvk] = scope
		}
		if scope != manifests.ScopeUnknown && scope != o.Scope {
			return true
		}
	}
	return false
}
