package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// The names of the objects of others that the gadget observes.
const (
	theirService = "their-service"
	theirSecret  = "their-secret"
	theirConfig  = "their-config"
)

// graph contains the values for the manifests of a gadget with dependencies, conditions and exports.
type graph struct {
	value string
	// debug includes two ConfigMaps. The second inherits the condition of the first.
	debug bool
	// reversed exchanges the ends of a dependency.
	reversed bool
	// extra adds a ConfigMap that is pruned at once when a later version drops it.
	extra bool
}

// change returns the change of a gadget to a version.
func (v graph) change(g *gadget.Gadget) {
	g.Spec.Parameters = map[string]string{"debug": fmt.Sprint(v.debug)}
	g.Spec.Manifests = v.manifests()
}

func (v graph) manifests() string {
	var documents []string
	add := func(kind, name, body string, settings ...string) {
		var annotations strings.Builder
		for i := 0; i < len(settings); i += 2 {
			fmt.Fprintf(&annotations, "\n    %s/%s: %q", reconciler, settings[i], settings[i+1])
		}
		version := "v1"
		if kind == "Job" {
			version = "batch/v1"
		}
		documents = append(documents, fmt.Sprintf(
			"apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  annotations:%s\n%s",
			version, kind, name, annotations.String(), body))
	}
	data := fmt.Sprintf("data: {value: %s}", v.value)
	const observe = "observe"
	add("Service", theirService, "", "reconcile-policy", observe,
		"export", "address=self.status.loadBalancer.ingress[0].ip, port=self.spec.ports[0].port")
	add("Secret", theirSecret, "", "reconcile-policy", observe, "export", "password=self.stringData.password")
	add("ConfigMap", theirConfig, "", "reconcile-policy", observe, "export", "region=self.data.region")

	add("ConfigMap", "settings", data, "export", "value=self.data.value")
	add("ConfigMap", "bound", `data: {url: "${{ region }}-${{ address }}:${{ port }}", value: "${{ value }}"}`, "bind", "true", "order", "1")
	add("Secret", "credentials", `stringData: {password: "${{ password }}"}`, "bind", "true", "order", "1")
	add("Service", "shop", `spec: {selector: {app: shop}, ports: [{name: http, port: "${{ port }}"}]}`, "bind", "true", "order", "1")

	first, second := "ends-a", "ends-b"
	if v.reversed {
		first, second = second, first
	}
	add("Job", "migrate-"+v.value,
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: migrate}]}}}",
		"depends-on", "ConfigMap settings", "depends-on-group", "schema")
	add("ConfigMap", first, data, "depends-on", "@schema")
	add("ConfigMap", second, data, "depends-on", "ConfigMap "+first+", ConfigMap extra?")
	add("ConfigMap", "debug", data, "include-when", `parameters.debug == "true"`, "depends-on", "@schema")
	add("ConfigMap", "debug-view", data, "depends-on", "ConfigMap debug")
	add("ConfigMap", "active", data, "active-when", `served("Service")`, "depends-on", "ConfigMap "+second+", ConfigMap debug?")
	if v.extra {
		add("ConfigMap", "extra", data, "prune-policy", "at-once")
	}
	return strings.Join(documents, "\n---\n")
}

// valuesScenario returns the life of a component with dependencies, conditions and exports. An object of somebody else
// changes and vanishes meanwhile.
func valuesScenario(s componenttest.Scenario[*gadget.Gadget]) componenttest.Scenario[*gadget.Gadget] {
	s.Name = "values"
	s.Bystanders = func(namespace string) []client.Object {
		return []client.Object{&corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: theirConfig},
			Data:       map[string]string{"region": "north"},
		}}
	}
	s.Component = func(namespace string) *gadget.Gadget {
		g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
		g.Spec.Manifests = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {value: none}}"
		return g
	}
	s.Steps = []componenttest.Step[*gadget.Gadget]{
		{Name: "bind", Disturb: createTheirs("10.0.0.1"), Change: graph{value: "one", debug: true, extra: true}.change},
		{Name: "exclude", Change: graph{value: "one"}.change},
		{Name: "new values", Disturb: changeTheirs},
		{Name: "include", Change: graph{value: "two", debug: true, extra: true, reversed: true}.change},
		{Name: "vanish", Disturb: replaceTheirs},
		{Name: "drift", Disturb: driftBound},
		{Name: "exclude again", Change: graph{value: "two", reversed: true}.change},
	}
	return s
}

