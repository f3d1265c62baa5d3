package operatorrules_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/operatorrules"
)

// rules returns the rules for rendered objects in the form in which a project contains them. The objects are given as
// YAML.
func rules(t *testing.T, f operatorrules.Features, documents ...string) string {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	text, err := operatorrules.Format(operatorrules.RulesFor(f, objects, nil))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRulesFollowFromWhatIsRendered(t *testing.T) {
	for name, test := range map[string]struct {
		features  operatorrules.Features
		documents []string
		want      []string
		unwanted  []string
	}{
		"nothing": {want: []string{"[]\n"}},
		"an object": {
			documents: []string{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}"},
			want:      []string{"- apps\n", "- deployments\n", "- patch\n"}, unwanted: []string{"escalate"},
		},
		"an object outside Kubernetes": {
			features:  operatorrules.Features{Externals: true},
			documents: []string{"{apiVersion: external.fairlead.io/v1, kind: Bucket, metadata: {name: media}}"},
			want:      []string{"# Records of dependents outside Kubernetes", "- secrets\n"}, unwanted: []string{"bucket"},
		},
		"a definition": {
			documents: []string{"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: w}, " +
				"spec: {group: example.com, names: {plural: widgets}}}"},
			want: []string{"# Instances of widgets.example.com:", "- widgets\n", "- validatingadmissionpolicies\n"},
		},
		"a role, and a binding of another role": {
			documents: []string{
				"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: own}, " +
					"rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
				"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b}, roleRef: {kind: " +
					"ClusterRole, name: view}}",
			},
			want: []string{"# What Role own grants.", "- pods\n", "# To bind ClusterRole view", "- bind\n"},
		},
		"a chart hook for the event pre-delete or post-delete": {
			documents: []string{"{apiVersion: batch/v1, kind: Job, metadata: {name: j, annotations: {helm.sh/hook: " +
				"pre-delete}}}"},
			want: []string{"- secrets\n"},
		},
		"interfaces": {
			features: operatorrules.Features{KubeConfig: true, ServiceAccount: true, Placement: true},
			want:     []string{"- impersonate\n", "- namespaces\n", "- secrets\n"},
		},
		"optional interfaces whose rules the rules on Secrets include": {
			features:  operatorrules.Features{KubeConfig: true},
			documents: []string{"{apiVersion: v1, kind: Secret, metadata: {name: s}}"},
			want:      []string{"- secrets\n"}, unwanted: []string{"Kubeconfigs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := rules(t, test.features, test.documents...)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("the rules lack %q:\n%s", want, text)
				}
			}
			for _, unwanted := range test.unwanted {
				if strings.Contains(text, unwanted) {
					t.Errorf("the rules contain %q:\n%s", unwanted, text)
				}
			}
		})
	}
}

func TestKindsAreReadFromTemplatesToo(t *testing.T) {
	const template = "{{ if .Values.web }}\napiVersion: apps/v1\nkind: Deployment\n{{ end }}\n---\n" +
		"apiVersion: {{ .Values.api }}\nkind: ConfigMap\n---\napiVersion: {{ .Values.api }}\nkind: Widget\n"
	kinds, notes := operatorrules.Kinds("templates/web.yaml", []byte(template))
	want := []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Version: "v1", Kind: "ConfigMap"},
	}
	if len(kinds) != 2 || kinds[0] != want[0] || kinds[1] != want[1] {
		t.Errorf("got the kinds %v, want %v", kinds, want)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "the API group of Widget is computed") {
		t.Errorf("want one note about the computed API group of Widget, got %q", notes)
	}
	for _, name := range []string{"values.yaml", "README.md", "templates/tests/test.yaml"} {
		if kinds, _ := operatorrules.Kinds(name, []byte("apiVersion: v1\nkind: Pod\n")); kinds != nil {
			t.Errorf("Kinds must find no kinds in the file %s, got %v", name, kinds)
		}
	}
}
