package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externals"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externalstate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Externals holds the externals of components. A nil Externals has none, as in a preview.
type Externals struct {
	Manager *externals.Manager
	Reader  *input.Reader
	States  *externalstate.Store
	// GVK is the type of the components.
	GVK schema.GroupVersionKind
}

// externalInput is what a pass knows about the externals of its component.
type externalInput struct {
	owner     manifests.Owner
	target    target.Target
	desired   []manifests.Object
	inventory []metav1alpha1.InventoryEntry
	trigger   string
}

// begin opens the externals of a component for a pass. The result is nil if the component has none.
func (e *Externals) begin(
	ctx context.Context, c *Component, reconciler string, p externalInput,
) (applier.Externals, error) {
	if e == nil {
		return nil, nil
	}
	resolved, err := resolutions(c.Object, reconciler)
	if err != nil {
		return nil, err
	}
	session, err := e.Manager.Begin(ctx, externals.SessionInput{
		Owner: p.owner, Component: func() client.Object { return e.typed(c.Object) }, Drivers: c.Externals,
		Desired: p.desired, Inventory: p.inventory, Trigger: p.trigger, Resolved: resolved, KeepSecrets: kubeconfigs(c),
		Requested: requestedAt(c.Object, reconciler),
		Revision:  c.GetStatus().Revision, Recorded: c.State.Inventory.Records.MayHaveExternals(),
		Read: func(ctx context.Context, refs []metav1alpha1.Reference) (map[metav1alpha1.Reference]externals.Content, error) {
			return e.read(ctx, c, p.target, refs)
		},
	})
	if session == nil || err != nil {
		return nil, err
	}
	return session, nil
}

// typed returns a copy of a component with its type, which objects of a cache do not have.
func (e *Externals) typed(obj client.Object) client.Object {
	copied, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return obj
	}
	copied.GetObjectKind().SetGroupVersionKind(e.GVK)
	return copied
}

// read returns the contents of the references of externals.
func (e *Externals) read(
	ctx context.Context, c *Component, t target.Target, refs []metav1alpha1.Reference,
) (map[metav1alpha1.Reference]externals.Content, error) {
	contents, err := e.Reader.ReadExternal(ctx, c.Name(), refs, t, c.State.externalContents)
	if err != nil {
		return nil, err
	}
	c.State.externalContents = contents
	found := make(map[metav1alpha1.Reference]externals.Content, len(contents))
	for ref, content := range contents {
		found[ref] = externals.Content{Data: content.Data, Missing: content.Missing}
	}
	return found, nil
}

// Demand observes the externals of an owner at once.
func (e *Externals) Demand(owner manifests.Owner) {
	if e != nil {
		e.Manager.Demand(owner)
	}
}

// pause ends the polls of a suspended component.
func (e *Externals) pause(owner manifests.Owner) {
	if e != nil {
		e.Manager.Pause(owner)
	}
}

// End deletes the records of the externals of a component whose dependents no longer exist.
func (e *Externals) End(ctx context.Context, owner manifests.Owner) error {
	if e == nil || e.Manager.Empty(owner) {
		return nil
	}
	if err := e.Manager.End(ctx, owner); err != nil {
		return err
	}
	return e.States.Delete(ctx, owner)
}

// Wait waits for the end of the calls under way, after the operator was told to stop.
func (e *Externals) Wait() {
	if e != nil {
		e.Manager.Wait()
	}
}

// Forget drops what the process knows about the externals of an owner.
func (e *Externals) Forget(owner manifests.Owner) {
	if e != nil {
		e.Manager.Forget(owner)
		e.Reader.ReleaseExternal(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name})
	}
}

// get returns an external in the form of an object, as its last observation shows it. It makes no call.
func (e *Externals) get(owner manifests.Owner, key manifests.Key) (*unstructured.Unstructured, error) {
	if e == nil {
		return nil, fmt.Errorf("read %s: it is outside Kubernetes, and a preview does not ask there", key)
	}
	obj, unknown := e.Manager.Get(owner, key)
	switch {
	case unknown != "":
		return nil, fmt.Errorf("read %s: its state is not known: %s", key, unknown)
	case obj == nil:
		return nil, applier.NotDependent(key)
	}
	return obj, nil
}

