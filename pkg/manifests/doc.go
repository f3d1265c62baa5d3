// Package manifests holds the manifests of dependents as plain data.
//
// It has what authors see: the key of an object (key.go), its owner (owner.go), the names and values of its settings
// (settings.go, settings_values.go), its stage (stages.go) and the types that it defines (managed_types.go). Decoder
// reads manifests from YAML and JSON (decode.go). Object is a dependent as it is applied; the package normalise makes
// objects of manifests.
//
// The package has no client and reads no clock: equal input gives equal output.
//
// A new annotation for dependents needs these changes: its constant, its name in settingNames, and a call of its parser
// in ParseSettings (settings.go); for an expression, an element of expressionAnnotations (normalise/normalise.go); for
// an annotation without effect on observed objects, an element of the list in observed.go.
package manifests
