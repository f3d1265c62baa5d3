// Package notification posts the Events of a manager to an address, in the form that Flux's notification-controller
// receives. That controller sends them to chats, commits and other services.
//
// The recorders of Poster.Manager put each Event into a queue and never wait, so that no pass waits for the receiver.
// The Poster sends the Events one after the other, in their order. The queue, the attempts and the age of an Event have
// limits. Lost Events are counted, and logged from time to time. No decision depends on whether an Event arrives.
//
// A message contains the text of the Kubernetes Event and nothing else of a component but numbers, digests, versions
// and the annotations that are written for the receiver. Nothing of a response is used but its status.
package notification
