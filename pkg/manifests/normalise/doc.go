// Package normalise converts the manifests of a generator to the objects that are applied.
//
// Manifests is its entry: it copies and validates each manifest, sets scope and namespace, reads the settings, removes
// what only the API server sets, adds owner and digest, checks the set as a whole, and sorts it in apply order. Errors
// of all objects are joined, each with the key of its object.
//
// The package stands above pkg/manifests, which contains the data, and above the packages that check a set: depgraph,
// binding and ordering. It has no client and reads no clock: equal input gives equal output. What it needs to know of a
// cluster it asks through the functions of Options.
package normalise
