// Package helm renders the dependents of a component from a Helm chart. It uses Helm's libraries to load the chart and
// to compute its values. No Helm release is stored: the reconciler applies the rendered objects.
//
// # What is rendered
//
// The parameters of the component override the values of the chart. Numbers are floating point, as in a values file.
// Conditions, tags, aliases and import-values of sub-charts work as in Helm. The values are validated against
// values.schema.json, and the version of the target cluster against the chart's kubeVersion. References in a schema
// must point into the same schema: nothing is fetched, and no file of the operator is read.
//
// In templates, .Release contains the name, the namespace and the revision of the component; .Release.IsInstall is true
// for revision 1. The function lookup reads from the target cluster as the component's identity. It returns an empty
// result if there is no target cluster, or if the kind is not served.
//
// The objects in the folder crds are dependents too, in a wave before all others. Unlike with Helm,
// CustomResourceDefinitions are therefore updated, and deleted with the component unless foreign instances exist.
// NOTES.txt is rendered with the other templates, because some charts validate their values in it. Its text is reported
// to Request.Notes.
//
// # Hooks
//
// With Options.AnnotationPrefix, a hook becomes an ordinary dependent. Settings (annotations of the reconciler) give it
// the order and the life cycle that it has in Helm. Without Options.AnnotationPrefix, charts with hooks or with the
// resource policy keep are errors. Each hook has its own wave, in Helm's order: hooks before the chart's objects have
// waves from -20000, and hooks after them from 20000. Hooks with the delete policy hook-succeeded are purged in later
// waves, in reverse order. Hooks for pre-delete and post-delete are applied in a phase of the deletion. An annotation
// with the revision makes each hook run once per revision. docs/generators/helm.md describes the details and the
// differences from Helm.
package helm
