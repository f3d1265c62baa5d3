package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// The names of the objects of others that the gadget observes.
const (
	theirService = "their-service"
	theirSecret  = "their-secret"
	theirConfig  = "their-config"
)

// debugView is a dependent whose deletion takes time.
const debugView = "debug-view"

// shareds are dependents with a field that belongs to others.
var shareds = []string{"shared", "shared-replaced"}

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
	g.Spec.Parameters = map[string]string{"debug": fmt.Sprint(v.debug), "asked": "address"}
	g.Spec.Manifests = v.manifests()
	g.Spec.References = []metav1alpha1.Reference{givenReference}
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
	add("ConfigMap", "bound", `data: {url: "${{ region }}-${{ address }}:${{ port }}", value: "${{ value }}"}`, "bind",
		"true", "order", "1")
	add("Secret", "credentials", `stringData: {password: "${{ password }}"}`, "bind", "true", "order", "1")
	add("Service", "shop", `spec: {selector: {app: shop}, ports: [{name: http, port: "${{ port }}"}]}`, "bind",
		"true", "order", "1")

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
	add("ConfigMap", debugView, data, "depends-on", "ConfigMap debug", "gone-when", `self.data.value == "drained"`)
	add("ConfigMap", "active", data, "active-when", `served("Service")`, "depends-on",
		"ConfigMap "+second+", ConfigMap debug?")

	add("ConfigMap", "addressed", data, "include-when", `exports.address != "none"`)
	add("ConfigMap", "first-address", data, "include-when", `exports.address == "10.0.0.1"`)
	add("ConfigMap", "not-second", data, "include-when", `exports.region == "north" && exports.address != "10.0.0.2"`)
	add("ConfigMap", "after-not-second", data, "depends-on", "ConfigMap not-second")
	shared := fmt.Sprintf("data: {value: %s, theirs: initial}", v.value)
	add("ConfigMap", shareds[0], shared, "ignore", "data.theirs")
	add("ConfigMap", shareds[1], shared, "ignore", "data.theirs", "update-policy", "replace")
	if v.extra {
		add("ConfigMap", "extra", data, "prune-policy", "at-once")
	}
	return strings.Join(documents, "\n---\n")
}

// valuesScenario returns the life of a component with dependencies, conditions, exports, and a reference to an export
// of another component. An object of somebody else, and the export of the other component, change and vanish meanwhile.
func valuesScenario(s componenttest.Scenario[*gadget.Gadget]) componenttest.Scenario[*gadget.Gadget] {
	s.Name = "values"
	operators := &kills{ends: map[string]context.CancelFunc{}}
	s.Operator, s.Missing = operators.operator(s.Operator), missingGiver
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
		{Name: "exclude", Disturb: excludeSlowly(graph{value: "one"})},
		{Name: "new values", Disturb: changeTheirs},
		{Name: "include", Change: graph{value: "two", debug: true, extra: true, reversed: true}.change},
		{Name: "vanish", Disturb: replaceTheirs(graph{value: "two", debug: true, reversed: true})},
		{Name: "given value", Disturb: changeGiven("south")},
		{Name: "given value vanishes", Disturb: operators.withdraw(graph{value: "three", debug: true, reversed: true},
			"west")},
		{Name: "drift", Disturb: driftBound},
		{Name: "exclude again", Change: graph{value: "three", reversed: true}.change},
	}
	return s
}

// createTheirs returns a function that creates the Service and the Secret that the gadget observes, and the gadget
// whose export it reads.
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
		giver := newGiver(namespace, "north")
		if err := errors.Join(ignoreExists(c.Create(ctx, service)), ignoreExists(c.Create(ctx, secret)),
			ignoreExists(c.Create(ctx, giver))); err != nil {
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

// changeTheirs gives the exports, and the fields that the gadget leaves to others, new values.
func changeTheirs(ctx context.Context, c client.Client, namespace string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: theirSecret}}
	errs := []error{
		setAddress(ctx, c, namespace, "10.0.0.2"),
		c.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"password":"changed"}}`))),
	}
	for _, name := range shareds {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"theirs":"changed"}}`))
		errs = append(errs, c.Patch(ctx, configMapOf(namespace, name), patch))
	}
	return errors.Join(errs...)
}

