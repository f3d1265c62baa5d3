// Package changepreview computes the changes that an operator would make for a component. The commands plan and diff
// print the result.
//
// The input is the component in the cluster, or the component that fairlead apply would write. Preview of
// pkg/component computes the changes. All its writes are dry runs. For components of other operators, only the deletion
// can be previewed, because only their own operator can render them.
package changepreview
