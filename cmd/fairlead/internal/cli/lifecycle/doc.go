// Package lifecycle contains the commands that ask an operator to suspend, resume or repeat the reconciliation of a
// component: suspend, resume and reconcile. They write annotations or spec.suspend, and wait for the answer of the
// operator if the person wants it.
package lifecycle
