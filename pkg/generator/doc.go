// Package generator defines the interface between a reconciler and the code that renders dependents: a Generator
// receives the parameters of a component and returns objects.
//
// The package also contains the parts that generators are composed of (Chain, Merge, Switch, Transformer) and the
// optional interfaces Versioner and Prover. The sub-packages helm, kustomize, gotemplate and function hold one engine
// each; transform and cel hold transformers, generatortest the tests for generators.
//
// The package knows no engine, so that a program only has the dependencies of the engines it uses.
package generator
