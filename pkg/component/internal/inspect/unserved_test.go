package inspect

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestUnserved(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {uid: \"0123456789\"}\n"
	const service = "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\n" +
		"metadata: {uid: \"0123456789\", creationTimestamp: \"2026-01-01T00:00:00Z\"}\n"
	available := func(status, since string) string {
		return service + "spec: {service: {name: s}}\nstatus: {conditions: [{type: Available, status: \"" + status +
			"\", lastTransitionTime: \"" + since + "\"}]}"
	}
	for _, c := range []struct{ name, text, want string }{
		{"another object", "apiVersion: v1\nkind: ConfigMap", ""},
		{"no versions", crd + "spec: {}", ""},
		{
			"a definition with a served version",
			crd + "spec: {versions: [{name: v1, served: false}, {name: v2, served: true}]}", "",
		},
		{"a definition without a served version", crd + "spec: {versions: [{name: v1, served: false}]}", "01234567.3"},
		{
			"a definition whose stored versions include a removed version",
			crd + "spec: {versions: [{name: v1, served: false}]}\nstatus: {storedVersions: [v1, v0]}", "",
		},
		{"an APIService without a Service, which the API server itself serves", service + "spec: {}", ""},
		{"an APIService that was not checked yet", service + "spec: {service: {name: s}}", "01234567.0"},
		{"an APIService that was not available at the first check", available("False", "2026-01-01T00:00:01Z"), "01234567.0"},
		{"an APIService that became unavailable later", available("False", "2026-01-01T00:01:00Z"), "01234567.1767225660"},
		{"available", available("True", "2026-01-01T00:00:01Z"), ""},
		{"an APIService whose availability is unknown", available("Unknown", "2026-01-01T00:00:01Z"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(c.text), &obj.Object); err != nil {
				t.Fatal(err)
			}
			obj.SetGeneration(3)
			if got := Unserved(obj); got != c.want {
				t.Errorf("Unserved returned %q, want %q", got, c.want)
			}
		})
	}
}
