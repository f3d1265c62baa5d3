package reconcile

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/dependencies"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// Needs is what a stored component declares about other components.
type Needs struct {
	// Edges are the components that the component depends on, and Field is the name of their field, for messages.
	Edges []dependencies.Edge
	Field string
	// Allows are the other namespaces whose components may depend on the component.
	Allows []string
}

// Dependencies tells a graph the facts about components. It gets the versions of components from their watch and from
// passes. It implements components.Follower.
type Dependencies struct {
	Graph      *dependencies.Graph
	Author     Author
	Store      *components.Store
	Finalizers components.Finalizers
}

// Put implements components.Follower.
func (d *Dependencies) Put(component components.Object) {
	node, _ := d.nodeOf(component)
	d.Graph.Put(client.ObjectKeyFromObject(component), node)
}

// Remove implements components.Follower.
func (d *Dependencies) Remove(component components.Object) {
	d.Graph.Remove(client.ObjectKeyFromObject(component), component.GetUID())
}

// Complete implements components.Follower.
func (d *Dependencies) Complete() { d.Graph.Complete() }

// enter enters the component that a pass has loaded, before hooks change it. It returns what the component declares.
// state is the state that the process keeps of the component. In a preview, d is nil.
func (d *Dependencies) enter(component components.Object, state *State) Needs {
	if d == nil {
		return Needs{}
	}
	node, needs := d.nodeOf(component)
	node.Holds = node.Holds || d.Finalizers.Holds(component) && state.hasDependents(component)
	d.Graph.Enter(client.ObjectKeyFromObject(component), node)
	return needs
}

// enterChildren enters the components among the dependents of a component. In a preview, d is nil.
func (d *Dependencies) enterChildren(c *Component, w work, dependents []metav1alpha1.InventoryEntry) {
	if d != nil {
		d.Graph.SetChildren(c.Name(), c.GetUID(), childrenOf(w, dependents))
	}
}

// childrenOf returns the components of the same type among the dependents of a component, sorted. It leaves out those
// that stay when the component is deleted, and those in another cluster, where another operator reconciles them.
func childrenOf(w work, dependents []metav1alpha1.InventoryEntry) []types.NamespacedName {
	if w.target.Cluster != "" {
		return nil
	}
	var children []types.NamespacedName
	for _, e := range dependents {
		isComponent := e.Group == w.owner.Group && e.Kind == w.owner.Kind && !e.External
		if isComponent && !plan.Orphans(e, plan.ReasonDeleted) {
			children = append(children, types.NamespacedName{Namespace: e.Namespace, Name: e.Name})
		}
	}
	slices.SortFunc(children, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return children
}

// hasDependents reports whether the process knows dependents of a component that its status may lack.
func (m *State) hasDependents(component components.Object) bool {
	isUnreported := m.unreported.uid == component.GetUID() && len(m.unreported.inventory()) > 0
	return isUnreported || len(m.unconfirmed.entries) > 0
}

// nodeOf returns the facts about a version of a component. It must not change the component, which may be in the cache.
func (d *Dependencies) nodeOf(component components.Object) (dependencies.Node, Needs) {
	// A panic would end the process in a watch handler. The pass over the component calls the same code, and reports it.
	needs, _ := authorcode.Call("Dependencies", func() (Needs, error) { return d.Author.Needs(component), nil })
	status, isDeleted := component.GetStatus(), component.GetDeletionTimestamp() != nil
	return dependencies.Node{
		UID: component.GetUID(), Version: component.GetResourceVersion(), Edges: needs.Edges, Allows: needs.Allows,
		Deleting: isDeleted, DeletionBegan: isDeleted && deletionBegan(status, component.GetGeneration()),
		Holds: d.Finalizers.Holds(component) &&
			(!components.RefOf(status).Empty() || components.Damaged(component, d.Finalizers)),
		Elsewhere: isDeleted && isElsewhere(status, component.GetNamespace()),
		Health:    d.healthOf(component),
	}, needs
}

func (d *Dependencies) healthOf(component components.Object) dependencies.Health {
	status := component.GetStatus()
	isSuspended, _ := authorcode.Call("Suspended", func() (bool, error) { return components.Suspended(component), nil })
	health := dependencies.Health{
		Generation: component.GetGeneration(), Suspended: isSuspended,
		Doubted:       d.Store.IsDoubted(component) || components.WrittenForAnother(component),
		RevisionReady: wasReady(status.History),
		InputsApplied: status.AppliedDigest != "" && status.AppliedDigest == status.InputDigest,
	}
	if ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady); ready != nil {
		health.ObservedGeneration = ready.ObservedGeneration
		health.IsReady = meta.IsStatusConditionTrue(status.Conditions, metav1alpha1.ConditionReady)
	}
	return health
}

// wasReady reports whether the last revision of a history was ready once.
func wasReady(history []metav1alpha1.RevisionRecord) bool {
	i := slices.IndexFunc(history, func(r metav1alpha1.RevisionRecord) bool { return r.Revision > 0 })
	return i >= 0 && history[i].Outcome == metav1alpha1.RevisionReady
}

// deletionBegan reports whether the status of a deleted component says that its dependents are being deleted, also if
// this failed. A deletion that waits for others has not begun.
func deletionBegan(status *metav1alpha1.Status, generation int64) bool {
	ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != generation {
		return false
	}
	failures := []string{
		metav1alpha1.ReasonDependentFailed, metav1alpha1.ReasonOwnershipConflict, metav1alpha1.ReasonCreateUncertain,
	}
	return status.State == metav1alpha1.StateDeleting && ready.Reason == metav1alpha1.ReasonDeleting ||
		status.State == metav1alpha1.StateStalled && slices.Contains(failures, ready.Reason)
}

// isElsewhere reports whether dependents may be in another cluster or namespace than their component, so that the
// deletion of its namespace does not delete them. If the status does not have the dependents, they may be.
func isElsewhere(status *metav1alpha1.Status, namespace string) bool {
	if status.TargetCluster != "" || cmp.Or(status.TargetNamespace, namespace) != namespace ||
		status.HasInventoryRecord() {
		return true
	}
	entries, err := metav1alpha1.ParseInventory(status.Inventory)
	return err != nil || slices.ContainsFunc(entries, func(e metav1alpha1.InventoryEntry) bool {
		return e.Namespace != namespace
	})
}
