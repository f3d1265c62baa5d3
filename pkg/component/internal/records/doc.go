// Package records stores data of components in Secrets: inventories that do not fit into a status, pinned renderings,
// and the manifests of deletion phases. It also manages the finalizers on Secrets with kubeconfigs and with credentials
// of externals, and it collects the Secrets of components that no longer exist.
//
// A record has a kind, an id and one or more Secrets. Its content never changes: new content is a record with a new id.
// An id can prove the content of its record; see Seal. The status of a component names its current record of each kind.
// A record of an inventory or of a rendering also identifies the record that it replaces. A record that the status does
// not name is kept while the status names the record that it replaces, because the next write of the status, for
// example by another operator process, may name it. Otherwise the record is stale. A stale record is deleted, because
// no status will name it. Each record of phases that the status does not name is stale.
//
// Records of the kind Externals are the exception: package externalstate changes their content, and no status names
// them. This package defines their names, labels and annotations, deletes them and collects them. The inventories of an
// engine without a reconciler are the other exception: each is in one Secret that is changed; see Inventories.
//
// Rule: only this package writes and deletes the Secrets of the other kinds. It reads no component and writes no
// status; its callers decide which record is current.
package records
