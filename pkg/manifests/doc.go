// Package manifests holds the manifests of dependents as plain data.
//
// The package contains what authors see: the key of an object (key.go), its owner (owner.go), the names and values of
// its settings (settings.go, settings_values.go), its stage (stages.go) and managed types (managed_types.go). Decoder
// reads manifests from YAML and JSON (decode.go). Object is a dependent as it is applied; the package normalise makes
// objects of manifests.
//
// The package has no client and reads no clock: equal input gives equal output. The engine's own packages read what
// these data say: internal/settingtext parses settings, internal/marks reads the labels and annotations of live
// objects, and internal/typeset computes stages.
package manifests
