// Package dependencies knows which components of a reconciler depend on each other. It answers which dependencies of a
// component are ready, and which components must be deleted before another one.
//
// Callers use Graph, which has the lock. The other types have no lock, no clock and no client. Two callers tell a Graph
// facts about components: the informer delivers each version of a component, and each pass enters the version that it
// works with. One lock for all facts and all questions ensures two rules:
//
//   - No change is missed. A Graph keeps the answer that each waiting component got. When another answer lets the
//     component go on, or gives it another cause to wait, the Graph starts a pass over the component.
//   - A component does not create its first dependents while a component that it depends on is being deleted: either
//     Begin or Holders sees the other call.
//
// The files state.go and consent.go contain the rules for one dependency, and holders.go contains the rules for one
// deletion. The file sets.go finds the components that wait for each other.
package dependencies
