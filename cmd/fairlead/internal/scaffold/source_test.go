package scaffold_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// chartOf returns a chart with additional files.
func chartOf(files map[string]string) fstest.MapFS {
	chart := fstest.MapFS{"Chart.yaml": {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}\n")}}
	for name, text := range files {
		chart[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return chart
}

// fromChart renders a project for a chart. It writes no files, so it needs no tools.
func fromChart(t *testing.T, chart fs.FS) (*scaffold.Project, error) {
	t.Helper()
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	o := shop()
	o.Generator, o.Given = scaffold.GeneratorHelm, true
	return scaffold.New(t.Context(), scaffold.Request{Options: o, Fairlead: fairlead, Source: chart})
}

// fileOf returns a file of a project.
func fileOf(t *testing.T, project *scaffold.Project, name string) string {
	t.Helper()
	i := slices.IndexFunc(project.Files, func(f scaffold.File) bool { return f.Path == name })
	if i < 0 {
		t.Fatalf("the project has no %s", name)
	}
	return string(project.Files[i].Content)
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\n"

func TestAChartThatCannotRenderIsRefusedWithFileAndLine(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a template that cannot be parsed": {
			map[string]string{"templates/a.yaml": configMap + "data:\n  a: {{ .Values.a \n"},
			"shop/templates/a.yaml:5",
		},
		"an unknown function": {
			map[string]string{"templates/a.yaml": configMap + "data: {a: {{ toYml 1 }}}\n"},
			"shop/templates/a.yaml:4",
		},
		"a definition that is not YAML": {map[string]string{"crds/a.yaml": "a: ["}, "shop/crds/a.yaml:1"},
		"a definition that is not YAML, and a manifest without a name": {
			map[string]string{
				"crds/a.yaml":      "a: [",
				"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.name }}}\n",
			},
			"shop/crds/a.yaml:1",
		},
		"a schema that is not JSON": {map[string]string{"values.schema.json": "{"}, "values.schema.json"},
		"a missing sub-chart": {map[string]string{"Chart.yaml": "{apiVersion: v2, name: shop, version: " +
			"1.0.0, dependencies: [{name: cache, version: 1.x}]}\n"}, "requires cache 1.x"},
		"a packed sub-chart that is not a .tgz archive": {
			map[string]string{"charts/cache-1.0.0.tgz": "cache"},
			"charts/cache-1.0.0.tgz: not a .tgz archive",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fromChart(t, chartOf(test.files))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got the error %v, want %q", err, test.want)
			}
		})
	}
}

func TestAChartThatLacksValuesOrAClusterIsTakenWithANote(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a required value": {
			map[string]string{"templates/a.yaml": `{{ required "say what" .Values.what }}`},
			"say what",
		},
		"a missing value": {map[string]string{"templates/a.yaml": "{{ .Values.a.b.c }}"}, "shop/templates/a.yaml:1"},
		"a metadata.name that a value sets": {
			map[string]string{
				"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n",
				"values.yaml":      "name: ''\n",
			},
			"shop/templates/a.yaml (rendered):1: no metadata.name",
		},
		"a kind that a value sets": {
			map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: {{ .Values.kind }}\nmetadata: {name: page}\n"},
			"shop/templates/a.yaml (rendered):1: no kind",
		},
		"a text that several values are part of": {
			map[string]string{"templates/a.yaml": configMap + "data: {image: {{ .Values.image }}:{{ .Values.tag }}}\n"},
			"shop/templates/a.yaml (rendered):",
		},
		"a look-up of a Secret": {
			map[string]string{"templates/a.yaml": `{{ (lookup "v1" "Secret" .Release.Namespace "kept").data.key.more }}`},
			"shop/templates/a.yaml:1",
		},
		"an older cluster": {
			map[string]string{"Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0, kubeVersion: '<1.20.0'}\n"},
			"requires Kubernetes <1.20.0",
		},
		"a value without a valid example": {
			map[string]string{"values.schema.json": `{"required": ["domain"], "properties": {"domain": {"type": "string", "pattern": "[.]com$"}}}`}, "values.domain",
		},
	} {
		t.Run(name, func(t *testing.T) {
			project, err := fromChart(t, chartOf(test.files))
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(project.Notes, "\n")
			if !strings.Contains(notes, "complete config/samples/shop.yaml") || !strings.Contains(notes, test.want) {
				t.Errorf("got the notes %s, want %q", notes, test.want)
			}
		})
	}
}

