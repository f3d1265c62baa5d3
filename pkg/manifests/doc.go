// Package manifests holds the manifests of dependents as plain data.
//
// It decodes YAML and JSON (decode.go), parses the settings in annotations (settings.go), normalises a rendered set
// (normalise.go), sorts it into waves and stages (stages.go, order_conflicts.go), and computes digests, keys and
// owners. Object is the result: a dependent as it is applied.
//
// The package imports api/meta and no other package of this repository. It has no client and reads no clock: equal
// input gives equal output.
package manifests
