package conformance_test

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// policies are two update policies. Most behaviour is the same under both.
var policies = []string{"ssa-override", "replace"}

// forEachPolicy adds a container of specs for each update policy.
func forEachPolicy(body func(policy string)) {
	for _, policy := range policies {
		Context("update policy "+policy+":", func() { body(policy) })
	}
}

// updatePolicy returns the setting of an update policy.
func updatePolicy(policy string) string { return setting("update-policy", policy) }

// order returns the setting of an apply order.
func order(wave int) string { return setting("order", fmt.Sprint(wave)) }

// together joins manifests to a stream.
func together(texts ...string) string { return strings.Join(texts, "\n---\n") }

// configMap renders a ConfigMap with one value.
func configMap(name, value string, annotations ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  labels: {team: blue}\n"+
		"  annotations: {%s}\ndata: {value: %q}",
		name, strings.Join(annotations, ", "), value)
}

// deployment renders a Deployment with one pod that becomes ready.
func deployment(name string, annotations ...string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {team: blue}, annotations: {%s}}
spec:
  replicas: 1
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "nginx:1"}]`, name, strings.Join(annotations, ", "), name, name)
}

// heldDeployment renders a Deployment whose pod cannot be scheduled on any node.
func heldDeployment(name string, annotations ...string) string {
	return strings.Replace(deployment(name, annotations...),
		"terminationGracePeriodSeconds", "nodeSelector: {no: where}\n      terminationGracePeriodSeconds", 1)
}

// namespaceManifest renders a namespace.
func namespaceManifest(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}", name)
}

// newGroup returns an API group that no other spec uses.
func newGroup() string { return fmt.Sprintf("g%d.example.com", sequence.Add(1)) }

// widgetDefinition renders the definition of the type Widget in a group, with status conditions.
func widgetDefinition(group string, annotations ...string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%s, annotations: {%s}}
spec:
  group: %s
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}`, group,
		strings.Join(annotations, ", "), group)
}

// widget renders an instance of the type Widget.
func widget(group, name string) string {
	return fmt.Sprintf("apiVersion: %s/v1\nkind: Widget\nmetadata: {name: %s}\nspec: {size: 1}", group, name)
}

// removeLine removes the lines that contain piece from a text.
func removeLine(text, piece string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.Contains(line,
			piece)
	}), "\n")
}
