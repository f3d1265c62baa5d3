package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// wrongObjects checks the objects of all types that can be listed and deleted: dependents of components, remains of
// deleted components, and objects that the operator stores.
func (w *world) wrongObjects(ctx context.Context, components map[string]*v1alpha1.Component) ([]string, error) {
	gvks, err := w.types()
	if err != nil {
		return nil, err
	}
	c := &check{world: w, components: components, recorded: map[types.UID]string{}}
	if err := c.readInventories(ctx); err != nil {
		return nil, err
	}
	for _, gvk := range gvks {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		err := w.admin.List(ctx, list)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			continue // The definition of this type has just been deleted.
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			c.look(gvk.Kind, &list.Items[i])
		}
	}
	for uid, what := range c.recorded {
		c.wrong = append(c.wrong, fmt.Sprintf("%s (%s) has an entry, but does not exist", what, uid))
	}
	return c.wrong, nil
}

// types returns the types of all objects that can be listed and deleted.
func (w *world) types() ([]schema.GroupVersionKind, error) {
	c, err := discovery.NewDiscoveryClientForConfig(w.cluster.Config())
	if err != nil {
		return nil, err
	}
	lists, err := c.ServerPreferredResources()
	var failed *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	var gvks []schema.GroupVersionKind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		for _, r := range list.APIResources {
			gvks = append(gvks, schema.FromAPIVersionAndKind(list.GroupVersion, r.Kind))
		}
	}
	return gvks, nil
}

// check is the state of a check of all objects in the cluster.
type check struct {
	world      *world
	components map[string]*v1alpha1.Component
	// recorded contains the dependents in inventories that the check has not found in the cluster yet.
	recorded map[types.UID]string
	wrong    []string
}

func (c *check) readInventories(ctx context.Context) error {
	spilled := 0
	for name, component := range c.components {
		entries, err := c.world.inventoryOf(ctx, component)
		if err != nil && component.Status.HasInventoryRecord() {
			c.complain("%s", err)
			continue
		}
		if err != nil {
			return err
		}
		if component.Status.HasInventoryRecord() {
			spilled++
		}
		if len(entries) == 0 {
			c.wrong = append(c.wrong, fmt.Sprintf("component %s has no dependents", name))
		}
		for _, e := range entries {
			if e.UID != "" {
				c.recorded[e.UID] = fmt.Sprintf("%s: %s %s/%s", name, e.Kind, e.Namespace, e.Name)
			}
		}
	}
	c.world.spilled = max(c.world.spilled, spilled)
	return nil
}

func (c *check) look(kind string, o *metav1.PartialObjectMetadata) {
	what := fmt.Sprintf("%s %s/%s", kind, o.Namespace, o.Name)
	_, isRecorded := c.recorded[o.UID]
	delete(c.recorded, o.UID)
	owner, name := c.owner(o.Annotations[reconciler+"/owner-id"])
	_, isLabelled := o.Labels[reconciler+"/owner-id"]
	switch {
	case isRecorded && (owner == nil || !isLabelled):
		c.complain("%s has an entry, but no label of a dependent", what)
	case isRecorded && o.Labels["soak"] != owner.values.Text:
		c.complain("%s has the value %s, but its component has %s", what, o.Labels["soak"], owner.values.Text)
	case !isRecorded && isLabelled && name != "" && len(o.OwnerReferences) == 0:
		c.complain("%s has the owner label of component %s, whose inventory does not contain it", what, name)
	}
	if strings.HasPrefix(o.Name, "guard-") {
		c.complain("%s was not deleted", what)
	}
	if kind == "Secret" {
		c.lookAtSecret(what, o)
	}
}

// lookAtSecret finds records and finalizers that no component needs.
func (c *check) lookAtSecret(what string, o *metav1.PartialObjectMetadata) {
	if id := o.Annotations[reconciler+"/record-of"]; id != "" {
		owner, name := c.owner(id)
		if owner == nil {
			c.complain("%s is a record of component %s, which does not exist", what, name)
		} else if !names(&c.components[name].Status, o.Name) {
			c.complain("%s is a record that the status of component %s does not name", what, name)
		}
		return
	}
	holders := 0
	for _, f := range o.Finalizers {
		if strings.HasPrefix(f, reconciler+"/") {
			holders++
		}
	}
	users := 0
	for _, user := range c.world.population {
		if user.shape.name == "remote" && o.Name == kubeconfigName {
			users++
		}
	}
	if holders != users {
		c.complain("%s has finalizers of %d components, but %d components use it", what, holders, users)
	}
}

// names reports whether a status names a Secret as a part of a record.
func names(s *metav1alpha1.Status, secret string) bool {
	// The name of a rendering that was found after the loss of the status begins with a question mark.
	records := []string{s.PhaseRecord, strings.TrimPrefix(s.RenderedSet, "?")}
	if s.HasInventoryRecord() {
		records = append(records, s.InventoryRecord.Name)
	}
	return slices.ContainsFunc(records, func(id string) bool { return id != "" && strings.Contains(secret, id) })
}

// owner returns the component with the given owner id, and its name.
func (c *check) owner(id string) (*component, string) {
	parts := strings.Split(id, "/")
	name := parts[len(parts)-1]
	return c.world.population[name], name
}

func (c *check) complain(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}
