// Package transform holds transformers for generator.Chain that need no further library: common labels and annotations,
// another service account, and dependencies between objects. kustomize.NewTransformer applies patches, replaces images
// and sets the namespace; cel.NewFilter removes objects.
//
// All of these transformers except DependsOn have a version. Therefore a chain renders again when their configuration
// changes, and not with every new build of the program.
package transform
