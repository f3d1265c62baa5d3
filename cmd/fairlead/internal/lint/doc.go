// Package lint finds mistakes in the order and in the references of rendered dependents. It sends no requests.
//
// A finding is a warning: an object that is not in the set may exist in the cluster, and a controller may tolerate an
// object that is applied too early.
package lint
