// Package readers finds the components that read from another component: its published exports, or objects that belong
// to it. Nothing blocks the deletion of a component that others read, so the commands delete and plan --delete name
// them.
//
// The package lists the components of one type in one namespace, and decides by their specs and statuses alone. Readers
// are information for a person: if they cannot be found out, the command warns and goes on.
package readers
