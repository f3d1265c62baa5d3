package rendering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// Options configure a Renderer.
type Options struct {
	// Reconciler is the name of the reconciler.
	Reconciler string
	Generator  generator.Generator
	// Scheme contains the Go types of the typed objects that the generator returns.
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
	// Adoption is the adoption policy of the reconciler.
	Adoption metav1alpha1.AdoptionPolicy
	// Conditions are the names of the conditions of readiness that the author wrote in Go, and that ready-when may name.
	// Nil accepts every name; see normalise.Options.
	Conditions []string
	// Wake starts a pass over a component.
	Wake func(types.NamespacedName)
	// Spent counts the time that a rendering for a component of a namespace took, without the time in line; nil counts
	// nothing.
	Spent func(namespace string, d time.Duration)
}

// Renderer renders the sets of components.
type Renderer struct {
	options Options
	cache   *cache
	turns   turns
}

// New returns a Renderer.
func New(o Options) *Renderer { return &Renderer{options: o, cache: newCache(o.CacheBytes)} }

// Request contains the arguments for a rendering of a component.
type Request struct {
	// Component is passed to the generator. Status is the recorded status of the component; it is only read.
	Component client.Object
	Status    *metav1alpha1.Status
	Owner     manifests.Owner
	Target    target.Target
	Inputs    input.Inputs
	// Inventory is the recorded inventory of the component.
	Inventory []metav1alpha1.InventoryEntry
	// Exports are the exports that earlier renderings asked for, with their last known values.
	Exports []metav1alpha1.AskedExport
	// ExportsLost is set if the status of the component was lost, so that Exports may lack values that were known.
	ExportsLost bool
	// AllowEmpty permits a rendering without any object although the component has dependents.
	AllowEmpty bool
	// Adoption is the adoption policy of manifests that set none; empty selects that of the reconciler. It is no input of
	// the rendering.
	Adoption metav1alpha1.AdoptionPolicy
	// Ignore are the rules of ignored fields. They are no input of the rendering.
	Ignore []normalise.IgnoreRule
	// Records is the state of the records of the component.
	Records *records.State
	// Kills is the state of the renderings that were killed; nil if every rendering is tried, as in a preview.
	Kills *Kills
	// CheckExternal checks the manifest of an external; see normalise.Options.
	CheckExternal func(body *unstructured.Unstructured, partial bool) error
	// Requested is the last request for a pass by annotation.
	Requested string
}

func (r Request) name() types.NamespacedName { return client.ObjectKeyFromObject(r.Component) }

func (r Request) looker() lookup.Owner {
	return lookup.Owner{Reconciler: r.Owner.Reconciler, ID: r.Owner.ID()}
}

// Render returns the set of objects for the inputs, from the cache, from the record in Secrets, or by a new rendering.
// The error is passerror.ErrObserving while a source is being fetched, and turn.ErrLater while the component waits for
// its turn to render. If a rendered set is refused, it is returned together with the error, so that the caller can
// report the messages of the generator.
//
// The memory of the rendering is reserved while it is made; see package budget.
func (r *Renderer) Render(ctx context.Context, req Request) (Set, error) {
	outer := ctx
	ctx, end := budget.Scope(outer)
	defer func() {
		end()
		budget.Trim(outer)
	}()
	set, err := r.render(ctx, req)
	if err != nil {
		return Set{Lost: set.Lost}, err
	}
	if err := checkAsked(set); err != nil {
		return set, err
	}
	if err := r.checkPartialDiscovery(req, set); err != nil {
		return set, err
	}
	return set, checkEmpty(req.AllowEmpty, len(withoutObserved(set.Desired())), len(req.Inventory))
}

// Last returns the cached set of a component, if it was rendered from the inputs that the status names, for the given
// cluster. It sends no request, and does not ask whether objects that the rendering looked up have changed. It does not
// return a set that another operator process has replaced.
func (r *Renderer) Last(name types.NamespacedName, status *metav1alpha1.Status, cluster string) (Set, bool) {
	last, ok := r.cache.get(name)
	isRecorded := status.InputDigest != "" && last.inputs == status.InputDigest
	return last, ok && isRecorded && last.cluster == cluster && !last.isReplaced(status)
}

