package depgraph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// normaliseStream normalises a stream of manifests in the namespace shop.
func normaliseStream(t *testing.T, stream string) ([]manifests.Object, error) {
	t.Helper()
	objects, err := manifests.Decode("graph.yaml", []byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	cluster := []string{"Namespace", "ClusterRole", "CustomResourceDefinition"}
	return normalise.Manifests(objects, normalise.Options{
		Reconciler: "shop.example.com", Namespace: "shop",
		ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
			switch {
			case gvk.Group == "example.com":
				return manifests.ScopeUnknown, nil
			case slices.Contains(cluster, gvk.Kind):
				return manifests.ScopeCluster, nil
			}
			return manifests.ScopeNamespaced, nil
		},
	})
}

// node is a manifest with settings; each setting is written as name: value.
func node(apiVersion, kind, name string, settings ...string) string {
	var annotations []string
	for _, s := range settings {
		annotations = append(annotations, "shop.example.com/"+s)
	}
	return fmt.Sprintf("---\n{apiVersion: %s, kind: %s, metadata: {%s, annotations: {%s}}}\n",
		apiVersion, kind, name, strings.Join(annotations, ", "))
}

func configMap(name string, settings ...string) string {
	return node("v1", "ConfigMap", "name: "+name, settings...)
}

func depends(list string) string { return fmt.Sprintf("depends-on: %q", list) }

// order returns the names of the objects with their edges, in the order of the set.
func order(objects []manifests.Object) string {
	var parts []string
	for _, o := range objects {
		text := o.Key.Kind + " " + o.Key.Name
		if o.Edges() != nil {
			var edges []string
			for _, key := range o.Edges() {
				edges = append(edges, key.Name)
			}
			text += " < " + strings.Join(edges, "+")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

const widgetDefinition = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, names: {kind: Widget}, scope: Namespaced}
`

func TestGraph(t *testing.T) {
	for _, c := range []struct{ name, stream, want string }{
		{
			"objects without dependencies have no edges", configMap("b", "depends-on-group: x") + configMap("a"),
			"ConfigMap a; ConfigMap b",
		},
		{
			"a chain comes behind the waves, in its order",
			configMap("a", depends("ConfigMap b")) + configMap("b", depends("ConfigMap z")) + configMap("z", "order: \"9\""),
			"ConfigMap z; ConfigMap b < z; ConfigMap a < b",
		},
		{
			"a diamond", configMap("a", depends("ConfigMap b, ConfigMap c")) + configMap("b", depends("ConfigMap d")) +
				configMap("c", depends("ConfigMap d")) + configMap("d"),
			"ConfigMap d; ConfigMap b < d; ConfigMap c < d; ConfigMap a < b+c",
		},
		{
			"a group means all its members", configMap("a", depends("@x")) + configMap("b", "depends-on-group: x") +
				node("apps/v1", "Deployment", "name: d", "depends-on-group: x"),
			"ConfigMap b; Deployment d; ConfigMap a < b+d",
		},
		{
			"an object of another namespace", configMap("a", depends("ConfigMap other/b")) +
				node("v1", "ConfigMap", "name: b, namespace: other"),
			"ConfigMap b; ConfigMap a < b",
		},
		{
			"a cluster-scoped object needs no namespace", configMap("a", depends("ClusterRole.rbac.authorization.k8s.io b")) +
				node("rbac.authorization.k8s.io/v1", "ClusterRole", "name: b"),
			"ClusterRole b; ConfigMap a < b",
		},
		{"an optional object that is missing", configMap("a", depends("ConfigMap b?, @x?")), "ConfigMap a"},
		{
			"the namespace and the definition of the type",
			configMap("b") + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n" +
				node("example.com/v1", "Widget", "name: w", depends("ConfigMap b")) + widgetDefinition,
			"Namespace shop; CustomResourceDefinition widgets.example.com; ConfigMap b; Widget w < b+shop+widgets.example.com",
		},
		{
			"an object of a type that nothing serves yet", configMap("a", depends("Widget.example.com w")) +
				node("example.com/v1", "Widget", "name: w"),
			"Widget w; ConfigMap a < w",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, err := normaliseStream(t, c.stream)
			if err != nil || order(objects) != c.want {
				t.Errorf("got  %s, %v\nwant %s", order(objects), err, c.want)
			}
		})
	}
}

func TestGraphErrors(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"a missing object", configMap("a", depends("ConfigMap b")), []string{
			"ConfigMap shop/a: annotation depends-on: ConfigMap shop/b is not in the set; render it, or write ConfigMap b? if " +
				"it may be missing",
		}},
		{"an object in another namespace", configMap("a", depends("ConfigMap b")) + node("v1", "ConfigMap",
			"name: b, namespace: other"), []string{
			"ConfigMap shop/a: annotation depends-on: ConfigMap shop/b is not in the set; render it, or write " +
				"ConfigMap b? if it " +
				"may be missing; did you mean ConfigMap other/b?",
		}},
		{"a missing group", configMap("a", depends("@x")), []string{
			"ConfigMap shop/a: annotation depends-on: no object belongs to the group @x; set depends-on-group: x " +
				"on an object, " +
				"or write @x?",
		}},
		{
			"the own group", configMap("a", depends("@x"), "depends-on-group: x") + configMap("b", "depends-on-group: x"),
			[]string{
				"ConfigMap shop/a: annotation depends-on: the object belongs to the group @x, which it depends on; remove one " +
					"of the settings",
			},
		},
		{"an object of another phase", configMap("a", depends("Job.batch j")) + node("batch/v1", "Job", "name: j",
			"phase: pre-delete"), []string{
			"ConfigMap shop/a: annotation depends-on: Job.batch shop/j belongs to the phase pre-delete, and is not applied " +
				"with this object; " +
				"remove it from the list",
		}},
		{"a namespace", node("v1", "Namespace", "name: shop", depends("ConfigMap a")) + configMap("a"), []string{
			"Namespace shop: annotation depends-on: an object that contains or defines others cannot depend on " +
				"others; remove the " +
				"setting, or give the object an order",
		}},
		{"itself", configMap("a", depends("ConfigMap a")), []string{
			"depends-on: the objects depend on each other, so none of them could be applied: ConfigMap shop/a -> " +
				"ConfigMap shop/a; " +
				"remove one of these dependencies",
		}},
		{
			"two cycles, an object that leads to one, and a missing object are reported together",
			configMap("a", depends("ConfigMap b")) + configMap("b", depends("ConfigMap c")) + configMap("c",
				depends("ConfigMap b, ConfigMap x")) +
				configMap("d", depends("ConfigMap e")) + configMap("e", depends("ConfigMap d")),
			[]string{
				"ConfigMap shop/c: annotation depends-on: ConfigMap shop/x is not in the set; render it, or write " +
					"ConfigMap x? if " +
					"it may be missing",
				"depends-on: the objects depend on each other, so none of them could be applied: ConfigMap shop/b -> " +
					"ConfigMap shop/c -> " +
					"ConfigMap shop/b; remove one of these dependencies",
				"depends-on: the objects depend on each other, so none of them could be applied: ConfigMap shop/d -> " +
					"ConfigMap shop/e -> " +
					"ConfigMap shop/d; remove one of these dependencies",
			},
		},
		{
			"a cycle that leads to another cycle", configMap("a", depends("ConfigMap b")) + configMap("b",
				depends("ConfigMap a")) +
				configMap("c", depends("ConfigMap a, ConfigMap d")) + configMap("d", depends("ConfigMap c")),
			[]string{
				"depends-on: the objects depend on each other, so none of them could be applied: ConfigMap shop/a -> " +
					"ConfigMap shop/b -> " +
					"ConfigMap shop/a; remove one of these dependencies",
				"depends-on: the objects depend on each other, so none of them could be applied: ConfigMap shop/c -> " +
					"ConfigMap shop/d -> " +
					"ConfigMap shop/c; remove one of these dependencies",
			},
		},
		{
			"a missing group is reported with an invalid manifest, and a group of an invalid manifest is not missing",
			configMap("a", depends("@x, @z")) + configMap("b", depends("ConfigMap a"), "depends-on-group: z", `order: "1"`),
			[]string{
				"ConfigMap b: annotation shop.example.com/depends-on: contradicts order, because an object that " +
					"depends on others " +
					"belongs to no wave; remove one of them",
				"ConfigMap shop/a: annotation depends-on: no object belongs to the group @x; set depends-on-group: x on an " +
					"object, or write @x?",
			},
		},
		{
			"all mistakes of a manifest", `---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {shop.example.com/reconcile-policy: observe,
 shop.example.com/status-hint: has-ready-condition}}, data: {a: b}}
