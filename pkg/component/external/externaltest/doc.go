// Package externaltest contains a test for handlers of dependents outside Kubernetes. Check calls a driver as the
// reconciler does, and finds violations of the contract in package external. It needs no cluster. The author supplies
// the external system, usually a fake one in the test, or a real one.
package externaltest
