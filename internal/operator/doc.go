// Package operator is the ready-made operator of fairlead.io: the generator and the reconciler of Components.
//
// The generator reads the source and the values that the spec names, chooses an engine (Helm, kustomize, Go templates,
// a function), and applies post-renderers. Its errors name the field, the object, the file and the line, and they quote
// nothing of a Secret. If the output for the same inputs changes, renderingVersion must be raised.
//
// Setup registers the reconciler; Preview and Trace answer the command line's plan and why. self and staying protect
// the Deployment in which the operator runs from itself.
package operator