// Drop removes the set of a component from the cache.
func (r *Renderer) Drop(name types.NamespacedName) { r.cache.drop(name) }

// ForgetSource ends the fetch of a source for a component.
func (r *Renderer) ForgetSource(name types.NamespacedName) {
	if r.options.Fetches != nil {
		r.options.Fetches.Forget(name)
	}
}

// BeginPass begins a pass over a component. The returned function must be called at its end: it gives up a turn that
// the pass did not need. It also drops a source that was there at the start and that the pass did not take, so that a
// component without passes over its source does not hold memory. The sources of a few components that wait for their
// turns are kept; see maxKeptSources.
func (r *Renderer) BeginPass(name types.NamespacedName) (end func()) {
	isReady := func() bool { return r.options.Fetches != nil && r.options.Fetches.IsReady(name) }
	wasReady := isReady()
	return func() {
		unused := wasReady && isReady()
		if kept := r.turns.endPass(name, unused); unused && !kept {
			r.options.Fetches.Forget(name)
		}
	}
}

func (r *Renderer) render(ctx context.Context, req Request) (Set, error) {
	last, err := r.lastSet(ctx, req)
	if err != nil {
		return Set{}, err
	}
	if last != nil && last.ignore == ignoreDigest(req.Ignore) && !rescoped(req.Target.Client.Discovery, *last) {
		r.ForgetSource(req.name())
		return *last, nil
	}
	var rendered Rendered
	var lost string
	if last != nil && !last.Manifests.dropped() {
		rendered = last.Rendered
		rendered.taken = ""
	} else if rendered, lost, err = r.renderNew(ctx, req); err != nil {
		return Set{Lost: lost}, err
	}
	set, err := r.normalise(req, rendered)
	if err != nil {
		r.cache.outdate(req.name())
		return Set{Lost: lost}, err
	}
	r.cache.put(req.name(), set)
	set.Lost = cmp.Or(lost, rendered.taken)
	return set, nil
}

