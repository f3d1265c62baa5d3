// Package manifests holds the manifests of dependents as plain data.
//
// It decodes YAML and JSON (decode.go), parses the settings in annotations (settings.go), normalises a rendered set
// (normalise.go), sorts it into waves and stages (stages.go, order_conflicts.go), and computes digests, keys and
// owners. Object is the result: a dependent as it is applied.
//
// The package has no client and reads no clock: equal input gives equal output. It imports api/meta and the pure
// packages internal/bounded, internal/expression and internal/fieldpath.
//
// A new annotation for dependents needs these changes: its constant, its name in settingNames, and a call of its parser
// in ParseSettings (settings.go); for an expression, an element of the list in expression_budget.go; for an annotation
// without effect on observed objects, an element of the list in observed.go.
package manifests
