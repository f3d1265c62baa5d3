package serverrules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFieldsThatAreNullAreNotSent(t *testing.T) {
	for _, c := range []struct{ name, kind, manifest, want string }{
		{
			"of a struct", "apps/v1/Deployment", "spec: {replicas: null, strategy: {type: Recreate, rollingUpdate: null}}",
			"spec: {strategy: {type: Recreate}}",
		},
		{
			"of the items of a list", "apps/v1/Deployment",
			"spec: {template: {spec: {volumes: [{name: a, emptyDir: null, configMap: {name: c}}], containers: [{name: a, " +
				"livenessProbe: null}]}}}",
			"spec: {template: {spec: {volumes: [{name: a, configMap: {name: c}}], containers: [{name: a}]}}}",
		},
		{"of an embedded struct", "v1/Pod", "spec: {volumes: [{name: a, secret: null}]}", "spec: {volumes: [{name: a}]}"},
		{"with an encoding of its own", "policy/v1/PodDisruptionBudget", "spec: {maxUnavailable: null}", "spec: {}"},
		{"in the metadata", "v1/ConfigMap", "metadata: {name: a, annotations: null}", "metadata: {name: a}"},
		{
			"but not the entries of a map", "v1/ConfigMap", "{metadata: {labels: {a: null}}, data: {a: null}, binaryData: null}",
			"{metadata: {labels: {a: null}}, data: {a: null}}",
		},
		{"but not an item of a list", "v1/Pod", "spec: {tolerations: [null]}", "spec: {tolerations: [null]}"},
		{"but not a field that the type lacks", "v1/Pod", "spec: {other: null}", "spec: {other: null}"},
		{
			"but not in a custom resource", "example.com/v1/Rollout", "spec: {strategy: {canary: null}}",
			"spec: {strategy: {canary: null}}",
		},
		{
			"of a definition, but not a default", "apiextensions.k8s.io/v1/CustomResourceDefinition",
			"spec: {conversion: {strategy: None, webhook: null}, versions: [{schema: {openAPIV3Schema: {properties: {a: " +
				"{default: null, items: null}}}}}]}",
			"spec: {conversion: {strategy: None}, versions: [{schema: {openAPIV3Schema: {properties: {a: {default: null}}}}}]}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := kindAt(t, c.kind)
			manifest, before := object(t, c.manifest), object(t, c.manifest)
			if diff := cmp.Diff(object(t, c.want), WithoutNulls(kind, manifest)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, manifest); diff != "" {
				t.Error("the manifest has changed:", diff)
			}
		})
	}
}

// kindAt parses a text such as apps/v1/Deployment.
func kindAt(t *testing.T, text string) schema.GroupVersionKind {
	t.Helper()
	at := strings.LastIndex(text, "/")
	version, err := schema.ParseGroupVersion(text[:at])
	if err != nil {
		t.Fatal(err)
	}
	return version.WithKind(text[at+1:])
}