// resolutions returns the answers of a person to uncertain creates.
func resolutions(obj client.Object, reconciler string) (map[manifests.Key]externals.Resolution, error) {
	name := reconciler + "/" + metav1alpha1.AnnotationResolveExternal
	text := obj.GetAnnotations()[name]
	if text == "" {
		return nil, nil
	}
	var byName map[string]externals.Resolution
	if err := json.Unmarshal([]byte(text), &byName); err != nil {
		return nil, passerror.InvalidSpec(fmt.Errorf("annotation %s: %w; run fairlead external resolve", name, err))
	}
	found := map[manifests.Key]externals.Resolution{}
	for key, r := range byName {
		kind, name, ok := strings.Cut(key, "/")
		if !ok {
			return nil, passerror.InvalidSpec(fmt.Errorf(
				"annotation %s: the key %q is no Kind/name", reconciler+"/"+metav1alpha1.AnnotationResolveExternal, key))
		}
		found[manifests.Key{Group: manifests.ExternalGroup, Kind: kind, Name: name}] = r
	}
	return found, nil
}

// kubeconfigs returns the Secrets with kubeconfigs that have our finalizer.
func kubeconfigs(c *Component) []string {
	var names []string
	if name := c.GetStatus().TargetSecret; name != "" {
		names = append(names, name)
	}
	if k := c.Target.KubeConfig; k != nil {
		names = append(names, k.Name)
	}
	return names
}

// recorded returns the entries of the recorded externals of an owner, for an inventory that was lost. fallback is the
// delete policy of externals whose manifests set none.
func (e *Externals) recorded(
	ctx context.Context, owner manifests.Owner, fallback metav1alpha1.DeletePolicy,
) ([]metav1alpha1.InventoryEntry, error) {
	// Somebody may have restored an older Secret together with the inventory, so a state that this process knows counts.
	record, err := e.Manager.Recorded(owner), error(nil)
	if record == nil {
		record, err = e.States.Load(ctx, owner, nil)
	}
	if failure := passerror.Of(err); failure != nil && failure.Reason == metav1alpha1.ReasonForbidden {
		// The externals stay as they are: an external with a state and without an entry is reported, and not deleted.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []metav1alpha1.InventoryEntry
	for key, state := range record.States() {
		if state.Gone {
			continue
		}
		entry := metav1alpha1.InventoryEntry{
			Group: key.Group, Version: external.Version, Kind: key.Kind, Name: key.Name, External: true, Begun: true,
		}
		if state.ID != "" {
			entry.UID = types.UID(state.Token)
		}
		var body unstructured.Unstructured
		if json.Unmarshal(state.Manifest, &body.Object) != nil {
			body.Object = map[string]any{}
		}
		settings, err := settingtext.Parse(owner.Reconciler, settingsOf(&body, owner.Reconciler))
		if err == nil {
			entry.Order, entry.DeleteOrder, entry.PrunePolicy = settings.Order, settings.DeleteOrder, settings.PrunePolicy()
		}
		entry.DeletePolicy = plan.RecordedDeletePolicy(
			key, settings.DeletePolicy, plan.DefaultDeletePolicy(settings.ReconcilePolicy, fallback))
		entry.DependsOn = (manifests.Object{Key: key, Settings: settings}).DependsOn()
		entry.DependencyGroup = (manifests.Object{Key: key, Settings: settings}).DependencyGroup()
		entries = append(entries, entry)
	}
	return plan.NewInventory(entries).Sorted(), nil
}

// settingsOf returns the annotations of a recorded manifest that are settings.
func settingsOf(body *unstructured.Unstructured, reconciler string) map[string]string {
	settings := map[string]string{}
	for key, value := range body.GetAnnotations() {
		if key != reconciler+"/"+manifests.AnnotationOwnerID && key != reconciler+"/"+marks.AnnotationDigest {
			settings[key] = value
		}
	}
	return settings
}
