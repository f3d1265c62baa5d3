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
	// WatchScopeCluster is the default. Each type of dependents in a cluster has one watch on all namespaces, as the
	// operator or as the user of the kubeconfig.
	WatchScopeCluster WatchScope = "cluster"
	// WatchScopeNamespaces watches as the operator. Each type of dependents is watched only in namespaces that have
	// dependents of this type. Components are watched in the namespaces of Options.WatchNamespaces; see Options.Cache.
	WatchScopeNamespaces WatchScope = "namespaces"
	// WatchScopeIdentity watches dependents, and other objects that concern only one component, as the component's
	// identity, each type only in namespaces that have dependents of this type. The checks that protect foreign objects
	// also read as that identity, so the operator needs no rights on these objects.
	WatchScopeIdentity WatchScope = "identity"
)

// Check returns an error if a scope is unknown or does not fit its namespaces. WatchScopeNamespaces needs at least one
// namespace, and no namespace twice. The other scopes accept no namespaces. The empty WatchScope is WatchScopeCluster.
// The error refers to the fields WatchScope and WatchNamespaces of Options.
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
