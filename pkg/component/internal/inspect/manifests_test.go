package inspect

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const reconciler = "shop.example.com"

// parse decodes YAML in the same way as manifests are decoded: whole numbers are int64.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: parse(t, text)}
}

// entry returns a managed fields entry with fields in the form of YAML.
func entry(t *testing.T, manager string, operation metav1.ManagedFieldsOperationType,
	fields string,
) metav1.ManagedFieldsEntry {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	f := &metav1.FieldsV1{}
	f.SetRawBytes(data)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1", FieldsType: "FieldsV1",
		FieldsV1: f,
	}
}

// deployment is the manifest of a Deployment. deploymentFields are the fields that the API server records after a
// server-side apply of this manifest.
const (
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, creationTimestamp: null}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {}
      nodeSelector: {disk: ssd}
      containers:
      - name: app
        image: app:1
        args: [serve, --fast]
        ports: [{containerPort: 8080}]
        env: [{name: MODE, value: fast}]
`
	deploymentFields = `
f:metadata: {f:labels: {f:app: {}}}
f:spec:
  f:replicas: {}
  f:selector: {}
  f:template:
    f:metadata: {f:labels: {f:app: {}}}
    f:spec:
      f:securityContext: {}
      f:nodeSelector: {}
      f:containers:
        'k:{"name":"app"}':
          .: {}
          f:name: {}
          f:image: {}
          f:args: {}
          f:ports: {'k:{"containerPort":8080,"protocol":"TCP"}': {.: {}, f:containerPort: {}}}
          f:env: {'k:{"name":"MODE"}': {.: {}, f:name: {}, f:value: {}}}
`
)
