// Package helm renders the dependents of a component from a Helm chart, with Helm's own loader, values and template engine. Releases are not
// stored, and nothing is installed: the reconciler applies what is rendered.
//
// # What is rendered
//
// Values are the component's parameters over those of the chart; numbers are floating point, as they are in a values file. Conditions, tags,
// aliases and import-values of sub-charts work as in Helm, the values are validated against values.schema.json, and the chart's kubeVersion against the
// target. A schema may only refer to itself: nothing is fetched, and no file of the operator is read.
//
// Release has the component's name and namespace and its revision; IsInstall holds for revision 1. The function lookup reads from the
// target as the component's identity; it finds nothing where there is no target, or where the kind is not served.
//
// The folder crds is part of the dependents, so custom resource definitions are updated, and deleted with the component where nobody else uses
// them. NOTES.txt is rendered, because charts validate there, and dropped.
//
// # Hooks
//
// A hook is an ordinary dependent in a wave of its own, if Options.AnnotationPrefix is set, and an error otherwise:
//
//   - a hook for pre-install or pre-upgrade gets order -1000 plus its weight (below 0 at the most), one for post-install or post-upgrade
//     1000 plus its weight (above 0 at the least); an order written in the chart wins;
//   - a hook for upgrades only is left out of revision 1; a hook for the installation only is applied once;
//   - Jobs and Pods are recreated when they change, because most of their fields cannot be updated;
//   - hook-delete-policy is not evaluated: a hook is pruned when the chart no longer renders it.
//
// Hooks for test, rollback and deletion, and unknown hooks, are left out.
package helm
