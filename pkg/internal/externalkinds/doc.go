// Package externalkinds checks the manifests of dependents outside Kubernetes against the kinds that an author
// registered. The reconciler and the test kit for generators share this check. The package makes no calls.
//
// The rule: a manifest whose kind has no handler is an error, and never an object that nobody creates.
package externalkinds
