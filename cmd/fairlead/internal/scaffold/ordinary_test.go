package scaffold_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// sampleOf returns the sample component of a project.
func sampleOf(t *testing.T, project *scaffold.Project) *unstructured.Unstructured {
	t.Helper()
	sample := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fileOf(t, project, "config/samples/shop.yaml")), &sample.Object); err != nil {
		t.Fatal(err)
	}
	return sample
}

// passesUnitTests checks the sample as the unit test of a project does. The specs with the tag long run the test itself,
// and the test on a cluster.
func passesUnitTests(t *testing.T, chart fs.FS) {
	t.Helper()
	project, err := fromChart(t, chart)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range project.Notes {
		if strings.Contains(note, "cannot be rendered") {
			t.Error(note)
		}
	}
	options := generatortest.Options{Reconciler: shop().OperatorName, GeneratedValues: true}
	if test := fileOf(t, project, "internal/generator/generator_test.go"); !strings.Contains(test,
		"Reconciler: reconciler, GeneratedValues: true,") {
		t.Errorf("the project has other options: %s", test)
	}
	g, err := helm.New(chart, helm.Options{AnnotationPrefix: options.Reconciler})
	if err != nil {
		t.Fatal(err)
	}
	sample := sampleOf(t, project)
	if namespace := sample.GetNamespace(); namespace != "" {
		t.Errorf("the sample has the namespace %q, and kubectl refuses it in another", namespace)
	}
	values, _, err := unstructured.NestedMap(sample.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	generatortest.Check(t, g, options, generator.Request{
		Namespace: "default", Name: sample.GetName(), Revision: 1, Parameters: values, Component: sample,
	})
}

func TestAProjectOfAnOrdinaryChartPassesItsUnitTests(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for name, files := range map[string]map[string]string{
		"a random password": {"templates/a.yaml": secret + "stringData: {p: {{ randAlphaNum 12 | quote }}}\n"},
		"a certificate":     {"templates/a.yaml": secret + `stringData: {c: {{ (genCA "a" 1).Cert | quote }}}`},
		"the time":          {"templates/a.yaml": secret + `stringData: {t: {{ now | unixEpoch | quote }}}`},
		"a value that must be given": {"templates/a.yaml": secret +
			`stringData: {h: {{ required "host" .Values.host | quote }}}`},
		"a nested value, given by a pipe": {
			"values.yaml": "db: {user: me}\n", "templates/a.yaml": secret +
				`stringData: {h: {{ .Values.db.host | required "x" }}}`,
		},
		"a look-up": {"templates/a.yaml": secret +
			`{{ if not (lookup "v1" "Secret" .Release.Namespace "b") }}stringData: {a: b}{{ end }}`},
		"an API version of the cluster": {
			"templates/a.yaml": "apiVersion: policy/{{ if .Capabilities.APIVersions.Has \"policy/v1\" }}v1{{ else " +
				"}}v0{{ end }}\n" +
				"kind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {maxUnavailable: 1}\n",
		},
		"a hook for two events": {
			"templates/a.yaml": "apiVersion: batch/v1\nkind: Job\n" +
				"metadata: {name: a, annotations: {helm.sh/hook: \"pre-install,post-delete\"}}\n" +
				"spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}\n",
		},
	} {
		t.Run(name, func(t *testing.T) { passesUnitTests(t, chartOf(files)) })
	}
	t.Run("all of them", func(t *testing.T) { passesUnitTests(t, os.DirFS("testdata/ordinary")) })
}

func TestTheSampleHasNoMoreValuesThanTheChartNeeds(t *testing.T) {
	project, err := fromChart(t, chartOf(map[string]string{
		"values.yaml":      "enabled: false\nhost: ''\n",
		"templates/a.yaml": configMap + `{{ if .Values.enabled }}data: {h: {{ required "host" .Values.host }}}{{ end }}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if spec, ok := sampleOf(t, project).Object["spec"].(map[string]any); !ok || len(spec) != 1 {
		t.Errorf("the chart renders with its defaults, and the sample has %v", spec)
	}
}
