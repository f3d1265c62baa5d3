// Package rbac derives the rules of a scaffolded operator from what it renders: a rule for each API group, rules for
// what dependents grant to others, and rules for optional interfaces of the component.
//
// It reads rendered objects and the text of manifests and templates. It does not decide whether an operator may have
// these rules; the chart of the project shows them to a person, with a comment for each reason.
package rbac
