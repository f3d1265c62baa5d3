package ordering_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/internal/ordering"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// built returns an object of a set. Its settings are written as "name=value name=value".
func built(apiVersion, kind, namespace, name, settings string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	annotations := map[string]string{}
	for s := range strings.FieldsSeq(settings) {
		key, value, _ := strings.Cut(s, "=")
		annotations["shop.example.com/"+key] = value
	}
	o.SetAnnotations(annotations)
	return o
}

func builtDefinition(settings string) *unstructured.Unstructured {
	o := built("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com", settings)
	o.Object["spec"] = map[string]any{
		"group": "example.com",
		"scope": "Namespaced",
		"names": map[string]any{"kind": "Widget"},
	}
	return o
}

func builtAPI(settings string) *unstructured.Unstructured {
	o := built("apiregistration.k8s.io/v1", "APIService", "", "v1.metrics.example.com", settings)
	o.Object["spec"] = map[string]any{
		"group":   "metrics.example.com",
		"service": map[string]any{"namespace": "shop", "name": "server"},
	}
	return o
}

func builtWebhook(settings string) *unstructured.Unstructured {
	o := built("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "hook", settings)
	o.Object["webhooks"] = []any{
		map[string]any{
			"clientConfig": map[string]any{"service": map[string]any{"namespace": "shop", "name": "server"}},
		},
	}
	return o
}

// hookOf makes an object a hook of a chart.
func hookOf(o *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := o.GetAnnotations()
	annotations["helm.sh/hook"] = "pre-install"
	o.SetAnnotations(annotations)
	return o
}

func builtNamespace(settings string) *unstructured.Unstructured {
	return built("v1", "Namespace", "", "shop", settings)
}

func builtService(settings string) *unstructured.Unstructured {
	return built("v1", "Service", "shop", "server", settings)
}

func builtWidget(settings string) *unstructured.Unstructured {
	return built("example.com/v1", "Widget", "shop", "w", settings)
}

func builtDeployment(settings string) *unstructured.Unstructured {
	return built("apps/v1", "Deployment", "shop", "controller", settings)
}

func builtConfigMap(settings string) *unstructured.Unstructured {
	return built("v1", "ConfigMap", "shop", "c", settings)
}

func builtJob(settings string) *unstructured.Unstructured {
	return built("batch/v1", "Job", "shop", "j", settings)
}

type contradictionRow struct {
	name string
	set  []*unstructured.Unstructured
	// want is the expected error, or empty if the orders do not conflict.
	want string
}

func set(objects ...*unstructured.Unstructured) []*unstructured.Unstructured { return objects }

var conflictRows = []contradictionRow{
	{"a set without orders", set(
		builtNamespace(
			"",
		),
		builtDefinition(""),
		builtAPI(""),
		builtWebhook(""),
		builtService(""),
		builtDeployment(""),
		builtWidget(""),
		builtConfigMap(""),
		builtJob("phase=pre-delete"),
	), ""},
	{
		"a definition, its controller and its instance in waves",
		set(builtDefinition(""), builtDeployment("order=1"), builtWidget("order=2")),
		"",
	},

	{
		"an instance is applied before its definition", set(builtDefinition("order=3"), builtWidget("order=2")),
		"Widget.example.com shop/w: its order 2 is before order 3 of CustomResourceDefinition.apiextensions.k8s.io " +
			"widgets.example.com, which defines its type; give it order 3 or a later one",
	},
	{
		"an instance is applied in the wave of its definition",
		set(builtDefinition("order=3"), builtWidget("order=3")),
		"",
	},
	{
		"an instance of an aggregated API is applied before its " +
			"APIService", set(builtAPI("apply-order=1"), built("metrics.example.com/v1", "Node", "", "n", "")),
		"Node.metrics.example.com n: its order 0 is before order 1 of APIService.apiregistration.k8s.io " +
			"v1.metrics.example.com, which defines its type; give it order 1 or a later one",
	},

	{
		"an object is applied before its namespace", set(builtNamespace("order=1"), builtConfigMap("")),
		"ConfigMap shop/c: its order 0 is before order 1 of Namespace shop, which contains it; give it order 1 " +
			"or a later one",
	},
	{
		"an object is applied before another namespace",
		set(built("v1", "Namespace", "", "other", "order=1"), builtConfigMap("")),
		"",
	},

	{
		"a webhook is applied before the service that it names", set(builtWebhook("order=1"), builtService("order=2")),
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io hook: its order 1 is before order 2 of Service " +
			"shop/server, through which the API server would call it; give it order 2 or a later one",
	},
	{
		"an APIService is applied before the service that it names", set(builtAPI("order=1"), builtService("order=2")),
		"APIService.apiregistration.k8s.io v1.metrics.example.com: its order 1 is before order 2 of Service shop/server, " +
			"through which the API server would call it; give it order 2 or a later one",
	},
	{
		"a webhook is applied before the service that it names, as a hook of a chart",
		set(hookOf(builtWebhook("order=-20000")), builtService("order=0")), "",
	},
	{
		"an APIService is applied before the service that it names, which is a hook of a chart",
		set(builtAPI("order=1"), hookOf(builtService("order=20001"))), "",
	},
	{
		"a webhook is a hook of a chart, and the author gave it an order before that of its service",
		set(hookOf(builtWebhook("order=1")), builtService("order=2")),
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io hook: its order 1 is before order 2 of Service " +
			"shop/server, through which the API server would call it; give it order 2 or a later one",
	},
	{
		"a webhook names a service that is a hook of a chart and is purged",
		set(builtWebhook(""), hookOf(builtService("order=-20000 purge-order=-19999"))), "",
	},
	{
		"a webhook is applied before a service that it does not name",
		set(builtWebhook("order=1"), built("v1", "Service", "shop", "other", "order=2")),
		"",
	},

	{
		"a definition is purged", set(builtDefinition("purge-order=1")),
		"CustomResourceDefinition.apiextensions.k8s.io widgets.example.com: its purge-order 1 would delete all objects " +
			"that it contains or defines; remove the setting",
	},
	{
		"a namespace is purged",
		set(builtNamespace("purge-order=1")),
		"Namespace shop: its purge-order 1 would delete all objects that it contains or defines; remove the setting",
	},
	{
		"an APIService is purged", set(builtAPI("purge-order=1")),
		"APIService.apiregistration.k8s.io v1.metrics.example.com: its purge-order 1 would delete all objects that it " +
			"contains or defines; remove the setting",
	},
	{"an object that contains nothing is purged", set(builtConfigMap("purge-order=1")), ""},
	{
		"a namespace is pruned at once", set(builtNamespace("prune-policy=at-once")),
		"Namespace shop: its prune-policy at-once would delete all objects that it contains or defines while " +
			"they are still " +
			"needed; remove the setting",
	},
	{"an object that contains nothing is pruned at once", set(builtConfigMap("prune-policy=at-once")), ""},
	{
		"a service is purged while a webhook needs it", set(builtWebhook("order=1"), builtService("purge-order=1")),
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io hook: the purge-order 1 of Service shop/server, " +
			"through which the API server calls it, is before its own deletion; remove the setting from the service",
	},
	{
		"a service is purged with the webhook that needs it",
		set(builtWebhook("purge-order=1"), builtService("purge-order=1")),
		"",
	},

	{
		"an instance is deleted after its definition", set(builtDefinition(""), builtWidget("delete-order=1")),
		"Widget.example.com shop/w: its delete-order 1 is after delete-order 0 (the reverse of its order) of " +
			"CustomResourceDefinition.apiextensions.k8s.io widgets.example.com, which defines its type; " +
			"give it delete-order 0 or an earlier one, or remove the setting",
	},
	{
		"an instance is deleted after its definition with a delete " +
			"order", set(builtDefinition("delete-order=-5"), builtWidget("delete-order=-4")),
		"Widget.example.com shop/w: its delete-order -4 is after delete-order -5 of " +
			"CustomResourceDefinition.apiextensions.k8s.io widgets.example.com, which defines its type; " +
			"give it delete-order -5 or an earlier one, or remove the setting",
	},
	{
		"an instance without a delete order is deleted before its definition",
		set(builtDefinition("delete-order=-5"), builtWidget("")),
		"",
	},

	{
		"an instance is deleted after a workload, which may be its " +
			"controller", set(builtDefinition(""), builtDeployment("order=1"), builtWidget("order=1 delete-order=0")),
		"Widget.example.com shop/w: its delete-order 0 is after delete-order -1 (the reverse of its order) of " +
			"Deployment.apps shop/controller, which may serve its type; " +
			"instances must be deleted first: give it delete-order -1 or an earlier one, or remove the setting",
	},
	{
		"an instance is deleted after a webhook that may check " +
			"instances", set(builtDefinition(""), builtWebhook("delete-order=-9"), builtWidget("delete-order=-8")),
		"Widget.example.com shop/w: its delete-order -8 is after delete-order -9 of " +
			"ValidatingWebhookConfiguration.admissionregistration.k8s.io hook, which may serve its type; " +
			"instances must be deleted first: give it delete-order -9 or an earlier one, or remove the setting",
	},
	{
		"an instance is deleted with its controller",
		set(builtDefinition(""), builtDeployment("delete-order=-3"), builtWidget("delete-order=-3")),
		"",
	},
	{
		"a workload with a low delete order is deleted after instances without a delete order",
		set(builtDefinition(""), builtDeployment("delete-order=-3"), builtWidget("")),
		"",
	},
	{
		"an object that is no instance is deleted after a workload",
		set(builtDeployment("delete-order=-3"), builtConfigMap("delete-order=8")),
		"",
	},
	{
		"an instance is deleted after an object that serves nothing",
		set(builtDefinition(""), builtConfigMap("delete-order=-3"), builtWidget("delete-order=-2")),
		"",
	},

	{
		"an object is deleted after its namespace", set(builtNamespace(""), builtConfigMap("delete-order=1")),
		"ConfigMap shop/c: its delete-order 1 is after delete-order 0 (the reverse of its order) of Namespace shop, which " +
			"contains it; give it an earlier delete-order, or the namespace a later one",
	},
	{
		"a namespace is deleted before the objects in it", set(builtNamespace("delete-order=-1"), builtConfigMap("")),
		"ConfigMap shop/c: its delete-order 0 (the reverse of its order) is after delete-order -1 of Namespace shop, which " +
			"contains it; give it an earlier delete-order, or the namespace a later one",
	},
	{
		"a namespace with a low delete order is deleted after instances without a delete order",
		set(builtNamespace("delete-order=-1"), builtDefinition("delete-order=-1"), builtWidget("")),
		"",
	},

	{
		"a service is deleted before the webhook that names it", set(builtWebhook(""), builtService("delete-order=-1")),
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io hook: its delete-order 0 (the reverse of its order) " +
			"is after delete-order -1 of Service shop/server, " +
			"through which the API server calls it; give it an earlier delete-order, or the service a later one",
	},
	{
		"an APIService is deleted after the service that it names", set(builtAPI("delete-order=2"), builtService("")),
		"APIService.apiregistration.k8s.io v1.metrics.example.com: its delete-order 2 is after delete-order 0 (the reverse " +
			"of its order) of Service shop/server, " +
			"through which the API server calls it; give it an earlier delete-order, or the service a later one",
	},

	{
		"a namespace is applied in a phase of the deletion", set(builtNamespace("phase=pre-delete")),
		"Namespace shop: its phase is pre-delete, but an object that contains or defines others must exist from the start; " +
			"remove the setting",
	},
	{
		"an object is applied when its definition no longer exists",
		set(builtDefinition(""), builtWidget("phase=post-delete")),
		"Widget.example.com shop/w: its phase is post-delete, when CustomResourceDefinition.apiextensions.k8s.io " +
			"widgets.example.com, which defines its type, no longer exists; give it phase pre-delete",
	},
	{
		"an object is applied when its namespace no longer exists", set(builtNamespace(""), builtJob("phase=post-delete")),
		"Job.batch shop/j: its phase is post-delete, when Namespace shop, which contains it, no longer exists; give it " +
			"phase pre-delete, or another namespace",
	},
	{
		"an object is applied while its definition and its namespace exist",
		set(builtDefinition("order=2"), builtNamespace("order=2"), builtWidget("phase=pre-delete delete-order=8")),
		"",
	},

	{
		"all conflicts are reported together", set(builtNamespace("order=1 purge-order=1"), builtConfigMap("")),
		"ConfigMap shop/c: its order 0 is before order 1 of Namespace shop, which contains it; give it order 1 or a later " +
			"one\n" +
			"Namespace shop: its purge-order 1 would delete all objects that it contains or defines; remove the setting",
	},
}

func (r contradictionRow) err() error {
	_, err := normalise.Manifests(
		r.set,
		normalise.Options{
			Reconciler: "shop.example.com",
			ScopeOf: func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
				if gvk.Kind == "ConfigMap" || gvk.Kind == "Service" || gvk.Kind == "Deployment" || gvk.Kind == "Job" {
					return manifests.ScopeNamespaced, nil
				}
				return manifests.ScopeCluster, nil
			},
		},
	)
	return err
}

