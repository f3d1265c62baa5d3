package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// version contains the values for the manifests of a gadget.
type version struct {
	value string
	// extra adds data to ConfigMaps, and a ConfigMap with the delete policy orphan. A later version drops them.
	extra bool
	// types adds a definition with an instance.
	types bool
	port  int
}

// policies are the update policies. Each of them has a ConfigMap.
var policies = []string{"replace", "recreate", "ssa-merge", "ssa-override"}

// manifests returns manifests in three waves. The first wave has settings, a definition with an instance, and a Job
// that is purged with the next wave. The second wave has a Job, and the third a Service.
func (v version) manifests(namespace string) string {
	var documents []string
	add := func(text string, args ...any) { documents = append(documents, fmt.Sprintf(text, args...)) }
	if v.types {
		add(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s.example.com}
spec:
  group: %[1]s.example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`, namespace)
		add(`apiVersion: %s.example.com/v1
kind: Widget
metadata: {name: one}
spec: {value: %s}`, namespace, v.value)
	}
	for _, policy := range policies {
		data := "value: " + v.value
		if v.extra {
			data += ", extra: more"
		}
		add(`apiVersion: v1
kind: ConfigMap
metadata: {name: %s, annotations: {%s/update-policy: %[1]s}}
data: {%[3]s}`, policy, reconciler, data)
	}
	setting := func(name, key, value, data string) {
		add(`apiVersion: v1
kind: ConfigMap
metadata: {name: %s, annotations: {%s/%s: %s}}
data: {value: %s}`, name, reconciler, key, value, data)
	}
	setting("once", "reconcile-policy", "once", v.value)
	setting("again", "reapply-interval", "2s", v.value)
	if v.extra {
		setting(released, "delete-policy", "orphan", v.value)
	}
	add(`apiVersion: batch/v1
kind: Job
metadata: {name: warm-%s, annotations: {%s/purge-order: "1"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: warm, image: warm}]}}}`, v.value, reconciler)
	add(`apiVersion: batch/v1
kind: Job
metadata: {name: migrate-%s, annotations: {%s/order: "1"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: migrate}]}}}`, v.value, reconciler)
	add(`apiVersion: v1
kind: Service
metadata: {name: shop, annotations: {%s/order: "2", %[1]s/update-policy: replace}}
spec: {selector: {app: shop}, ports: [{name: http, port: %[2]d}]}`, reconciler, v.port)
	return strings.Join(documents, "\n---\n")
}

// released is the name of a ConfigMap with the delete policy orphan. The operator releases the ConfigMap when it is no
// longer rendered.
const released = "released"

func newGadget(namespace string) *gadget.Gadget {
	return &gadget.Gadget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"},
		Spec: gadget.GadgetSpec{Manifests: version{
			value: "one", extra: true, types: true,
			port: 80,
		}.manifests(namespace)},
	}
}

func upgrade(v version) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) { g.Spec.Manifests = v.manifests(g.Namespace) }
}

var steps = []componenttest.Step[*gadget.Gadget]{
	{Name: "upgrade", Change: upgrade(version{value: "two", types: true, port: 81})},
	{Name: "drift", Disturb: drift},
	{Name: "prune", Change: upgrade(version{value: "two", port: 81})},
}

// drift edits some dependents, deletes one dependent, and removes the owner label of another dependent. A dependent
// with the reconcile policy once must not be repaired.
func drift(ctx context.Context, c client.Client, namespace string) error {
	configMap := func(name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	patch := func(o client.Object, text string) error {
		return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text)))
	}
	return errors.Join(
		checkReleased(ctx, c, namespace),
		patch(configMap("once"), `{"data":{"value":"theirs"}}`),
		patch(configMap("replace"), `{"data":{"value":"drifted"}}`),
		patch(configMap("ssa-override"), `{"data":{"value":null}}`),
		patch(configMap("ssa-merge"), `{"metadata":{"labels":{"`+reconciler+`/owner-id":null}}}`),
		c.Delete(ctx, configMap("recreate")),
		patch(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}},
			`{"spec":{"selector":{"app":"drifted"}}}`),
	)
}

// checkReleased returns an error unless the ConfigMap that the upgrade orphaned exists, and has no mark of the
// operator except the annotation with the component that released it.
func checkReleased(ctx context.Context, c client.Client, namespace string) error {
	var found corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: released}, &found); err != nil {
		return fmt.Errorf("the orphaned ConfigMap: %w", err)
	}
	for _, e := range found.ManagedFields {
		if e.Manager == reconciler {
			return fmt.Errorf("the orphaned ConfigMap still has fields of %s", reconciler)
		}
	}
	mark := found.Annotations[reconciler+"/"+marks.AnnotationReleasedBy]
	if mark == "" || len(found.Labels)+len(found.Annotations) != 1 || found.Data["value"] != "one" {
		return fmt.Errorf("the orphaned ConfigMap has the wrong data %v, labels %v or annotations %v",
			found.Data, found.Labels, found.Annotations)
	}
	return nil
}
