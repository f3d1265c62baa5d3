// Package inventory stores the inventory of a component, and the data that a deletion and a later rendering need.
//
// A Store reads and writes inventories. A small inventory is stored as lines in the status. A larger inventory is
// stored in Secrets that the status names; its lines are cached. In a namespace that is being deleted, it may be
// impossible to write an inventory into the status or into Secrets. Then it is kept in memory (inventory fallback). An
// inventory that is lost or damaged is recovered from the owner labels of live objects, and a report names the types
// and namespaces that could not be searched. Phases and Pinned store the manifests of deletion phases and pinned
// renderings. Recovery.Rebuild and Parse are for an engine without a reconciler, whose inventories package records
// stores.
//
// Rule: the status names a complete record at any time. New Secrets are written before the status names them, and
// previous Secrets are deleted later. The package writes components through package components, and Secrets through
// package records. The package returns Events and does not emit them.
package inventory
