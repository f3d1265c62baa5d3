// Package function renders the dependents of a component with a service of its own, in any language: a KRM function
// behind a URL. It is also the other side: Handler serves a Generator that is written in Go.
//
// # Protocol
//
// The KRM Functions specification, with HTTP in place of a process: a ResourceList of config.kubernetes.io/v1 is
// posted as JSON, and the status 200 comes back with one, as JSON or YAML. The items of the answer are the
// dependents. functionConfig says what to render:
//
//	apiVersion: function.fairlead.io/v1alpha1
//	kind: FunctionConfig
//	metadata: {name: shop, namespace: prod}           # as what, and where, the component is deployed
//	spec:
//	  parameters: {replicas: 3}                       # those of the component
//	  revision: 2                                     # counts the changes of the inputs
//	  digest: 3f0c9a…                                 # identifies them
//	  component: {apiVersion: …, kind: …, namespace: …, name: …}
//	  kubernetes: {version: v1.36.3, apiVersions: […]} # of the target
//	  now: "2026-01-02T15:04:05Z"                     # for a function that writes the time; it must not ask its own clock
//
// The items of the request are the Secrets and ConfigMaps that Service.Items names, and nothing else. They carry the
// annotation config.kubernetes.io/local-config; they are no dependents when they come back, and neither is anything
// else with that annotation.
//
// Results of severity error let the rendering fail, others are reported. A function that cannot answer now says 429
// or 503, with Retry-After if it knows more. There are no look-ups: the specification has none, and a function gets
// what it needs with the request.
//
// A function must be deterministic, as every generator: equal requests get equal answers.
package function