// createTheirs returns a function that creates the Service and the Secret that the gadget observes.
func createTheirs(address string) func(context.Context, client.Client, string) error {
	return func(ctx context.Context, c client.Client, namespace string) error {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: theirService},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 5432}},
				AllocateLoadBalancerNodePorts: new(false),
			},
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: theirSecret},
			StringData: map[string]string{"password": "secret-" + address},
		}
		if err := errors.Join(ignoreExists(c.Create(ctx, service)), ignoreExists(c.Create(ctx, secret))); err != nil {
			return err
		}
		return setAddress(ctx, c, namespace, address)
	}
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// setAddress writes the status of the observed Service.
func setAddress(ctx context.Context, c client.Client, namespace, address string) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: theirService}}
	patch := fmt.Appendf(nil, `{"status":{"loadBalancer":{"ingress":[{"ip":%q}]}}}`, address)
	return c.Status().Patch(ctx, service, client.RawPatch(types.MergePatchType, patch))
}

// changeTheirs gives the exports new values.
func changeTheirs(ctx context.Context, c client.Client, namespace string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: theirSecret}}
	patch := []byte(`{"stringData":{"password":"changed"}}`)
	return errors.Join(
		setAddress(ctx, c, namespace, "10.0.0.2"),
		c.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch)),
	)
}

// replaceTheirs deletes the observed objects, waits until the gadget is not ready, and creates them with new values.
// The bound objects must keep the values meanwhile.
func replaceTheirs(ctx context.Context, c client.Client, namespace string) error {
	for _, o := range []client.Object{&corev1.Service{}, &corev1.Secret{}} {
		o.SetNamespace(namespace)
		o.SetName(map[bool]string{true: theirService, false: theirSecret}[isService(o)])
		if err := client.IgnoreNotFound(c.Delete(ctx, o)); err != nil {
			return err
		}
	}
	if err := waitUntilMissing(ctx, c, namespace); err != nil {
		return err
	}
	var bound corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "bound"}, &bound); err != nil {
		return err
	}
	if want := "north-10.0.0.2:5432"; bound.Data["url"] != want {
		return fmt.Errorf("the bound ConfigMap has %q instead of %q while the value is missing", bound.Data["url"], want)
	}
	return createTheirs("10.0.0.3")(ctx, c, namespace)
}

func isService(o client.Object) bool {
	_, ok := o.(*corev1.Service)
	return ok
}

// waitUntilMissing waits until the status of the gadget lists a missing export.
func waitUntilMissing(ctx context.Context, c client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		var g gadget.Gadget
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "app"}, &g); err != nil {
			return err
		}
		for _, w := range g.Status.Waiting {
			if w.Reason == "ExportMissing" {
				return nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the gadget does not report the missing export; it waits for %v", g.Status.Waiting)
		}
	}
}

// driftBound edits and deletes objects with holes and dependencies.
func driftBound(ctx context.Context, c client.Client, namespace string) error {
	configMap := func(name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	patch := []byte(`{"data":{"value":"drifted"}}`)
	return errors.Join(
		c.Patch(ctx, configMap("bound"), client.RawPatch(types.MergePatchType, patch)),
		c.Patch(ctx, configMap("ends-a"), client.RawPatch(types.MergePatchType, patch)),
		c.Delete(ctx, configMap("debug")),
		c.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials"}}),
	)
}
