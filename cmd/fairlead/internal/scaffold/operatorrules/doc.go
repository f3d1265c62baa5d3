// Package operatorrules derives the RBAC rules of a scaffolded operator from rendered objects. It returns a rule for
// each API group, rules for the rights that dependents grant to others, and rules for optional interfaces of the
// component.
//
// The package reads rendered objects and the texts of manifests and templates. A person must check whether the operator
// may have these rules. For this purpose, the chart of the project lists the rules with comments that give the reasons.
package operatorrules
