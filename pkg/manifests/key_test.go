package manifests_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestParseKey(t *testing.T) {
	for _, key := range []manifests.Key{
		{Kind: "Namespace", Name: "shop"},
		{Kind: "ConfigMap", Namespace: "shop", Name: "a"},
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:view"},
	} {
		if parsed, ok := manifests.ParseKey(key.String()); !ok || parsed != key {
			t.Errorf("got %v, %v of %v", parsed, ok, key)
		}
	}
	for _, text := range []string{
		"", "Namespace", " shop", "ConfigMap ", "ConfigMap shop/", "ConfigMap shop/a/b",
		"ConfigMap shop/a b",
	} {
		if parsed, ok := manifests.ParseKey(text); ok {
			t.Errorf("%q is parsed as %v", text, parsed)
		}
	}
}
