package kustomize_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/kustomize"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"

func sourceOf(files map[string]string) fs.FS {
	source := fstest.MapFS{}
	for name, text := range files {
		source[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return source
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"a remote resource": {
			files: map[string]string{"kustomization.yaml": "resources: ['https://example.com/a.yaml']"},
			want:  []string{`kustomization.yaml: resources: "https://example.com/a.yaml" is a remote address`},
		},
		"a repository as base, in every syntax of kustomize": {
			files: map[string]string{
				"kustomization.yaml": "resources: ['github.com/acme/base', 'git@example.com:acme/base.git', " +
					"'ssh://example.com/acme/base', 'git::https://example.com/acme/base', 'FILE:///srv/base', 'http:example.com', " +
					"'//example.com/a']",
			},
			want: []string{
				`"github.com/acme/base" is`, `"git@example.com:acme/base.git" is`, `"ssh://example.com/acme/base" is`,
				`"git::https://example.com/acme/base" is`, `"FILE:///srv/base" is`, `"http:example.com" is`, `"//example.com/a" is`,
			},
		},
		"a folder of the source whose path looks like a repository": {
			files: map[string]string{
				"kustomization.yaml":                      "resources: ['github.com/acme/base']",
				"github.com/acme/base/kustomization.yaml": "namePrefix: a-",
			},
			want: []string{`"github.com/acme/base" is a remote address`, "write ./ in front"},
		},
		"remote entries in referenced kustomizations": {
			files: map[string]string{
				"kustomization.yaml": "resources: [base]\ncomponents: [part]",
				"base/kustomization.yaml": "bases: ['https://example.com/b']\ncrds: ['https://example.com/c']\n" +
					"openapi: {path: 'https://example.com/d'}",
				"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
					"patches: [{path: 'https://example.com/e'}]",
			},
			want: []string{
				`base/kustomization.yaml: resources: "https://example.com/b"`,
				`base/kustomization.yaml: crds: "https://example.com/c"`,
				`base/kustomization.yaml: openapi: "https://example.com/d"`,
				`part/kustomization.yaml: patches: "https://example.com/e"`,
			},
		},
		"remote files of generators": {
			files: map[string]string{
				"kustomization.yaml": "configMapGenerator: [{name: a, files: ['k=https://example.com/a'], envs: " +
					"['https://example.com/b']}]\n" +
					"secretGenerator: [{name: a, env: 'https://example.com/c'}]\nreplacements: [{path: 'https://example.com/d'}]\n" +
					"configurations: ['https://example.com/e']\npatchesStrategicMerge: ['https://example.com/f']\npatchesJson6902: " +
					"[{path: 'https://example.com/g'}]\n",
			},
			want: []string{
				"example.com/a",
				"example.com/b",
				"example.com/c",
				"example.com/d",
				"example.com/e",
				"example.com/f",
				"example.com/g",
			},
		},
		"a path that leaves the source": {
			files: map[string]string{
				"kustomization.yaml": "resources: ['../../etc']\nconfigMapGenerator: [{name: a, files: ['/etc/hostname']}]",
			},
			want: []string{`"../../etc" leaves the source`, `"/etc/hostname" is absolute`},
		},
		"a resource that does not exist": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]"},
			want:  []string{`kustomization.yaml: resources: "a.yaml" does not exist in the source`},
		},
		"helm charts": {
			files: map[string]string{"kustomization.yaml": "helmCharts: [{name: a, repo: 'https://example.com'}]"},
			want:  []string{"kustomization.yaml: helmCharts runs helm", "Helm engine"},
		},
		"helm charts in the deprecated field": {
			files: map[string]string{
				"kustomization.yaml": "helmChartInflationGenerator: [{chartName: a, chartRepoUrl: 'https://example.com'}]",
			},
			want: []string{"kustomization.yaml: helmChart", "runs helm"},
		},
		"an exec plugin as a validator": {
			files: map[string]string{
				"kustomization.yaml": "validators: [fn.yaml]",
				"fn.yaml": "apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: a\n  annotations:\n" +
					"    config.kubernetes.io/function: 'exec: {path: ./run.sh}'\n",
			},
			want: []string{"kustomization.yaml: validators: Fn a is a plugin that runs a program or a container"},
		},
		"a component that leaves the source": {
			files: map[string]string{"kustomization.yaml": "components: [../part]"},
			want:  []string{`kustomization.yaml: components: "../part" leaves the source`},
		},
		"helm charts in a plugin configuration": {
			files: map[string]string{
				"kustomization.yaml": "generators: [chart.yaml]",
				"chart.yaml":         "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nname: a\n",
			},
			want: []string{"HelmChartInflationGenerator a runs helm"},
		},
		"a container plugin": {
			files: map[string]string{
				"kustomization.yaml": "transformers: [fn.yaml]",
				"fn.yaml": "apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: a\n  annotations:\n" +
					"    config.kubernetes.io/function: 'container: {image: example.com/fn}'\n",
			},
			want: []string{"kustomization.yaml: transformers: Fn a is a plugin that runs a program or a container"},
		},
		"a remote file in the configuration of a plugin": {
			files: map[string]string{
				"kustomization.yaml": "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n" +
					"  metadata: {name: a}\n" +
					"  path: https://example.com/patch.yaml\n",
			},
			want: []string{`PatchTransformer a.path: "https://example.com/patch.yaml" is a remote address`},
		},
		"a folder of configurations of plugins": {
			files: map[string]string{
				"kustomization.yaml":      "transformers: [more]",
				"more/kustomization.yaml": "resources: []",
			},
			want: []string{`"more" is neither a plugin configuration nor a file`},
		},
		"two kustomization files": {
			files: map[string]string{"kustomization.yaml": "namePrefix: a", "Kustomization": "namePrefix: b"},
			want:  []string{"kustomization.yaml, Kustomization: a folder must have only one kustomization file"},
		},
		"an unknown field": {
			files: map[string]string{"kustomization.yaml": "ressources: []"},
			want:  []string{"kustomization.yaml: invalid Kustomization", `unknown field "ressources"`},
		},
		"a cycle": {
			files: map[string]string{
				"kustomization.yaml":   "resources: [a]",
				"a/kustomization.yaml": "resources: [../a]",
			},
			want: []string{"build the kustomization: ", "cycle"},
		},
		"a patch without target for an object that does not exist": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: " +
					"{name: b}}'}]",
				"a.yaml": configMap,
			},
			want: []string{"build the kustomization: ", "no resource matches strategic merge patch"},
		},
		"a JSON patch without target": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\npatches: [{patch: '[{\"op\": \"remove\", \"path\": \"/data\"}]'}]",
				"a.yaml":             configMap,
			},
			want: []string{"build the kustomization: ", "must specify a target"},
		},
		"an empty patch without a target": {
			files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{}]", "a.yaml": configMap},
			want:  []string{"build the kustomization: "},
		},
		"an invalid OpenAPI schema": {
			files: map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: schema.json}\npatches: [{patch: '" +
					"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}'}]",
				"schema.json": "[",
				"a.yaml":      configMap,
			},
			want: []string{"build the kustomization: kustomize panicked: "},
		},
		"plain manifests": {
			files: map[string]string{"a.yaml": configMap + "---\nkind: A\n", "b/c.yaml": configMap + "spec: [\n"},
			want:  []string{"a.yaml:6: no apiVersion", "a.yaml:6: no metadata.name", "b/c.yaml:"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := renderOnce(t, sourceOf(c.files))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in:\n%v", want, err)
				}
			}
		})
	}
}

func renderOnce(t *testing.T, source fs.FS) error {
	t.Helper()
	g, err := kustomize.New(source, kustomize.Options{})
	if err != nil {
		return err
	}
	_, err = g.Generate(t.Context(), generator.Request{})
	return err
}
