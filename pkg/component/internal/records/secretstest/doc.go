// Package secretstest is a fake API server for Secrets and access reviews, for tests of the packages that store records
// in Secrets. It handles finalizers, resource versions and preconditions as an API server does.
//
// The server is a value in the process of the test, behind the fake clients of client-go: a test sets and reads its
// Secrets directly, and refuses requests by a function.
package secretstest
