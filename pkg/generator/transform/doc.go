// Package transform holds transformers for generator.Chain that need no library: common labels and annotations, and another service account.
// kustomize.NewTransformer patches, replaces images and moves into a namespace; cel.NewFilter keeps some of the objects.
//
// All of them have a version, so that a chain of them is rendered again when its configuration changed, and not with every new build.
package transform