// wrong returns a description of the difference to the expected error, or "" if there is none.
func (r contradictionRow) wrong() string {
	got := ""
	if err := r.err(); err != nil {
		got = err.Error()
	}
	if got == r.want {
		return ""
	}
	return fmt.Sprintf("got  %s\nwant %s", got, r.want)
}

func TestContradictions(t *testing.T) {
	for _, r := range conflictRows {
		t.Run(r.name, func(t *testing.T) {
			if wrong := r.wrong(); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

func TestEveryOrderConflictIsNeeded(t *testing.T) {
	for what, rules := range map[string]*[]ordering.Rule{
		"conflict": ordering.ApplyRules, "conflict of a phase": ordering.PhaseRules,
	} {
		all := *rules
		for i := range all {
			*rules = append(append([]ordering.Rule{}, all[:i]...), all[i+1:]...)
			noticed := false
			for _, r := range conflictRows {
				noticed = noticed || r.wrong() != ""
			}
			if !noticed {
				t.Errorf("without %s %d every test row still passes", what, i)
			}
		}
		*rules = all
	}
}

func TestPhasesTakeNoOrdinarySettings(t *testing.T) {
	for _, c := range []struct{ settings, want string }{
		{"phase=pre-delete order=3 delete-order=4 update-policy=replace adoption-policy=always " +
			"reconcile-policy=on-object-change", ""},
		{
			"phase=post-delete purge-order=3",
			"annotation shop.example.com/phase: is post-delete, and purge-order has no effect on an object that is applied " +
				"once, when the component is deleted; remove one of them",
		},
		{
			"phase=pre-delete reapply-interval=1h",
			"annotation shop.example.com/phase: is pre-delete, and reapply-interval has no effect on an object " +
				"that is applied " +
				"once, when the component is deleted; remove one of them",
		},
		{
			"phase=pre-delete reconcile-policy=once",
			"annotation shop.example.com/phase: is pre-delete, and reconcile-policy has no effect on an object " +
				"that is applied " +
				"once, when the component is deleted; remove one of them",
		},
		{"phase=apply purge-order=3", ""},
	} {
		_, err := settingtext.Parse("shop.example.com", builtJob(c.settings).GetAnnotations())
		if got := errors.Join(err); (got == nil) != (c.want == "") || got != nil && got.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.settings, got, c.want)
		}
	}
}

// BenchmarkNormalise uses the worst set of its size: half of the objects are definitions, and half are instances, each
// of a different type.
func BenchmarkNormalise(b *testing.B) {
	var objects []*unstructured.Unstructured
	for i := range 5000 {
		d := builtDefinition("")
		d.SetName(fmt.Sprintf("widgets.g%d.example.com", i))
		if err := unstructured.SetNestedField(d.Object, fmt.Sprintf("g%d.example.com", i), "spec", "group"); err != nil {
			b.Fatal(err)
		}
		objects = append(
			objects,
			d,
			built(fmt.Sprintf("g%d.example.com/v1", i), "Widget", "shop", "w", "delete-order=0"),
		)
	}
	for b.Loop() {
		if err := (contradictionRow{set: objects}).err(); err != nil {
			b.Fatal(err)
		}
	}
}
