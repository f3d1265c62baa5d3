// Package records stores data of components in Secrets: inventories that do not fit into a status, pinned renderings,
// and the manifests of deletion phases. It also manages the finalizers on Secrets with kubeconfigs, and it collects the
// Secrets of components that no longer exist.
//
// A record has a kind, an id and one or more Secrets. Its content never changes: new content is a record with a new id.
// The status of a component names the record that counts. All other records of the component are in one of two states:
// an unnamed record may still be named by a status, for example by that of another operator process; a stale record
// never will be, and is deleted.
//
// Rule: only this package writes and deletes these Secrets. It reads no component and writes no status; its callers
// decide which record counts. It may import packages condition, observe, rights and pkg/manifests.
package records
