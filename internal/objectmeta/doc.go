// Package objectmeta checks the identity and the metadata of a decoded manifest: apiVersion, kind, name, namespace,
// labels, annotations, and the size of all annotations.
//
// A manifest that passes Check can be read with the accessors of unstructured.Unstructured, which drop all labels or
// annotations if one of them is no string. Errors say what is wrong and what to write instead.
package objectmeta