`,
			[]string{
				"ConfigMap a: it is only observed, so its manifest may have a type and metadata, but no data; remove " +
					"these fields, or " +
					"the reconcile-policy",
				"annotation shop.example.com/status-hint: a ConfigMap has no status to read; remove the hint",
			},
		},
		{
			"an object with an invalid manifest is reported once", configMap("a", depends("ConfigMap b")) + configMap("b",
				"order: x"),
			[]string{`ConfigMap b: annotation shop.example.com/order: "x" is not a whole number from -32768 to 32767`},
		},
		{
			"an object with two manifests", configMap("a", depends("ConfigMap b")) + configMap("b") +
				configMap("a", "order: \"5\"", "update-policy: recreate"),
			[]string{"ConfigMap shop/a: rendered more than once, and with depends-on; an object that depends on others is " +
				"applied once, " +
				"so it has a single manifest"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := normaliseStream(t, c.stream)
			if want := strings.Join(c.want, "\n"); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// The waves of an object without dependencies have no effect on the orders that contradict each other.
func TestGraphHasNoOrders(t *testing.T) {
	stream := node("example.com/v1", "Widget", "name: w", depends("ConfigMap b")) + configMap("b") +
		strings.Replace(widgetDefinition, "metadata: {name: widgets.example.com}",
			`metadata: {name: widgets.example.com, annotations: {shop.example.com/order: "5"}}`, 1)
	if _, err := normaliseStream(t, stream); err != nil {
		t.Error(err)
	}
}

func TestTheNumberOfEdgesIsLimited(t *testing.T) {
	var stream strings.Builder
	for i := range 400 {
		stream.WriteString(configMap(fmt.Sprintf("a%d", i), "depends-on-group: x") + configMap(fmt.Sprintf("b%d", i),
			depends("@x")))
	}
	_, err := normaliseStream(t, stream.String())
	if want := "depends-on: the objects have together more than 100000 dependencies; let fewer objects depend on " +
		"large groups"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
