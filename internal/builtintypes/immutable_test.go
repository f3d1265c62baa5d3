package builtintypes

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestHashImmutable(t *testing.T) {
	of := func(text string) uint32 {
		t.Helper()
		body := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &body.Object); err != nil {
			t.Fatal(err)
		}
		return HashImmutable(body)
	}
	const (
		deployment  = "{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {app: a}}}}"
		claim       = "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: a}}"
		settings    = "{apiVersion: v1, kind: ConfigMap, data: {a: b}}"
		frozen      = "{apiVersion: v1, kind: ConfigMap, immutable: true, data: {a: b}}"
		roleBinding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {name: a}}"
	)
	for _, c := range []struct {
		name, before, after string
		differs             bool
	}{
		{
			"another selector", deployment,
			"{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {app: b}}}}", true,
		},
		{
			"another number of replicas", deployment,
			"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, selector: {matchLabels: {app: a}}}}", false,
		},
		{
			"another size of a claim, which the API server may permit", claim,
			"{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: a, resources: {requests: {storage: 1Gi}}}}",
			true,
		},
		{
			"another label of a claim", claim,
			"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {labels: {a: b}}, spec: {storageClassName: a}}", false,
		},
		{
			"other addresses of a slice", "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4}",
			"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv6}", true,
		},
		{
			"another image of a Pod", "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: a}]}}",
			"{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: b}]}}", true,
		},
		{
			"another class of a claim", claim,
			"{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: b}}", true,
		},
		{"other data", settings, "{apiVersion: v1, kind: ConfigMap, data: {a: c}}", false},
		{"other data of a frozen object", frozen, "{apiVersion: v1, kind: ConfigMap, immutable: true, data: {a: c}}", true},
		{
			"other labels of a frozen object", frozen,
			"{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}, immutable: true, data: {a: b}}", false,
		},
		{
			"another role", roleBinding,
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {name: b}}", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if differs := of(c.before) != of(c.after); differs != c.differs {
				t.Errorf("the hashes differ: %t, want %t", differs, c.differs)
			}
		})
	}
	if hash := of(settings); hash != 0 {
		t.Errorf("a manifest without immutable fields has the hash %x, want 0", hash)
	}
}