func TestRightsHaveNoRuleThatAnotherCovers(t *testing.T) {
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: page}\nrules:\n"
	project, err := fromChart(t, chartOf(map[string]string{"templates/a.yaml": configMap, "templates/role.yaml": role +
		"- {apiGroups: [''], resources: [configmaps], verbs: [watch, list, get]}\n" +
		"- {apiGroups: [''], resources: [configmaps], resourceNames: [page], verbs: [get]}\n" +
		"- {apiGroups: [''], resources: [pods], verbs: [get, list]}\n" +
		"- {apiGroups: [''], resources: [pods], verbs: [list, get]}\n" +
		"- {apiGroups: [''], resources: [pods, pods/log], verbs: [get]}\n"}))
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	if err := yaml.Unmarshal([]byte(fileOf(t, project, "chart/rights.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	var on []string
	for _, rule := range rules {
		on = append(on, strings.Join(rule.Resources, ","))
	}
	if want := []string{"configmaps", "roles", "pods", "pods,pods/log"}; !slices.Equal(on, want) {
		t.Errorf("got the RBAC rules on %q, want %q", on, want)
	}
}

func TestAPackedChartIsUnpackedAndItsPackedSubChartsAreUnderstood(t *testing.T) {
	cache := packed(t, "cache", fstest.MapFS{
		"Chart.yaml": {Data: []byte("{apiVersion: v2, name: cache, version: 1.0.0}\n")},
		"templates/all.yaml": {Data: []byte("{{ if .Values.on }}\napiVersion: batch/v1\nkind: CronJob\n" +
			"metadata: {name: cache, annotations: {fairlead.io/order: '1'}}\n{{ end }}\n")},
	})
	shop := packed(t, "shop", chartOf(map[string]string{
		"values.yaml": "replicas: 1\ncache: {on: false}\n", "templates/a.yaml": configMap,
		"charts/cache-1.0.0.tgz": string(cache),
	}))
	tree, err := source.Unpack(shop, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	project, err := fromChart(t, tree)
	if err != nil {
		t.Fatal(err)
	}
	if got := fileOf(t, project, "internal/generator/chart/charts/cache-1.0.0.tgz"); got != string(cache) {
		t.Error("the archive of the sub-chart was changed")
	}
	if got := fileOf(t, project, "chart/rights.yaml"); !strings.Contains(got, "cronjobs") {
		t.Errorf("the RBAC rules do not contain the kinds of the sub-chart: %s", got)
	}
	if got := fileOf(t, project, "api/v1alpha1/values.go"); !strings.Contains(got, "Cache *apiextensionsv1.JSON") {
		t.Errorf("the values of the sub-chart are not free-form: %s", got)
	}
	if notes := strings.Join(project.Notes, "\n"); !strings.Contains(notes,
		"cache-1.0.0.tgz has annotations of fairlead.io") {
		t.Errorf("the notes of the scaffold do not mention that the annotations are ignored: %s", notes)
	}
}

func TestAChartWithOtherLineEndsIsUnderstoodAndLeftAsItIs(t *testing.T) {
	files := map[string]string{
		"values.yaml": "# How many.\nreplicas: 1\non: false\n",
		"templates/all.yaml": configMap +
			"{{ if .Values.on }}\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: page}\n{{ end }}\n",
	}
	plain, err := fromChart(t, chartOf(files))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "\n", "\r\n")
	}
	other, err := fromChart(t, chartOf(files))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"api/v1alpha1/values.go", "chart/rights.yaml", "config/samples/shop.yaml"} {
		if difference := cmp.Diff(fileOf(t, plain, name), fileOf(t, other, name)); difference != "" {
			t.Errorf("%s (-plain +other):\n%s", name, difference)
		}
	}
	if got := fileOf(t, other, "internal/generator/chart/values.yaml"); got != files["values.yaml"] {
		t.Errorf("the values.yaml of the chart was changed to %q", got)
	}
}

// packed packs a folder like helm package.
func packed(t *testing.T, name string, files fstest.MapFS) []byte {
	t.Helper()
	inside := fstest.MapFS{}
	for file, content := range files {
		inside[name+"/"+file] = content
	}
	archive, err := source.Pack(inside)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}