// lastSet returns the cached set if it was rendered from the same inputs and the looked-up objects are unchanged, and
// nil otherwise. It returns nil after a later rendering failed, because the watches have the versions that the failed
// rendering looked up.
func (r *Renderer) lastSet(ctx context.Context, req Request) (*Set, error) {
	last := r.kept(req)
	if last == nil || last.outdated || !lookup.GetsSameValues(last.Lookups.Exports, req.Exports) {
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

// kept returns the cached set if it was rendered from the same inputs for the same cluster, and if no other operator
// process has replaced it. Otherwise it returns nil.
func (r *Renderer) kept(req Request) *Set {
	last := r.cached(req)
	if last == nil || last.isReplaced(req.Status) {
		return nil
	}
	return last
}

// cached returns the cached set if it was rendered from the same inputs for the same cluster, and nil otherwise.
func (r *Renderer) cached(req Request) *Set {
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
// or if the rendering contains pinned values.
func (r *Renderer) normalise(req Request, rendered Rendered) (Set, error) {
	set := Set{
		Rendered: rendered, inputs: req.Inputs.Digest, cluster: req.Target.Cluster,
		after:  records.Named(req.Status.RenderedSet),
		ignore: ignoreDigest(req.Ignore), resets: req.Target.Client.Discovery.Resets(),
	}
	bodies, err := rendered.Manifests.All()
	if err != nil {
		return Set{}, err
	}
	objects, err := Normalise(bodies, r.normaliseOptions(req))
	if err != nil {
		return Set{}, err
	}
	if err := checkSelf(req.Owner, req.Target, objects); err != nil {
		return Set{}, err
	}
	if err := checkRecords(objects); err != nil {
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

func (r *Renderer) normaliseOptions(req Request) normalise.Options {
	return normalise.Options{
		Reconciler: r.options.Reconciler, Namespace: req.Inputs.Namespace, Owner: req.Owner,
		RemoteTarget:        req.Target.Cluster != "",
		ScopeOf:             req.Target.Client.Discovery.Scope,
		StatusIsSubresource: req.Target.Client.Discovery.HasStatusSubresource, Managed: req.Inputs.Managed,
		Conditions: r.options.Conditions, Ignore: req.Ignore, CheckExternal: req.CheckExternal,
	}
}

// Normalise calls normalise.Manifests, and returns its errors as condition errors. If discovery failed, the error is
// retried; errors in the manifests are terminal.
func Normalise(bodies []*unstructured.Unstructured, o normalise.Options) ([]manifests.Object, error) {
	var failure error
	scopeOf := o.ScopeOf
	o.ScopeOf = func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		scope, err := scopeOf(gvk)
		if err != nil {
			failure = err
		}
		return scope, err
	}
	objects, err := normalise.Manifests(bodies, o)
	switch {
	case failure != nil:
		return nil, &passerror.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read the types that the API server serves: %v", failure),
		}
	case err != nil:
		return nil, &passerror.Error{
			Reason: metav1alpha1.ReasonInvalidManifests, Message: err.Error(), Terminal: true, Cause: err,
		}
	}
	return objects, nil
}

// NormalisePhases returns the recorded objects of the phases of a deletion, normalised.
func NormalisePhases(
	bodies []*unstructured.Unstructured, owner manifests.Owner,
	scopeOf func(schema.GroupVersionKind) (manifests.Scope, error), managed []manifests.ManagedType,
) (pre, post []manifests.Object, err error) {
	objects, err := Normalise(bodies, normalise.Options{
		Reconciler: owner.Reconciler, Owner: owner, ScopeOf: scopeOf, Managed: managed,
	})
	if err != nil {
		return nil, nil, err
	}
	pre, post = plan.OfPhase(objects, manifests.PhasePreDelete)
	return pre, post, nil
}

// rescoped reports whether the objects must be normalised again, because the scope of a type has changed since they
// were normalised: the type is served now, or its definition was deleted and created again. While none of the unserved
// types is served, the set stays as it is, because a normalisation of large definitions takes long. If discovery fails
// for an unserved type, rescoped returns true, so that the normalisation reports the failure.
func rescoped(d *discovery.Reader, s Set) bool {
	asked, reset := map[schema.GroupVersionKind]bool{}, s.resets != d.Resets()
	for _, o := range s.Objects {
		gvk, unknown := o.GroupVersionKind(), o.Scope == manifests.ScopeUnknown
		if asked[gvk] || !unknown && !reset {
			continue
		}
		asked[gvk] = true
		scope, err := d.Scope(gvk)
		if err != nil && unknown || err == nil && scope != manifests.ScopeUnknown && scope != o.Scope {
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
	return &passerror.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true, Message: fmt.Sprintf(
			"%s: the component itself is among its dependents; rename it, or remove it from the manifests", self),
	}
}

// checkRecords returns an error if a dependent has the name of a record. It would replace what the operator remembers
// of a component.
func checkRecords(objects []manifests.Object) error {
	var errs []error
	for _, o := range objects {
		if o.Key.GroupKind() == (schema.GroupKind{Kind: "Secret"}) && records.IsName(o.Key.Name) {
			errs = append(errs, fmt.Errorf("%s: the name is reserved for the records of components; rename the Secret", o.Key))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Message: errors.Join(errs...).Error(), Terminal: true,
	}
}

// checkEmpty returns an error if an empty rendering would prune all dependents, unless the component allows empty
// renderings. An empty rendering is mostly a mistake.
func checkEmpty(allowed bool, desired, dependents int) error {
	if desired > 0 || dependents == 0 || allowed {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonInvalidManifests, Terminal: true, Message: fmt.Sprintf(
			"the rendering is empty, although the component has dependents (%d); correct the source or the values; to delete "+
				"all dependents, allow an empty rendering, for example with spec.allowEmpty of a Component", dependents),
	}
}
