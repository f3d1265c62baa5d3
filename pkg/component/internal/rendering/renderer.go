package rendering

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Options configure a Renderer.
type Options struct {
	// Reconciler is the name of the reconciler.
	Reconciler string
	Generator  generator.Generator
	// Scheme has the Go types of the typed objects that the generator returns.
	Scheme *runtime.Scheme
	// Fetches fetches sources; nil if the reconciler has no fetcher.
	Fetches *input.Fetches
	// Records stores pinned renderings.
	Records *records.Store
	Clock   clock.PassiveClock
	// CacheBytes is the memory limit of the cache, for the sets of all components together.
	CacheBytes int
	// SkipDeterminismCheck skips the second rendering of new inputs.
	SkipDeterminismCheck bool
	// Wake starts a pass over a component.
	Wake func(types.NamespacedName)
}

// Renderer renders the sets of components.
type Renderer struct {
	options Options
	cache   *cache
}

// New returns a Renderer.
func New(o Options) *Renderer { return &Renderer{options: o, cache: newCache(o.CacheBytes)} }

// Request has the arguments for a rendering of a component.
type Request struct {
	// Component is passed to the generator. Status is the recorded status of the component; it is only read.
	Component client.Object
	Status    *metav1alpha1.Status
	Owner     manifests.Owner
	Target    target.Target
	Inputs    input.Inputs
	// Inventory is the recorded inventory of the component.
	Inventory []metav1alpha1.InventoryEntry
	// AllowEmpty permits a rendering without any object although the component has dependents.
	AllowEmpty bool
	// Records is the memory of the component's records.
	Records *records.Memory
}

func (r Request) name() types.NamespacedName { return client.ObjectKeyFromObject(r.Component) }

func (r Request) looker() lookup.Owner {
	return lookup.Owner{Reconciler: r.Owner.Reconciler, ID: r.Owner.ID()}
}

// Render returns the set of objects for the inputs, from the cache, from the record in Secrets, or by a new rendering.
// The error is condition.ErrObserving while a source is being fetched. If a rendered set is refused, it is returned
// together with the error, so that the caller can report the messages of the generator.
func (r *Renderer) Render(ctx context.Context, req Request) (Set, error) {
	set, err := r.render(ctx, req)
	if err != nil {
		return Set{Lost: set.Lost}, err
	}
	if err := r.checkPartialDiscovery(req, set); err != nil {
		return set, err
	}
	return set, checkEmpty(req.AllowEmpty, len(set.Desired()), len(req.Inventory))
}

// Drop removes the set of a component from the cache.
func (r *Renderer) Drop(name types.NamespacedName) { r.cache.drop(name) }

// ForgetSource ends the fetch of a source for a component.
func (r *Renderer) ForgetSource(name types.NamespacedName) {
	if r.options.Fetches != nil {
		r.options.Fetches.Forget(name)
	}
}

func (r *Renderer) render(ctx context.Context, req Request) (Set, error) {
	last, err := r.lastSet(ctx, req)
	if err != nil {
		return Set{}, err
	}
	if last != nil && last.isSettled() && !rescoped(req.Target.Client.Discovery, *last) {
		r.ForgetSource(req.name())
		return *last, nil
	}
	var rendered Rendered
	var lost string
	if last != nil && !last.Manifests.dropped() {
		rendered = last.Rendered
	} else if rendered, lost, err = r.renderNew(ctx, req); err != nil {
		return Set{Lost: lost}, err
	}
	set, err := r.normalise(req, rendered)
	if err != nil {
		return Set{Lost: lost}, err
	}
	r.cache.put(req.name(), set)
	set.Lost = lost
	return set, nil
}

// lastSet returns the cached set if it was rendered from the same inputs and the looked-up objects are unchanged, and
// nil otherwise.
func (r *Renderer) lastSet(ctx context.Context, req Request) (*Set, error) {
	last := r.kept(req)
	if last == nil {
		return nil, nil
	}
	current, equal, err := last.Lookups.Refresh(ctx, req.Target, req.looker())
	if err != nil || !equal {
		return nil, err
	}
	last.Lookups = current
	r.cache.put(req.name(), *last)
	r.follow(req, current)
	return last, nil
}

// kept returns the cached set if it was rendered from the same inputs for the same cluster, and nil otherwise.
func (r *Renderer) kept(req Request) *Set {
	last, ok := r.cache.get(req.name())
	if !ok || last.inputs != req.Inputs.Digest || last.cluster != req.Target.Cluster {
		return nil
	}
	return &last
}

