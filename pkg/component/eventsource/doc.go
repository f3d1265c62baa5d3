// Package eventsource makes the event sources of a reconciler: objects and services that components depend on, and that
// are none of their dependents.
//
// Related watches other objects, such as a ConfigMap of another team. Polling asks one service for the values of all
// components, and PollingEach asks for each component. Inbound receives values, for example from a webhook. AsInput
// makes the values of an event source an input of the rendering.
//
// An event source is added with Reconciler.AddEventSource of package component, before or after the start. The
// functions of an event source get components as the type T of the reconciler.
package eventsource
