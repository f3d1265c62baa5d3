// Package settingtext reads what a manifest tells the engine in texts: the annotations that are settings, and the
// references of an external. It also writes the list of dependencies in the form of its annotation.
//
// Parse reads all settings of a manifest at once, and joins all errors. Each error names the annotation. No other
// package reads these annotations of a rendered manifest. The parsers of single values, such as ParseExports, are for
// live objects and for the inventory, which have the same texts.
//
// The data types are in package manifests, because authors see them: Settings, Dependency, Export, ReadyWhen and
// StatusHints. The package is pure: equal texts give equal results.
//
// A new annotation needs these changes: its constant (manifests/settings.go), its name in settingNames (names.go), a
// call of its parser in Parse (parser.go); for an expression, an element of expressionAnnotations
// (manifests/normalise/normalise.go); for an annotation without effect on observed objects, an element of the list in
// observed.go.
package settingtext
