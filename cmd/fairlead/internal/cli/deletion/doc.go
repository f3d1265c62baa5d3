// Package deletion contains the command delete. Before it requests the deletion of a component, it says what a person
// should know: who reads from the component, which dependents stay, what blocks the deletion, and which rights it
// lacks.
package deletion
