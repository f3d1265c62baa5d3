package component

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// WatchScope selects the namespaces that are watched, and the identity that watches them.
type WatchScope string

const (
	// WatchScopeCluster is the default. Each type of dependents has one watch on all namespaces of a cluster. The watch
	// uses the identity of the operator, or of the user of the kubeconfig.
	WatchScopeCluster WatchScope = "cluster"
	// WatchScopeNamespaces uses the identity of the operator for all watches. Each type of dependents is watched only
	// in namespaces that have dependents of this type. Components are watched in the namespaces of
	// Options.Watching.Namespaces; see Options.Cache.
	WatchScopeNamespaces WatchScope = "namespaces"
	// WatchScopeIdentity uses the component's identity to watch the dependents of a component, and other objects that
	// only this component needs. Each type is watched only in namespaces that have dependents of this type. The checks
	// that protect foreign objects also use that identity, so the operator needs no rights on foreign objects.
	WatchScopeIdentity WatchScope = "identity"
)

// Check returns an error if the scope is unknown, or cannot be used with the given namespaces. WatchScopeNamespaces
// needs at least one namespace, and each namespace only once. The other scopes accept no namespaces. An empty
// WatchScope is the same as WatchScopeCluster. The error refers to the fields WatchScope and WatchNamespaces of
// Options.
func (s WatchScope) Check(namespaces []string) error {
	switch s {
	case "", WatchScopeCluster, WatchScopeIdentity:
		if len(namespaces) > 0 {
			return fmt.Errorf("namespaces need WatchScope to be %q", WatchScopeNamespaces)
		}
		return nil
	case WatchScopeNamespaces:
		return checkNamespaces(namespaces)
	}
	return fmt.Errorf("%q is none of %q, %q and %q",
		string(s), WatchScopeCluster, WatchScopeNamespaces, WatchScopeIdentity)
}

func checkNamespaces(namespaces []string) error {
	if len(namespaces) == 0 {
		return fmt.Errorf("name the namespaces in WatchNamespaces, or let WatchScope be %q", WatchScopeCluster)
	}
	var errs []error
	for i, namespace := range namespaces {
		if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
			errs = append(errs, fmt.Errorf("%q is no name of a namespace: %s", namespace, strings.Join(bad, "; ")))
		} else if slices.Contains(namespaces[:i], namespace) {
			errs = append(errs, fmt.Errorf("namespace %q is named twice", namespace))
		}
	}
	return errors.Join(errs...)
}
