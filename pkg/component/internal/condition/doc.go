// Package condition holds the error that ends a pass early and becomes the conditions of the component.
//
// All internal packages of the engine return this error, and package status turns it into conditions. So this package
// must not import any of them except package plan and the packages that plan imports. An error has a reason and a
// message for the conditions, and it says whether a retry can help: a terminal error needs a person, every other error
// is retried with back-off. Errors of an author's code (generators, hooks, fetchers) are classified here, by type and
// never by text.
package condition
