// Package records stores data of components in Secrets: inventories that do not fit into a status, pinned renderings,
// and the manifests of deletion phases. It also manages the finalizers on Secrets with kubeconfigs, and it collects the
// Secrets of components that no longer exist.
//
// A record has a kind, an id and one or more Secrets. Its content never changes: new content is a record with a new id.
// The status of a component names its current record of each kind. All other records of the component are in one of two
// states. An unnamed record may still be named by a status that is about to be written, for example by another operator
// process, so it is kept. A stale record will never be named by a status, so it is deleted.
//
// Rule: only this package writes and deletes these Secrets. It reads no component and writes no status; its callers
// decide which record is the current one. It may import packages condition, observe, rights and pkg/manifests.
package records
