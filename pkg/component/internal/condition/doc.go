// Package condition holds the error that ends a pass early and becomes the conditions of the component.
//
// Every room of the engine returns it, and package status turns it into conditions, so it imports nothing above
// package plan. An error has a reason and a message for the conditions, and it says whether a retry can help:
// a terminal error needs a person, every other error is retried with back-off. Errors of an author's code
// (generators, hooks, fetchers) are classified here, by type and never by text.
package condition
