package componentexternals

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// External is a dependent outside Kubernetes.
type External struct {
	tree.Node
	// Record is the recorded state; nil if there is none, or if the person may not read it.
	Record *tree.ExternalRecord
}

// Name returns the name in the form of the command line, Kind/name.
func (e External) Name() string { return e.Key.Kind + "/" + e.Key.Name }

// Component contains the externals of a component.
type Component struct {
	cluster.Object
	Status    metav1alpha1.Status
	Externals []External
	// Unread says why the recorded states could not be read; nil if they were.
	Unread error
}

// Of returns the externals of a component, in the order of their keys.
func Of(ctx context.Context, o cluster.Object) (Component, error) {
	status, err := cluster.StatusIfAny(o.Target, o.Live)
	if err != nil {
		return Component{}, err
	}
	c := Component{Object: o, Status: status}
	inventory, err := tree.Inventory(ctx, o.Cluster, &status)
	if err != nil {
		return Component{}, exit.Refuse("%s: the inventory cannot be read in full: %w", o.Target, err)
	}
	inventory = slices.DeleteFunc(inventory, func(e metav1alpha1.InventoryEntry) bool { return !e.External })
	nodes, err := tree.Read(ctx, o.Cluster, inventory)
	if err != nil {
		return Component{}, err
	}
	found := map[manifests.Key]External{}
	for _, n := range tree.AddExternals(nodes, &status) {
		found[n.Key] = External{Node: n}
	}
	c.addWaiting(found)
	records, err := tree.ExternalRecords(ctx, o.Cluster, o.Live, &status)
	c.Unread = err
	for _, r := range records {
		e, known := found[r.Key]
		if known || !r.Gone {
			e.Key, e.Record = r.Key, &r
			found[r.Key] = e
		}
	}
	c.Externals = slices.SortedFunc(maps.Values(found), func(a, b External) int { return a.Key.Compare(b.Key) })
	return c, nil
}

// addWaiting adds externals that the status names, and that are not in the inventory.
func (c *Component) addWaiting(found map[manifests.Key]External) {
	for _, w := range c.Status.Waiting {
		key, ok := manifests.ParseKey(w.Dependent)
		if _, known := found[key]; !ok || known || !key.IsExternal() {
			continue
		}
		found[key] = External{Node: tree.Node{
			Key: key, Wave: int(w.Wave), State: result.NodeUnknown, Reason: w.Reason, Message: w.Message,
		}}
	}
}

// find returns an external by its name on the command line, Kind/name.
func (c Component) find(name string) (External, error) {
	kind, _, ok := strings.Cut(name, "/")
	if !ok || kind == "" || strings.Count(name, "/") != 1 {
		return External{}, exit.BadUsage("external %q: want Kind/name, such as Schema/orders", name)
	}
	var others []string
	for _, e := range c.Externals {
		if strings.EqualFold(e.Name(), name) {
			return e, nil
		}
		others = append(others, e.Name())
	}
	if len(others) == 0 {
		return External{}, exit.Refuse("%s has no externals", c.Target)
	}
	return External{}, exit.Refuse("%s has no external %s; its externals are %s", c.Target, name,
		strings.Join(others, ", "))
}
