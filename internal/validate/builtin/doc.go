// Package builtin contains the schemas, the scopes and the versions of the types of Kubernetes, of the version that
// this program was built with. The operator does not use it: it asks the API server.
//
// A cluster may be older or newer, so what follows from this package is a suspicion, or an answer where there is no
// cluster. The package is pure.
package builtin
