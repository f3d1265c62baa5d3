package config_test

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func newChart() (*helm.Generator, error) {
	return helm.New(os.DirFS("chart"), helm.Options{AnnotationPrefix: "fairlead.io"})
}

// renderChart returns what a release called fairlead-operator in the namespace fairlead-system has with the values.
func renderChart(t *testing.T, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	return renderChartAs(t, "fairlead-operator", "fairlead-system", values)
}

func generateChart(t *testing.T, release, namespace string, values map[string]any) ([]client.Object, error) {
	t.Helper()
	chart, err := newChart()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return chart.Generate(t.Context(), generator.Request{
		Name: release, Namespace: namespace, Revision: 1, Parameters: values,
		Capabilities: generator.Capabilities{Version: version.Info{GitVersion: "v1.36.3"}},
	})
}

func renderChartAs(t *testing.T, release, namespace string, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	rendered, err := generateChart(t, release, namespace, values)
	g.Expect(err).NotTo(HaveOccurred())
	var objects []*unstructured.Unstructured
	for _, object := range rendered {
		data, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		g.Expect(err).NotTo(HaveOccurred())
		objects = append(objects, &unstructured.Unstructured{Object: data})
	}
	return objects
}

// shared are the fields that hold what other manifests of the project say: they are compared with those, and not
// recorded again.
var shared = map[string]string{"CustomResourceDefinition": "spec", "PrometheusRule": "spec", "ConfigMap": "data"}

// withoutShared leaves the fields out.
type withoutShared struct{ *helm.Generator }

func (w withoutShared) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, err := w.Generator.Generate(ctx, req)
	for _, object := range objects {
		if data, ok := object.(*unstructured.Unstructured); ok {
			delete(data.Object, shared[data.GetKind()])
		}
	}
	return objects, err
}

func TestChartRendersWhatItsValuesSay(t *testing.T) {
	generatortest.Golden(t, "testdata/chart", func(fs.FS) (generator.Generator, error) {
		chart, err := newChart()
		return withoutShared{chart}, err
	})
}

func TestChartRefusesAPortWithTwoUses(t *testing.T) {
	for _, c := range []struct {
		metrics, webhook map[string]any
		message          string
	}{
		{map[string]any{"port": 9443}, map[string]any{"enabled": true}, "metrics.port and webhook.port are both 9443"},
		{map[string]any{"port": 8081}, nil, "metrics.port is 8081, the port of the probes"},
		{nil, map[string]any{"enabled": true, "port": 8081}, "webhook.port is 8081, the port of the probes"},
		{map[string]any{"port": 9443}, nil, ""},
		{map[string]any{"enabled": false, "port": 9443}, map[string]any{"enabled": true}, ""},
	} {
		_, err := generateChart(t, "a", "b", map[string]any{"metrics": c.metrics, "webhook": c.webhook})
		if c.message == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		} else {
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.message)))
		}
	}
}

// YAML takes y and on for true, n and off for false, and 1 for a number.
func TestChartTakesNamesThatYAMLTakesForSomethingElse(t *testing.T) {
	g := NewWithT(t)
	objects := renderChartAs(t, "1", "y", map[string]any{
		"nameOverride": "0", "fullnameOverride": "1", "serviceAccount": map[string]any{"name": "on"},
		"priorityClassName": "off",
		"observe":           "namespaces", "observeNamespaces": []any{"n", "2"},
		"podDisruptionBudget": map[string]any{"enabled": true},
		"replicas":            2,
		"networkPolicy":       map[string]any{"enabled": true},
		"webhook":             map[string]any{"enabled": true},
		"poll":                map[string]any{"hosts": []any{"rates.example.com"}},
		"metrics": map[string]any{
			"certificateSecret": "3", "readers": []any{map[string]any{"name": "4", "namespace": "no"}},
			"serviceMonitor": map[string]any{"enabled": true}, "prometheusRule": map[string]any{"enabled": true},
			"dashboard": map[string]any{"enabled": true},
		},
	})
	for _, object := range objects {
		g.Expect(object.GetNamespace()).To(BeElementOf("", "y", "n", "2"), object.GetKind())
	}
	readers := slices.IndexFunc(objects,
		func(o *unstructured.Unstructured) bool { return o.GetName() == "1-metrics-readers" })
	g.Expect(objects[readers].Object["subjects"]).
		To(ConsistOf(And(HaveKeyWithValue("name", "4"), HaveKeyWithValue("namespace", "no"))))
}

