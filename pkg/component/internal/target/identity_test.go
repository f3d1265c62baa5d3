package target

import (
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestIdentityOfADeclaration(t *testing.T) {
	kubeconfig := &metav1alpha1.KubeConfigReference{Name: "remote"}
	for _, c := range []struct {
		name     string
		declared Declaration
		fallback string
		want     Identity
		err      string
	}{
		{"nothing is declared: the identity of the connection", Declaration{}, "", Identity{}, ""},
		{
			"a service account is in the namespace of the component",
			Declaration{ServiceAccount: "deployer"},
			"",
			Identity{User: "system:serviceaccount:shop:deployer"},
			"",
		},
		{"the default service account", Declaration{}, "fallback", Identity{User: "system:serviceaccount:shop:fallback"}, ""},
		{
			"a declared service account replaces the default one",
			Declaration{ServiceAccount: "deployer"},
			"fallback",
			Identity{User: "system:serviceaccount:shop:deployer"},
			"",
		},
		{
			"a user with groups replaces the default service account",
			Declaration{Impersonate: Identity{User: "ann", Groups: []string{"b", "a"}}},
			"fallback",
			Identity{User: "ann", Groups: []string{"b", "a"}},
			"",
		},
		{
			"a kubeconfig leaves the default service account for the local cluster",
			Declaration{KubeConfig: kubeconfig},
			"fallback",
			Identity{User: "system:serviceaccount:shop:fallback"},
			"",
		},
		{"a kubeconfig without a default service account", Declaration{KubeConfig: kubeconfig}, "", Identity{}, ""},
		{
			"a kubeconfig and a service account",
			Declaration{KubeConfig: kubeconfig, ServiceAccount: "deployer"},
			"",
			Identity{},
			"name a kubeconfig or an identity, not both",
		},
		{
			"a kubeconfig and a user",
			Declaration{KubeConfig: kubeconfig, Impersonate: Identity{User: "ann"}},
			"",
			Identity{},
			"name a kubeconfig or an identity, not both",
		},
		{
			"a service account and a user",
			Declaration{ServiceAccount: "deployer", Impersonate: Identity{User: "ann"}},
			"",
			Identity{},
			"name a service account or a user, not both",
		},
		{
			"groups without a user",
			Declaration{Impersonate: Identity{Groups: []string{"a"}}},
			"",
			Identity{},
			"groups without a user cannot be impersonated",
		},
		{
			"a name that no service account can have",
			Declaration{ServiceAccount: "de:ployer"},
			"",
			Identity{},
			`service account name "de:ployer": `,
		},
		{"a default that no service account can have", Declaration{}, "A", Identity{}, `service account name "A": `},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.declared.Identity("shop", c.fallback)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got error %v", err)
			}
			if got.User != c.want.User || !slices.Equal(got.Groups, c.want.Groups) {
				t.Errorf("the identity is %+v", got)
			}
		})
	}
}

func TestIdentitiesDifferByUserAndGroups(t *testing.T) {
	id := Identity{User: "u", Groups: []string{"a", "b"}}
	if same := (Identity{User: "u", Groups: []string{"b", "a"}}); id.String() != same.String() {
		t.Error("the order of the groups changes the identity")
	}
	for _, other := range []Identity{
		{},
		{User: "u"},
		{User: "u", Groups: []string{"a"}},
		{User: "u", Groups: []string{"a b"}},
		{User: "v", Groups: id.Groups},
	} {
		if other.String() == id.String() {
			t.Errorf("%+v and %+v have the same text", other, id)
		}
	}
}
