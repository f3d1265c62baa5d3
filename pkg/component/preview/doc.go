// Package preview computes what a reconciler would do with a component: it runs the passes of the reconciler with dry
// runs in place of writes, until nothing is left to do.
//
// A Preview has the name, the generator and the options of the reconciler. Its results are forecasts of package result.
package preview
