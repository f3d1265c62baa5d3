// Package execute carries out the actions of a plan. It is the only code that writes dependents, and it decides nothing: what it
// finds out goes back as results, from which the next plan is made.
package execute
