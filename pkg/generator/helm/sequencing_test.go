package helm_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

const prefix = "demo.example.io"

// grouped returns a manifest with annotations, which are written as "key: value".
func grouped(kind, name string, annotations ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n  annotations:\n    %s\n", kind, name,
		strings.Join(annotations, "\n    "))
}

const (
	inGroup = "helm.sh/resource-group: %s"
	needs   = `helm.sh/depends-on/resource-groups: '["%s"]'`
)

func sequencedChart() map[string]string {
	return map[string]string{
		"templates/db.yaml":        grouped("Secret", "db", fmt.Sprintf(inGroup, "Database")),
		"templates/web.yaml":       grouped("ConfigMap", "web", fmt.Sprintf(inGroup, "web"), fmt.Sprintf(needs, "Database")),
		"templates/more.yaml":      grouped("ConfigMap", "more", fmt.Sprintf(inGroup, "web")),
		"templates/namespace.yaml": grouped("Namespace", "own", fmt.Sprintf(inGroup, "web")),
		"templates/hook.yaml":      grouped("ConfigMap", "hook", "helm.sh/hook: post-install", fmt.Sprintf(needs, "web")),
		"charts/sub/Chart.yaml":    "{apiVersion: v2, name: sub, version: 1.0.0}",
		"charts/sub/templates/sub.yaml": grouped("ConfigMap", "sub", fmt.Sprintf(inGroup, "web"),
			fmt.Sprintf(needs, "none")) + "---\n" +
			grouped("ConfigMap", "alone", fmt.Sprintf(needs, "web")),
	}
}

// dependenciesOf returns the settings of dependencies of each object, by name.
func dependenciesOf(objects []client.Object) map[string]string {
	found := map[string]string{}
	for _, o := range objects {
		var parts []string
		for _, name := range []string{"depends-on-group", "depends-on"} {
			if value, set := o.GetAnnotations()[prefix+"/"+name]; set {
				parts = append(parts, value)
			}
		}
		if _, left := o.GetAnnotations()["helm.sh/depends-on/resource-groups"]; left {
			parts = append(parts, "left")
		}
		found[o.GetName()] = strings.Join(parts, " | ")
	}
	return found
}

func TestResourceGroupsBecomeDependencies(t *testing.T) {
	options := helm.Options{AnnotationPrefix: prefix, Sequencing: true}
	got := dependenciesOf(generate(t, chartOf(sequencedChart()), options,
		generator.Request{Namespace: "shop", Revision: 1}))
	want := map[string]string{
		"db": "database", "web": "web | @database?", "more": "web | @database?", "own": "web", "hook": "",
		"sub": "sub.web | @sub.none?", "alone": "@sub.web?",
	}
	for name, settings := range want {
		if got[name] != settings {
			t.Errorf("%s: got %q, want %q", name, got[name], settings)
		}
	}
}

func TestResourceGroupsHaveNoEffectByDefault(t *testing.T) {
	options := helm.Options{AnnotationPrefix: prefix}
	for name, settings := range dependenciesOf(generate(t, chartOf(sequencedChart()), options,
		generator.Request{Namespace: "shop", Revision: 1})) {
		if settings != "" && settings != "left" {
			t.Errorf("%s: got %q", name, settings)
		}
	}
}

func TestResourceGroupsThatCannotBeRead(t *testing.T) {
	g, err := helm.New(chartOf(map[string]string{
		"templates/a.yaml": grouped("ConfigMap", "a", "helm.sh/depends-on/resource-groups: database"),
	}), helm.Options{AnnotationPrefix: prefix, Sequencing: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = `templates/a.yaml: ConfigMap a: annotation helm.sh/depends-on/resource-groups: want a list of groups as JSON, such as ["database"]`
	if _, err := g.Generate(t.Context(), generator.Request{Revision: 1}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if _, err := helm.New(nil, helm.Options{Sequencing: true}); err == nil {
		t.Error("resource groups without a prefix are accepted")
	}
}
