// Package operator is the ready-made operator of fairlead.io: the generator and the reconciler of Components.
//
// The generator reads the source and the values in the spec, selects an engine (Helm, kustomize, Go templates, a
// function), and applies post-renderers. Its errors name the field, the object, the file and the line, and they never
// contain contents of a Secret. If a release changes the output for the same inputs, renderingVersion must be raised.
//
// The services in spec.externals handle dependents outside Kubernetes. Each call has the credentials of its component.
//
// Setup registers the reconciler. Preview and Trace implement the subcommands plan and why of the command line. The
// types self and staying prevent the operator from deleting the Deployment in which it runs.
package operator
