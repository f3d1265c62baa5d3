// Package causes finds why a dependent is not ready, from the warning Events about the dependent itself, and what holds
// a dependent that is being deleted, such as the pods that use a claim.
//
// State decides when a cause is read: once for each generation of a dependent, and only if it was not ready, or was
// being deleted, for a while. What holds a deletion is read again by a later pass, but no pass is asked for because of
// it. So a rollout or a deletion that ends in time costs no request, and a component that waits is not polled. State is
// pure: it gets the outcome of a pass and the time. Events reads, as the identity of the component. It is silent if the
// identity may not list Events, because a cause only adds to a status. If the identity may not list pods, the cause is
// the command that shows them.
package causes
