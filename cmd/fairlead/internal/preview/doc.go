// Package preview returns what an operator would do with a component, as the commands plan and diff show it.
//
// It combines the component as it is in the cluster, or as fairlead apply would write it, with the preview of package
// component. It writes nothing: the API server gets dry runs only. Components of other operators have a preview of
// their deletion only, because only their operator can render them.
package preview
