// Package passerror defines the type Error. An Error ends a pass early, and determines the conditions of the component.
//
// All internal packages of the engine return such errors, and package status converts them to conditions. An error has
// a reason and a message for the conditions. A terminal error lasts until a person or another controller changes
// something; every other error is retried with back-off. The package also classifies errors of an author's code
// (generators, hooks, fetchers), by their type and never by their text.
package passerror
