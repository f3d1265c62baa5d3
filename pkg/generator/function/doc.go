// Package function renders the dependents of a component with an HTTP service that you write in any language: a KRM
// function behind a URL. For services in Go, Handler serves a Generator with the same protocol.
//
// # Protocol
//
// The protocol is the KRM Functions specification over HTTP. The reconciler posts a ResourceList of
// config.kubernetes.io/v1 as JSON. The function answers with status 200 and a ResourceList, as JSON or YAML. The items
// of the answer are the dependents. The field functionConfig of the request contains the parameters:
//
//	apiVersion: function.fairlead.io/v1alpha1
//	kind: FunctionConfig
//	metadata: {name: shop, namespace: prod}           # the name and namespace under which the component is deployed
//	spec:
//	  parameters: {replicas: 3}                       # the parameters of the component
//	  revision: 2                                     # counts the changes of the inputs
//	  digest: 3f0c9a…                                 # identifies the inputs
//	  component: {apiVersion: …, kind: …, namespace: …, name: …}
//	  kubernetes: {version: v1.36.3, apiVersions: […]} # of the target cluster
//	  now: "2026-01-02T15:04:05Z"                     # the current time; the function must not read its own clock
//	  exports: {dbHost: 10.0.0.7}                     # the known values of the exports that earlier answers asked for
//	  inputs: {rates: {EUR: 1}}                       # the values of event sources that are inputs
//
// The items of the request are the Secrets and ConfigMaps in Service.Items. They have the annotation
// config.kubernetes.io/local-config. Items of the answer with this annotation are ignored, so a function may return its
// input.
//
// A function asks for exports of dependents with an item of the answer. The function must name all exports that it
// uses, also those whose value it got. It must be able to answer without the values, because the first request has
// none:
//
//	apiVersion: function.fairlead.io/v1alpha1
//	kind: AskedExports
//	metadata: {name: asked, annotations: {config.kubernetes.io/local-config: "true"}}
//	spec: {names: [dbHost]}
//
// If the answer contains a result with severity error, the rendering fails. Results of other severities are reported to
// the user. A function that is temporarily unable to answer returns status 429 or 503, optionally with the header
// Retry-After. A function cannot look up objects in a cluster, because the specification has no way to do so; all input
// is in the request.
//
// Like every generator, a function must be deterministic: equal requests get equal answers.
package function
