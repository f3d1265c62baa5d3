// Package turn lets work that has to wait for others end its pass, so that no worker waits.
//
// The caller of a generator puts a Turn of its component into the context. A generator that shares something among
// components, such as child processes, keeps the place of the component in its line and returns ErrLater. The caller
// drops all that it holds. When the component is next, the place is kept for it and Wake starts its next pass. A
// generator that finds no Turn in its context waits in the call.
//
// The package knows neither generators nor passes, and imports no other package of this repository.
package turn