func TestChartBringsWhatIsMaintainedElsewhereAsItIs(t *testing.T) {
	g := NewWithT(t)
	objects := renderChart(t, map[string]any{"metrics": map[string]any{
		"prometheusRule": map[string]any{"enabled": true}, "dashboard": map[string]any{"enabled": true},
	}})
	of := func(kind string) *unstructured.Unstructured {
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
		g.Expect(i).To(BeNumerically(">=", 0), kind)
		return objects[i]
	}
	for kind, folder := range map[string]string{"CustomResourceDefinition": "crd", "PrometheusRule": "monitoring"} {
		for _, object := range objectsIn(g, folder) {
			if object.GetKind() == kind {
				g.Expect(of(kind).Object["spec"]).To(Equal(object.Object["spec"]), kind)
			}
		}
	}
	dashboard, err := os.ReadFile("monitoring/dashboard.json")
	g.Expect(err).NotTo(HaveOccurred())
	shown, _, err := unstructured.NestedString(of("ConfigMap").Object, "data", "fairlead.json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown).To(MatchJSON(dashboard))
}

// rights are the roles by kind and name, with what they grant, and the bindings with whom they grant it to.
func rights(g *WithT, objects []*unstructured.Unstructured) map[string]any {
	found := map[string]any{}
	for _, object := range objects {
		if object.GroupVersionKind().Group != rbacv1.GroupName {
			continue
		}
		granted := map[string]any{}
		for _, field := range []string{"rules", "aggregationRule", "roleRef", "subjects"} {
			if value, ok := object.Object[field]; ok {
				granted[field] = value
			}
		}
		g.Expect(found).NotTo(HaveKey(object.GetKind() + " " + object.GetName()))
		found[object.GetKind()+" "+object.GetName()] = granted
	}
	return found
}

func TestChartGrantsWhatTheManifestsGrant(t *testing.T) {
	g := NewWithT(t)
	objects := renderChart(t, map[string]any{
		"components": map[string]any{"actAs": "operator", "otherServiceAccounts": []any{"*"}},
		"rbac":       map[string]any{"grants": true},
	})
	charted, plain := rights(g, objects), rights(g, objectsIn(g, "rbac"))
	g.Expect(len(plain)).To(BeNumerically(">", 15))
	g.Expect(charted).To(Equal(plain))
}

func TestChartLetsTheOperatorWriteNothingOfComponentsByDefault(t *testing.T) {
	g := NewWithT(t)
	// What the operator may do besides reading, by resource.
	written := map[string][]string{
		"components": {"patch"}, "components/status": {"update"},
		"events": {"create", "patch"}, "leases": {"create", "update"},
		"secrets":                           {"create", "patch", "delete"},
		"validatingadmissionpolicies":       {"create", "patch", "delete"},
		"validatingadmissionpolicybindings": {"create", "patch", "delete"},
		"customresourcedefinitions":         {"create"}, "serviceaccounts": {"impersonate"},
		"tokenreviews": {"create"}, "subjectaccessreviews": {"create"},
	}
	for _, object := range renderChart(t, nil) {
		var role rbacv1.ClusterRole // a Role has the same rules
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role)).To(Succeed())
		if role.Name == "fairlead-components-editor" {
			continue // for people
		}
		for _, rule := range role.Rules {
			g.Expect(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)).NotTo(ContainElement("*"), role.Name)
			if slices.Contains(rule.Verbs, "impersonate") {
				g.Expect(rule.ResourceNames).To(Equal([]string{"fairlead"}))
			}
			for _, resource := range rule.Resources {
				allowed := slices.Concat([]string{"get", "list", "watch"}, written[resource])
				g.Expect(allowed).To(ContainElements(rule.Verbs), role.Name+" "+resource)
			}
		}
	}
}
