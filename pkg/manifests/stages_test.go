package manifests_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestStageOf(t *testing.T) {
	widgets := manifests.ManagedType{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Widget"}}
	metrics := manifests.ManagedType{GroupKind: schema.GroupKind{Group: "metrics.example.com", Kind: "*"}}
	for _, c := range []struct {
		name, group, kind string
		want              manifests.Stage
	}{
		{"a namespace", "", "Namespace", manifests.StageNamespaces},
		{"a definition", "apiextensions.k8s.io", "CustomResourceDefinition", manifests.StageDefinitions},
		{"a class", "storage.k8s.io", "StorageClass", manifests.StageDefinitions},
		{"a role", "rbac.authorization.k8s.io", "Role", manifests.StageDefinitions},
		{
			"a role binding, which is applied after its role", "rbac.authorization.k8s.io", "RoleBinding",
			manifests.StageConfiguration,
		},
		{"a ConfigMap", "", "ConfigMap", manifests.StageConfiguration},
		{"a service account", "", "ServiceAccount", manifests.StageConfiguration},
		{"a claim", "", "PersistentVolumeClaim", manifests.StageConfiguration},
		{"a Deployment", "apps", "Deployment", manifests.StageWorkloads},
		{"a Service", "", "Service", manifests.StageWorkloads},
		{"an unknown type", "other.example.com", "Widget", manifests.StageWorkloads},
		{"a Secret of another group", "example.com", "Secret", manifests.StageWorkloads},
		{"a webhook configuration", "admissionregistration.k8s.io", "MutatingWebhookConfiguration", manifests.StageBackends},
		{"an API service", "apiregistration.k8s.io", "APIService", manifests.StageBackends},
		{"an instance of a type in the set", "example.com", "Widget", manifests.StageInstances},
		{"another kind of the group of a managed type", "example.com", "Gizmo", manifests.StageWorkloads},
		{"an instance of any kind of an aggregated group", "metrics.example.com", "Anything", manifests.StageInstances},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := typeset.StageOf(
				schema.GroupKind{Group: c.group, Kind: c.kind},
				[]manifests.ManagedType{widgets, metrics},
			)
			if got != c.want {
				t.Errorf("got %d", got)
			}
		})
	}
}

func TestManagedTypes(t *testing.T) {
	for _, c := range []struct {
		name, manifest string
		want           []string
	}{
		{
			"a definition defines its kind",
			`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: example.com, names: {kind: Widget}}}`,
			[]string{"Widget.example.com"},
		},
		{"an empty definition defines " +
			"nothing", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}`, nil},
		{
			"an APIService defines all kinds of its group",
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {group: example.com, service: {name: s, port: 443}}}`,
			[]string{"*.example.com"},
		},
		{
			"an APIService without a service defines " +
				"nothing",
			`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {group: example.com}}`, nil,
		},
		{
			"a CustomResourceDefinition of another group defines " +
				"nothing",
			`{apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: example.com, names: {kind: Widget}}}`, nil,
		},
		{"a ConfigMap defines nothing", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range typeset.DefinedBy(decode(t, c.manifest)[0]) {
				got = append(got, m.String())
				if parsed, err := manifests.ParseManagedType(m.String()); err != nil || parsed != m {
					t.Errorf("%s is parsed as %v, %v", m, parsed, err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, text := range []string{"", "Widget", ".example.com", "Widget."} {
		t.Run("the text "+text+" names no type", func(t *testing.T) {
			if _, err := manifests.ParseManagedType(text); err == nil {
				t.Error("ParseManagedType returned no error")
			}
		})
	}
}

func TestKey(t *testing.T) {
	for _, c := range []struct {
		key  manifests.Key
		want string
	}{
		{manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, "Deployment.apps shop/web"},
		{manifests.Key{Kind: "Namespace", Name: "shop"}, "Namespace shop"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := c.key.String(); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
	ascending := []manifests.Key{
		{Group: "a", Kind: "B", Namespace: "b", Name: "b"},
		{Group: "b", Kind: "A", Namespace: "b", Name: "b"},
		{Group: "b", Kind: "B", Namespace: "a", Name: "b"},
		{Group: "b", Kind: "B", Namespace: "b", Name: "a"},
		{Group: "b", Kind: "B", Namespace: "b", Name: "b"},
	}
	for i := range ascending {
		for j := range ascending {
			if got := ascending[i].Compare(ascending[j]); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s compared with %s: %d", ascending[i], ascending[j], got)
			}
		}
	}
}
