// Package sources holds the event sources of a reconciler: objects and services, besides their dependents, that
// components depend on.
//
// A source has a value for each component, identified by a digest. Poll asks one service for the values of all
// components, PollEach asks for each component, Mailbox receives values, and Related watches other objects. A Set holds
// the sources of a reconciler, which are added and removed while it runs.
//
// The package enforces four rules. No fetch runs on a worker of the controller. An equal value wakes no component. When
// a component is gone, its values, goroutines and watches are removed. A panic or a hang in the code of an author is
// contained.
//
// Sources count their results for a Counter, which the metrics use. The package imports observe for watches, and
// inspect for the comparison of versions. It does not import passes or renderings; package reconcile reads its values.
package sources
