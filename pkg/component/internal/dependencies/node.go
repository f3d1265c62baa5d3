package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Kind is the way in which a component needs another one.
type Kind string

const (
	// DependsOn means that new inputs of the component wait until the other one is Ready.
	DependsOn Kind = "DependsOn"
	// Exports means that the component reads a published export of the other one. Package input makes its inputs wait for
	// the value.
	Exports Kind = "Exports"
	// Contains means that the other component is a dependent of the component, which is Ready only if the other one is.
	Contains Kind = "Contains"
	// IsContained means that the component is a dependent of the other one, which creates it.
	IsContained Kind = "IsContained"
)

// Edge is a dependency that a component declares. Its Kind is DependsOn or Exports.
type Edge struct {
	On   types.NamespacedName
	Kind Kind
	// Blocks is set if the other component is not deleted while this one has dependents.
	Blocks bool
}

// Node contains the facts about one version of a component. A Graph keeps the slices, so nobody may change them.
type Node struct {
	UID types.UID
	// Version is the resource version.
	Version string
	// Edges are the dependencies that the stored object declares. Hooks may change the object in memory, and must not
	// change the edges.
	Edges []Edge
	// Allows are the other namespaces whose components may depend on the component.
	Allows []string
	// Deleting is set if the component has a deletion timestamp. DeletionBegan is set if its deletion has deleted
	// dependents already: no other component can block it any more.
	Deleting, DeletionBegan bool
	// Holds is set if the component has recorded dependents.
	Holds bool
	// Elsewhere is set if dependents are in another namespace or cluster than the component.
	Elsewhere bool
	Health    Health
}

// component is what is known about a component. It is not changed in place.
type component struct {
	node Node
	// entered is the version that the last pass worked with, empty if there was no pass.
	entered string
	// isDelivered is set if the informer has delivered the component, and not its deletion.
	isDelivered bool
	// began is set if the last pass began to apply inputs. The component may then have dependents that are not in the
	// inventory of the last delivered version.
	began bool
	// asked is set if a pass asked for the holders of the component, in order to delete it. goes is set if there were
	// none.
	asked, goes bool
	// children are the components among its dependents.
	children []types.NamespacedName
}

// isDeleting reports whether the component is being deleted. The informer may not have delivered this yet.
func (c *component) isDeleting() bool { return c.node.Deleting || c.asked }

// holds reports whether the component has dependents, or may have some.
func (c *component) holds() bool { return c.node.Holds || c.began }

// targets returns the components that the component depends on.
func (c *component) targets() []types.NamespacedName {
	on := make([]types.NamespacedName, 0, len(c.node.Edges))
	for _, e := range c.node.Edges {
		on = append(on, e.On)
	}
	return on
}

// hasEqualNeeds reports whether two versions of a component have the same edges and allow the same ones.
func (c *component) hasEqualNeeds(other *component) bool {
	return c.node.UID == other.node.UID && slices.Equal(c.node.Edges, other.node.Edges) &&
		slices.Equal(c.node.Allows, other.node.Allows) && slices.Equal(c.children, other.children)
}

// hasEqualEffect reports whether two versions of a component are equal except for their health, as far as the answers
// for components are concerned.
func (c *component) hasEqualEffect(other *component) bool {
	return c.hasEqualNeeds(other) && c.isDeleting() == other.isDeleting() && c.holds() == other.holds() &&
		c.node.Elsewhere == other.node.Elsewhere
}