// follow watches the looked-up objects of a component, so that a change of one of them starts a pass over it.
func (r *Renderer) follow(req Request, l lookup.Lookups) {
	name := req.name()
	lookup.Follow(req.Target, req.looker(), l, func() { r.options.Wake(name) })
}

// normalise returns the set with the normalised objects of a rendering. The manifests before the normalisation are kept
// only if they are needed later: if some types are not served yet, so that the manifests have to be normalised again,
// or if the rendering has pinned values.
func (r *Renderer) normalise(req Request, rendered Rendered) (Set, error) {
	set := Set{
		Rendered: rendered, inputs: req.Inputs.Digest, cluster: req.Target.Cluster,
		resets: req.Target.Client.Discovery.Resets(),
	}
	bodies, err := rendered.Manifests.All()
	if err != nil {
		return Set{}, err
	}
	objects, err := Normalise(bodies, manifests.NormaliseOptions{
		Reconciler: r.options.Reconciler, Namespace: req.Inputs.Namespace, Owner: req.Owner,
		ScopeOf:             req.Target.Client.Discovery.Scope,
		StatusIsSubresource: req.Target.Client.Discovery.HasStatusSubresource, Managed: req.Inputs.Managed,
	})
	if err != nil {
		return Set{}, err
	}
	if err := checkSelf(req.Owner, req.Target, objects); err != nil {
		return Set{}, err
	}
	if set.Objects, err = packObjects(objects); err != nil {
		return Set{}, err
	}
	set.Manifests = Manifests{}
	if !set.isSettled() || set.ID != "" {
		set.Manifests, err = rendered.Manifests.pack()
	}
	set.size = sizeOf(set.Objects, set.Manifests)
	return set, err
}

// Normalise calls manifests.Normalise, and returns its errors as condition errors. If discovery failed, the error is
// retried; errors in the manifests are terminal.
func Normalise(bodies []*unstructured.Unstructured, o manifests.NormaliseOptions) ([]manifests.Object, error) {
	var failure error
	scopeOf := o.ScopeOf
	o.ScopeOf = func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		scope, err := scopeOf(gvk)
		if err != nil {
			failure = err
		}
		return scope, err
	}
	objects, err := manifests.Normalise(bodies, o)
	switch {
	case failure != nil:
		return nil, &condition.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read the types that the API server serves: %v", failure),
		}
	case err != nil:
		return nil, &condition.Error{Reason: metav1alpha1.ReasonInvalidManifests, Message: err.Error(), Terminal: true}
	}
	return objects, nil
}

// NormalisePhases returns the recorded objects of the phases of a deletion, normalised.
func NormalisePhases(
	bodies []*unstructured.Unstructured, owner manifests.Owner,
	scopeOf func(schema.GroupVersionKind) (manifests.Scope, error), managed []manifests.ManagedType,
) (pre, post []manifests.Object, err error) {
	objects, err := Normalise(bodies, manifests.NormaliseOptions{
		Reconciler: owner.Reconciler, Owner: owner, ScopeOf: scopeOf, Managed: managed,
	})
	if err != nil {
		return nil, nil, err
	}
	pre, post = plan.OfPhase(objects, manifests.PhasePreDelete)
	return pre, post, nil
}

// rescoped reports whether the scope of a type has changed since the objects were normalised, because its definition
// was deleted and created again.
func rescoped(d *discovery.Reader, s Set) bool {
	if s.resets == d.Resets() {
		return false
	}
	scopes := map[schema.GroupVersionKind]manifests.Scope{}
	for _, o := range s.Objects {
		gvk := o.GroupVersionKind()
		scope, asked := scopes[gvk]
		if !asked {
			var err error
			if scope, err = d.Scope(gvk); err != nil {
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

// checkSelf returns an error if a component is among its own dependents, because such a component could never be
// deleted. It does not check dependents in another cluster, where an object with the same key is a different object.
func checkSelf(owner manifests.Owner, t target.Target, objects []manifests.Object) error {
	self := owner.Component()
	if t.Cluster != "" || !slices.ContainsFunc(objects, func(o manifests.Object) bool { return o.Key == self }) {
		return nil
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true, Message: fmt.Sprintf(
			"%s: the component itself is among its dependents; rename it, or remove it from the manifests", self),
	}
}

// checkEmpty returns an error if an empty rendering would prune all dependents, unless the component allows empty
// renderings. An empty rendering is mostly a mistake.
func checkEmpty(allowed bool, desired, dependents int) error {
	if desired > 0 || dependents == 0 || allowed {
		return nil
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true, Message: fmt.Sprintf(
			"the rendering is empty, although the component has dependents (%d); to delete all dependents, "+
				"delete the component, or allow an empty rendering, for example with spec.allowEmpty of a Component", dependents),
	}
}
