package componenttest

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPortableKeepsWhatLasts(t *testing.T) {
	first, err := portable(parse(t, `
apiVersion: v1
kind: Service
metadata:
  name: shop
  namespace: seed-1
  uid: u1
  resourceVersion: "1"
  labels: {op.example.com/owner-id: a1, app: shop}
  annotations: {op.example.com/digest: d1, host: shop.seed-1}
  managedFields:
  - {manager: op.example.com, operation: Apply, time: "2026-01-01T00:00:00Z", fieldsV1: {"f:spec": {}}}
  - {manager: kubectl, operation: Update}
spec: {clusterIP: 10.0.0.1, ports: [{port: 80, nodePort: 30000}], selector: {uid: u1}}
status: {loadBalancer: {}}`), "op.example.com", "seed-1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := portable(parse(t, `
apiVersion: v1
kind: Service
metadata:
  name: shop
  namespace: seed-2
  uid: u2
  resourceVersion: "5"
  labels: {op.example.com/owner-id: a2, app: shop}
  annotations: {op.example.com/digest: d2, host: shop.seed-2}
  managedFields:
  - {manager: op.example.com, operation: Apply, time: "2026-01-01T00:00:01Z", fieldsV1: {"f:spec": {}}}
spec: {clusterIP: 10.0.0.2, ports: [{port: 80, nodePort: 30001}], selector: {uid: u2}}`), "op.example.com", "seed-2")
	if err != nil {
		t.Fatal(err)
	}
	if found := differ("", first, second); found != nil {
		t.Errorf("want no difference, got %v", found)
	}
}

func TestDifferencesNameWhatDiffers(t *testing.T) {
	want := snapshot{
		"created": map[string]any{"jobs.batch NAMESPACE/migrate": 1.0},
		"dependents": map[string]any{
			"ConfigMap a": map[string]any{"data": map[string]any{"value": "one"}},
			"ConfigMap b": "there",
		},
	}
	got := snapshot{
		"created": map[string]any{"jobs.batch NAMESPACE/migrate": 2.0},
		"dependents": map[string]any{
			"ConfigMap a": map[string]any{"data": map[string]any{"value": "two"}},
			"ConfigMap c": "there",
		},
	}
	found := got.differences(want)
	if expected := []string{
		`created > jobs.batch NAMESPACE/migrate: want 1, got 2`,
		`dependents > ConfigMap a > data > value: want "one", got "two"`,
		`dependents > ConfigMap b: missing, want "there"`,
		`dependents > ConfigMap c: there is "there", want nothing`,
	}; !reflect.DeepEqual(found, expected) {
		t.Errorf("got %q", found)
	}
	if found := want.differences(want); found != nil {
		t.Errorf("got %q", found)
	}
}
