package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/internal/externalkinds"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// dependents reads the dependents of a component for a hook.
type dependents struct {
	pass      *Pass
	component *Component
}

// known is a dependent that the pass knows.
type known struct {
	// version is the version of its type in the manifest.
	version string
	// observed is set if the component only observes the object, so that the object does not name its owner.
	observed bool
}

// Get implements DependentReader.
func (d dependents) Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error) {
	owner, all, err := d.all(ctx)
	if err != nil {
		return nil, err
	}
	dependent, found := all[key]
	if !found {
		if err := d.unknownKind(ctx, all, key.GroupKind()); err != nil {
			return nil, err
		}
		return nil, applier.NotDependent(key)
	}
	if key.IsExternal() {
		return d.pass.Externals.get(owner, key)
	}
	client, err := d.client(ctx, key.String())
	if err != nil {
		return nil, err
	}
	return d.read(ctx, client, owner, key, dependent)
}

// List implements DependentReader.
func (d dependents) List(ctx context.Context, kind schema.GroupKind) ([]*unstructured.Unstructured, error) {
	owner, all, err := d.all(ctx)
	if err != nil {
		return nil, err
	}
	var keys []manifests.Key
	for key := range all {
		if key.GroupKind() == kind {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, d.unknownKind(ctx, all, kind)
	}
	slices.SortFunc(keys, func(a, b manifests.Key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	get := func(key manifests.Key) (*unstructured.Unstructured, error) { return d.pass.Externals.get(owner, key) }
	if !keys[0].IsExternal() {
		client, err := d.client(ctx, kind.String())
		if err != nil {
			return nil, err
		}
		get = func(key manifests.Key) (*unstructured.Unstructured, error) {
			obj, err := d.read(ctx, client, owner, key, all[key])
			if err != nil {
				err = fmt.Errorf("read %s: %w", key, err)
			}
			return obj, err
		}
	}
	var objects []*unstructured.Unstructured
	for _, key := range keys {
		obj, err := get(key)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

// Desired implements DependentReader.
func (d dependents) Desired(key manifests.Key) (*unstructured.Unstructured, error) {
	if !d.component.isRendered {
		return nil, fmt.Errorf("the manifest of %s: this pass has rendered nothing", key)
	}
	for _, o := range d.component.rendered {
		if o.Key != key {
			continue
		}
		whole, err := o.Whole()
		if err != nil {
			return nil, err
		}
		return whole.Body.DeepCopy(), nil
	}
	return nil, applier.NotDependent(key)
}

// all returns the owner of the component, and by key its recorded dependents and the objects that it only observes.
func (d dependents) all(ctx context.Context) (manifests.Owner, map[manifests.Key]known, error) {
	owner, err := d.pass.Owners.Of(ctx, d.component.Object)
	if err != nil {
		return owner, nil, err
	}
	entries, err := d.pass.Inventory.Recorded(ctx, d.component, owner)
	if err != nil {
		return owner, nil, err
	}
	observed, err := d.observed()
	if err != nil {
		return owner, nil, err
	}
	all := map[manifests.Key]known{}
	for _, e := range entries {
		all[plan.KeyOf(e)] = known{version: e.Version}
	}
	for _, e := range observed {
		all[plan.KeyOf(e)] = known{version: e.Version, observed: true}
	}
	return owner, all, nil
}

// observed returns the entries of the objects that the component only observes: those of the plan of this pass, or
// those in the status as long as the pass has no plan.
func (d dependents) observed() ([]metav1alpha1.InventoryEntry, error) {
	if d.component.isPlanned {
		return d.component.observed, nil
	}
	entries, err := metav1alpha1.ParseInventory(d.component.GetStatus().Observed)
	if err != nil {
		return nil, fmt.Errorf("status.observed: %w", err)
	}
	return entries, nil
}

// unknownKind returns the error for a wrong group or kind: no dependent has it, and the target does not serve it. The
// error is terminal, and a NoKindMatchError for a kind of objects. unknownKind returns nil as long as the kind may be
// missing for another reason: some dependents of the current generation are not applied yet, and one of them may define
// the kind, or a condition may have left out the objects of the kind.
func (d dependents) unknownKind(ctx context.Context, all map[manifests.Key]known, kind schema.GroupKind) error {
	c := d.component
	status := c.GetStatus()
	isLeftOut := slices.ContainsFunc(c.rendered, func(o manifests.Object) bool { return o.Key.GroupKind() == kind }) ||
		!c.isRendered && len(status.LeftOut) > 0
	if status.AppliedGeneration != c.GetGeneration() || c.IsDeleted() || isLeftOut {
		return nil
	}
	for key := range all {
		if key.GroupKind() == kind {
			return nil
		}
	}
	if kind.Group == manifests.ExternalGroup {
		return d.unhandled(kind.Kind)
	}
	client, err := d.client(ctx, kind.String())
	if err != nil {
		return nil
	}
	if served, err := client.Discovery.Serves(kind); err != nil || served {
		return nil
	}
	return reconcile.TerminalError(fmt.Errorf(
		"read %s: no dependent has this group and kind, and the API server does not serve it; correct the key: %w",
		kind, &meta.NoKindMatchError{GroupKind: kind}))
}

// unhandled returns a terminal error if no handler is registered for a kind of externals.
func (d dependents) unhandled(kind string) error {
	drivers := d.pass.Author.Declare(d.component.Object).Externals
	if slices.ContainsFunc(drivers, func(driver external.Driver) bool { return driver.Info().Kind == kind }) {
		return nil
	}
	return reconcile.TerminalError(
		fmt.Errorf("no dependent is an external of the kind %s: %w", kind, externalkinds.NoHandler(kind, drivers)))
}

// client returns the client for the target of the component. what names the objects to read, for errors.
func (d dependents) client(ctx context.Context, what string) (*target.Client, error) {
	// The declared values are read again here, because a hook may have changed the component. The hook PostRead even
	// runs before the pass reads these values for the first time.
	current := *d.component
	current.Declared = d.pass.Author.Declare(current.Object)
	w, err := d.pass.acquire(ctx, &current)
	if errors.Is(err, passerror.ErrObserving) {
		return nil, fmt.Errorf("read %s: the kubeconfig was not read yet", what)
	}
	return w.target.Client, err
}

// read reads an object. The error is NotFound if it is no dependent any more.
func (d dependents) read(
	ctx context.Context, client *target.Client, owner manifests.Owner, key manifests.Key, dependent known,
) (*unstructured.Unstructured, error) {
	if dependent.observed {
		// The object may belong to anybody, so the identity of the component must be permitted to read it. The watches may
		// have another identity.
		return applier.ReadLive(ctx, client, key, dependent.version)
	}
	obj, err := applier.ReadDependent(ctx, client, key, dependent.version)
	if err == nil && obj.GetAnnotations()[d.pass.Reconciler+"/"+manifests.AnnotationOwnerID] != owner.String() {
		return nil, applier.NotDependent(key)
	}
	return obj, err
}
