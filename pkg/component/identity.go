package component

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Identity is who reads and writes: a user, and the groups it is in. The zero Identity is that of the engine's configuration. A service
// account is the user system:serviceaccount:<namespace>:<name>; the API server knows its groups.
type Identity struct {
	User   string
	Groups []string
}

// String tells an identity from others; the order of its groups does not matter.
func (id Identity) String() string {
	return strings.Join(append([]string{id.User}, slices.Sorted(slices.Values(id.Groups))...), "\n")
}

// serviceAccount is the identity of a service account.
func serviceAccount(namespace, name string) Identity {
	return Identity{User: "system:serviceaccount:" + namespace + ":" + name}
}

// identityOf returns as whom a component acts in its own cluster, and the kubeconfig of its target; nil where that is its own cluster.
func identityOf(component Component, defaultServiceAccount string) (Identity, *metav1alpha1.KubeConfigReference, error) {
	id, account, kubeconfig := declaredTarget(component)
	switch {
	case kubeconfig != nil && (account != "" || id.User != ""):
		return Identity{}, nil, errors.New("a kubeconfig names its user itself: name a kubeconfig or an identity, not both")
	case account != "" && id.User != "":
		return Identity{}, nil, errors.New("name a service account or a user, not both")
	case id.User == "" && len(id.Groups) > 0:
		return Identity{}, nil, errors.New("groups without a user cannot be impersonated; name the user, too")
	case id.User != "":
		return id, kubeconfig, nil
	case account == "":
		account = defaultServiceAccount
	}
	if account == "" {
		return Identity{}, kubeconfig, nil
	}
	if errs := validation.IsDNS1123Subdomain(account); len(errs) > 0 {
		return Identity{}, nil, fmt.Errorf("service account name %q: %s", account, errs[0])
	}
	return serviceAccount(component.GetNamespace(), account), kubeconfig, nil
}

// declaredTarget returns what a component says of its target.
func declaredTarget(component Component) (id Identity, account string, kubeconfig *metav1alpha1.KubeConfigReference) {
	if i, ok := component.(Impersonator); ok {
		id.User, id.Groups = i.Impersonation()
	}
	if h, ok := component.(ServiceAccountHolder); ok {
		account = h.ServiceAccountName()
	}
	if t, ok := component.(Targeter); ok {
		kubeconfig = t.KubeConfig()
	}
	return id, account, kubeconfig
}
