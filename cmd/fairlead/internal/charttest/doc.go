// Package charttest runs the tests of a component's chart: the hooks for the event test.
//
// It creates, watches and deletes the objects with the rights of the person who runs the command, by Helm's rules. The
// objects are no dependents: the operator neither knows nor changes them. Package causes explains a failed test.
package charttest
