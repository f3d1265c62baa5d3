// Package tracing starts the OpenTelemetry spans of one reconciler.
//
// A pass over a component has a span. Its children are the waves of the pass, and their children are the actions on
// dependents, such as writes. Attributes name the component, the wave, the dependent, the verb, the reason and the
// outcome. The zero Tracer, which is used without a provider, starts no spans and allocates nothing, so callers need
// not check for a provider.
//
// The rule: no span contains values of manifests, so no span contains data of Secrets.
package tracing