func configMapOf(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// excludeSlowly returns a function that changes the gadget to a version that excludes objects. A finalizer holds the
// first of them. The next is deleted when the condition gone-when of the first is true, although the first exists.
func excludeSlowly(v graph) func(context.Context, client.Client, string) error {
	return func(ctx context.Context, c client.Client, namespace string) error {
		view, debug := configMapOf(namespace, debugView), configMapOf(namespace, "debug")
		patch := func(text string) error {
			return c.Patch(ctx, view, client.RawPatch(types.MergePatchType, []byte(text)))
		}
		if err := patch(`{"metadata":{"finalizers":["faults.example.com/hold"]}}`); err != nil {
			return err
		}
		if err := update(ctx, c, namespace, v); err != nil {
			return err
		}
		read := func(o client.Object) error { return c.Get(ctx, client.ObjectKeyFromObject(o), o) }
		if err := waitFor(ctx, "the first excluded object is not deleted", func() (bool, error) {
			err := read(view)
			return !view.DeletionTimestamp.IsZero(), err
		}); err != nil {
			return err
		}
		if err := read(debug); err != nil {
			return fmt.Errorf("the second excluded object, while the first exists: %w", err)
		}
		if !debug.DeletionTimestamp.IsZero() {
			return errors.New("the second excluded object is deleted while the first exists")
		}
		if err := patch(`{"data":{"value":"drained"}}`); err != nil {
			return err
		}
		if err := waitFor(ctx, "the second excluded object is not deleted", func() (bool, error) {
			err := read(debug)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
		if err := read(view); err != nil {
			return fmt.Errorf("the first excluded object: %w", err)
		}
		return patch(`{"metadata":{"finalizers":null}}`)
	}
}

// update changes the gadget to a version.
func update(ctx context.Context, c client.Client, namespace string, v graph) error {
	return retry.RetryOnConflict(conflictBackoff, func() error {
		var g gadget.Gadget
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "app"}, &g); err != nil {
			return err
		}
		v.change(&g)
		return c.Update(ctx, &g)
	})
}

// waitFor waits until a condition holds.
func waitFor(ctx context.Context, problem string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.New(problem)
		}
	}
}

// replaceTheirs returns a function that deletes the observed objects, and creates them with new values when the gadget
// is not ready. Meanwhile, it changes the gadget to a version that has fewer objects and no other differences. Until
// the values are there again, no dependent is changed, created or deleted.
func replaceTheirs(v graph) func(context.Context, client.Client, string) error {
	return func(ctx context.Context, c client.Client, namespace string) error {
		before, err := dependentsOf(ctx, c, namespace)
		if err != nil {
			return err
		}
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
		if err := update(ctx, c, namespace, v); err != nil {
			return err
		}
		if err := waitUntilMissing(ctx, c, namespace); err != nil {
			return err
		}
		missing, err := dependentsOf(ctx, c, namespace)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(before, missing); diff != "" {
			return fmt.Errorf("while the values are missing, the dependents are different:\n%s", diff)
		}
		bound, shared := missing["ConfigMap bound"], missing["ConfigMap "+shareds[0]]
		if !strings.Contains(bound, "north-10.0.0.2:5432") || !strings.Contains(shared, "changed") {
			return fmt.Errorf("the dependents have wrong values: %s, %s", bound, shared)
		}
		return createTheirs("10.0.0.3")(ctx, c, namespace)
	}
}

// dependentsOf returns the UIDs and the contents of the dependents, by kind and name.
func dependentsOf(ctx context.Context, c client.Client, namespace string) (map[string]string, error) {
	found := map[string]string{}
	for kind, version := range map[string]string{"ConfigMap": "v1", "Secret": "v1", "Service": "v1", "Job": "batch/v1"} {
		var list unstructured.UnstructuredList
		list.SetAPIVersion(version)
		list.SetKind(kind + "List")
		labelled := client.HasLabels{reconciler + "/" + manifests.LabelOwnerID}
		if err := c.List(ctx, &list, client.InNamespace(namespace), labelled); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			found[kind+" "+o.GetName()] = fmt.Sprint(o.GetUID(), o.Object["data"], o.Object["spec"])
		}
	}
	return found, nil
}

func isService(o client.Object) bool {
	_, ok := o.(*corev1.Service)
	return ok
}

// waitUntilMissing waits until the status of the gadget says for its current generation that the address is missing.
// The operator may see the deletion of the Secret before that of the Service. Until it sees that of the Service, the
// rendering is complete, and it prunes.
func waitUntilMissing(ctx context.Context, c client.Client, namespace string) error {
	return waitFor(ctx, "the gadget does not report that the address is missing", func() (bool, error) {
		var g gadget.Gadget
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "app"}, &g)
		return g.Status.ObservedGeneration == g.Generation &&
			slices.ContainsFunc(g.Status.Waiting, func(w metav1alpha1.DependentReport) bool {
				return w.Reason == "ExportMissing" && strings.Contains(w.Message, "address")
			}), err
	})
}

// driftBound edits and deletes objects with holes and dependencies.
func driftBound(ctx context.Context, c client.Client, namespace string) error {
	patch := []byte(`{"data":{"value":"drifted"}}`)
	return errors.Join(
		c.Patch(ctx, configMapOf(namespace, "bound"), client.RawPatch(types.MergePatchType, patch)),
		c.Patch(ctx, configMapOf(namespace, "ends-a"), client.RawPatch(types.MergePatchType, patch)),
		c.Patch(ctx, configMapOf(namespace, shareds[1]), client.RawPatch(types.MergePatchType, patch)),
		c.Delete(ctx, configMapOf(namespace, "debug")),
		c.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials"}}),
	)
}
