// Package bundle collects a component and the objects to which it refers, for another cluster (fairlead export).
//
// The package reads only ConfigMaps and Secrets that the spec names. It writes objects without status and without
// fields that are only valid in their cluster. It leaves out Secrets unless the caller includes them.
package bundle
