package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Identity is a user and its groups. The zero Identity means the connection's own identity. A service account is the
// user system:serviceaccount:<namespace>:<name>; its groups are left empty, because the API server adds them.
type Identity struct {
	User   string
	Groups []string
}

// String returns a text that identifies the user and the groups. It does not depend on the order of the groups.
func (id Identity) String() string {
	return strings.Join(append([]string{id.User}, slices.Sorted(slices.Values(id.Groups))...), "\n")
}

// Declaration contains the fields of a component that determine its target.
type Declaration struct {
	// Impersonate is the identity that the component names, or the zero value if it names none.
	Impersonate Identity
	// ServiceAccount is the name of a service account in the namespace of the component, or empty.
	ServiceAccount string
	// KubeConfig refers to the kubeconfig of another cluster. Nil means the component's own cluster.
	KubeConfig *metav1alpha1.KubeConfigReference
}

// Identity returns the identity of a component of the given namespace in its own cluster. If the component declares no
// identity, the result is the default service account, or the zero Identity if there is no default. An error describes
// the mistake in the declaration to the user.
func (d Declaration) Identity(namespace, defaultServiceAccount string) (Identity, error) {
	account := d.ServiceAccount
	switch {
	case d.KubeConfig != nil && (account != "" || d.Impersonate.User != ""):
		return Identity{}, errors.New("a kubeconfig contains its own user; name a kubeconfig or an identity, not both")
	case account != "" && d.Impersonate.User != "":
		return Identity{}, errors.New("name a service account or a user, not both")
	case d.Impersonate.User == "" && len(d.Impersonate.Groups) > 0:
		return Identity{}, errors.New("groups without a user cannot be impersonated; name the user, too")
	case d.Impersonate.User != "":
		return d.Impersonate, nil
	case account == "":
		account = defaultServiceAccount
	}
	if account == "" {
		return Identity{}, nil
	}
	if errs := validation.IsDNS1123Subdomain(account); len(errs) > 0 {
		return Identity{}, fmt.Errorf("service account name %q: %s", account, errs[0])
	}
	return Identity{User: "system:serviceaccount:" + namespace + ":" + account}, nil
}
