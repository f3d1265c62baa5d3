package component

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// WatchScope says how far watches reach, and as whom they are made.
type WatchScope string

const (
	// WatchScopeCluster is the default: one watch for each type of dependents in a cluster, on all namespaces, as the operator, or as the user of the
	// kubeconfig.
	WatchScopeCluster WatchScope = "cluster"
	// WatchScopeNamespaces watches as the operator, each type of dependents in the namespaces alone where there are some. Components are watched in
	// the namespaces of Options.WatchNamespaces; see Options.Cache.
	WatchScopeNamespaces WatchScope = "namespaces"
	// WatchScopeIdentity watches dependents, and what else concerns a component alone, as the component's identity, each type in the namespaces
	// where there are some. What protects objects of others is read as that identity, too: the operator need not see them.
	WatchScopeIdentity WatchScope = "identity"
)

// Check returns what is wrong with a reach, or with the namespaces that go with it: under WatchScopeNamespaces there are some, each is named once, and
// under any other there are none. The empty WatchScope is WatchScopeCluster. Errors speak of WatchScope and WatchNamespaces, as the fields of Options are
// called.
func (r WatchScope) Check(namespaces []string) error {
	switch r {
	case "", WatchScopeCluster, WatchScopeIdentity:
		if len(namespaces) > 0 {
			return fmt.Errorf("namespaces need WatchScope to be %q", WatchScopeNamespaces)
		}
		return nil
	case WatchScopeNamespaces:
		return checkNamespaces(namespaces)
	}
	return fmt.Errorf("%q is none of %q, %q and %q", string(r), WatchScopeCluster, WatchScopeNamespaces, WatchScopeIdentity)
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
