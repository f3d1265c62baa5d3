// Package helm renders the dependents of a component from a Helm chart, with Helm's own loader, values and template
// engine. Releases are not stored, and nothing is installed: the reconciler applies what is rendered.
//
// # What is rendered
//
// Values are the component's parameters over those of the chart; numbers are floating point, as they are in a values
// file. Conditions, tags, aliases and import-values of sub-charts work as in Helm, the values are validated against
// values.schema.json, and the chart's kubeVersion against the target. A schema may only refer to itself: nothing is
// fetched, and no file of the operator is read.
//
// Release has the component's name and namespace and its revision; IsInstall holds for revision 1. The function
// lookup reads from the target as the component's identity; it finds nothing where there is no target, or where the
// kind is not served.
//
// The folder crds is part of the dependents, in a wave before all others, so custom resource definitions are updated,
// and deleted with the component where nobody else uses them. NOTES.txt is rendered, because charts validate there,
// and is what Notes returns.
//
// # Hooks
//
// Where Options.AnnotationPrefix is set a hook is an ordinary dependent, whose settings say what Helm does with it;
// without it, hooks and objects to be kept are errors. Each hook has a wave of its own, in Helm's order: those before
// the chart's objects from -20000, those after them from 20000; what succeeded is purged behind them, in reverse.
// Hooks for the deletion have a phase. A hook is another object at each revision, so that it runs once per revision.
// docs/generators/helm.md has the details, and where that differs from Helm.
package helm
