// Package deletionrights finds rights that the deletion of a component needs, and that the identity lacks that makes
// the requests: the service account of the component, or the operator.
//
// The package reads the inventory, and asks the API server with SubjectAccessReviews. It changes nothing, and it does
// not decide whether a deletion is requested.
package deletionrights
