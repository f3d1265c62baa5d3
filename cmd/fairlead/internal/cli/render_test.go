package cli_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file of testdata. With the flag -update, it rewrites the file.
func golden(file, text string) {
	GinkgoHelper()
	place := filepath.Join("testdata", file)
	if *update {
		Expect(os.WriteFile(place, []byte(text), 0o600)).To(Succeed())
	}
	Expect(os.ReadFile(place)).To(BeEquivalentTo(text))
}

var _ = Describe("render", func() {
	DescribeTable("prints", func(ctx SpecContext, file, line string) {
		r := run(ctx, strings.Fields("fairlead render "+line)...)
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(0))
		golden("render/"+file, r.Out)
	},
		Entry("a chart in waves, with hooks and definitions", "chart.yaml", "testdata/render/chart --name s -n shop"),
		Entry("a chart, like helm template", "chart-raw.yaml", "testdata/render/chart --name s -n shop --raw"),
		Entry("a chart with its definitions", "chart-raw-crds.yaml",
			"testdata/render/chart --raw --include-crds --set replicas=3,db.size=2Gi"),
		Entry("a chart for another version of Kubernetes, as an upgrade", "chart-upgrade.yaml",
			"testdata/render/chart --is-upgrade --kube-version 1.35 --api-versions monitoring.coreos.com/v1"),
		Entry("an overlay, with the base next to it", "overlay.yaml", "testdata/render/overlays --path prod"),
		Entry("an overlay, like kubectl kustomize", "overlay-raw.yaml", "testdata/render/overlays --path prod --raw"),
		Entry("objects that depend on others", "graph.yaml", "testdata/render/graph -n shop"),
		Entry("a graph", "graph.mmd", "testdata/render/graph -n shop --graph"),
		Entry("a graph in DOT", "graph.dot", "testdata/render/graph -n shop --graph=dot"),
		Entry("the graph of waves and phases", "templates.mmd", "testdata/render/templates --set mode=dark --graph=mermaid"),
		Entry("probable mistakes", "graph-lint.txt", "testdata/render/graph -n shop --lint"),
		Entry("a graph with values", "values.mmd", "testdata/render/values -n shop --graph"),
		Entry("a graph with values in DOT", "values.dot", "testdata/render/values -n shop --graph=dot"),
		Entry("mistakes that the values do not prevent", "values-lint.txt", "testdata/render/values -n shop --lint"),
		Entry("mistakes in the references of externals", "externals-lint.txt", "testdata/render/externals -n shop --lint"),
		Entry("a chart with resource groups, which have no effect", "groups.mmd",
			"testdata/render/groups --name s -n shop --graph"),
		Entry("a chart with resource groups as dependencies", "groups-sequencing.yaml",
			"testdata/render/groups --name s -n shop --sequencing"),
		Entry("the graph of resource groups", "groups-sequencing.mmd",
			"testdata/render/groups --name s -n shop --sequencing --graph"),
		Entry("mistakes in the order of resource groups", "groups-sequencing-lint.txt",
			"testdata/render/groups --name s -n shop --sequencing --lint"),
		Entry("mistakes in the references of other types", "references-lint.txt",
			"testdata/render/references -n shop --lint"),
		Entry("templates, in waves and phases", "templates.yaml", "testdata/render/templates --set mode=dark"),
	)

	It("refuses a graph in another language, and a graph with the output of the generator", func(ctx SpecContext) {
		r := run(ctx, "fairlead", "render", "testdata/render/graph", "--graph=svg")
		Expect(r.Code).NotTo(BeZero())
		Expect(r.Err).To(ContainSubstring(`--graph "svg": want mermaid, dot`))
		Expect(run(ctx, "fairlead", "render", "testdata/render/graph", "--graph", "--raw").Code).NotTo(BeZero())
		Expect(run(ctx, "fairlead", "render", "testdata/render/groups", "--sequencing", "--raw").Code).NotTo(BeZero())
	})

	It("names object, field, file and line of what an API server would refuse with "+
		"--validate, and fails", func(ctx SpecContext) {
		dir := folder("good.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: good}, data: {a: b}}",
			"more/bad.yaml", `apiVersion: v1
kind: ConfigMap
metadata:
  name: one
data:
  a: "1"
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: two
  labels:
    team: a b
data:
  a: 1
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: three
spec:
  replica: 2
`)
		r := run(ctx, "fairlead", "render", dir, "--validate", "-n", "shop")
		Expect(r.Code).NotTo(BeZero())
		Expect(r.Out).To(And(
			ContainSubstring("bad.yaml:15: ConfigMap shop/two: data.a: expected string\n"),
			MatchRegexp(`bad.yaml:12: ConfigMap shop/two: metadata.labels: Invalid value: "a b"`),
			ContainSubstring("bad.yaml:22: Deployment.apps shop/three: spec.replica: field not declared in schema\n"),
			Not(ContainSubstring("good")), Not(ContainSubstring("shop/one"))))
		Expect(r.Err).To(ContainSubstring("an API server would refuse 3 fields"))
		r = run(ctx, "fairlead", "render", "testdata/render/chart", "--validate")
		Expect(r.Code).To(BeZero(), r.Out)
		Expect(r.Out).To(BeEmpty())
	})

	It("reads values from texts, files and JSON, and prints whole numbers with their digits", func(ctx SpecContext) {
		chart := folder("Chart.yaml", "{apiVersion: v2, name: c, version: 0.1.0}", "values.yaml", "uid: 1000",
			"templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"+
				"  tag: 'v-{{ .Values.tag }}'\n  uid: '{{ .Values.uid }}'\n  text: {{ kindOf .Values.text }}\n"+
				"  file: {{ .Values.file | quote }}\n  json: '{{ index .Values.json 0 }}'\n  plain: {{ .Values.plain | quote }}\n",
			"note.txt", "a,b=c")
		r := run(ctx, "fairlead", "render", chart, "--set", "tag=20161216", "--set-string", "text=20161216", "--set-file",
			"file="+filepath.Join(chart, "note.txt"), "--set-json", "json=[1000660000]", "--set-literal", "plain=a,b",
			"-f", filepath.Join(folder("v.yaml", "uid: 1000660000"), "v.yaml"))
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(And(ContainSubstring("tag: v-20161216\n"), ContainSubstring(`uid: "1000660000"`),
			ContainSubstring("text: string\n"), ContainSubstring("file: a,b=c\n"), ContainSubstring(`json: "1000660000"`),
			ContainSubstring("plain: a,b\n")))
	})

	It("renders a chart whose schema refers to a URL with --skip-schema, which the error names", func(ctx SpecContext) {
		chart := folder("Chart.yaml", "{apiVersion: v2, name: c, version: 0.1.0}",
			"values.schema.json", `{"$ref": "https://example.com/schema.json"}`,
			"templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		r := run(ctx, "fairlead", "render", chart)
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(And(ContainSubstring("https://example.com/schema.json"), ContainSubstring("--skip-schema")))
		r = run(ctx, "fairlead", "render", chart, "--skip-schema")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(ContainSubstring("kind: ConfigMap"))
	})

	It("prints three lines around invalid YAML, and with --raw the output of the templates", func(ctx SpecContext) {
		for _, dir := range []string{
			folder("Chart.yaml", "{apiVersion: v2, name: c, version: 0.1.0}",
				"templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b: {{ .Values.x }}\n"+
					"  c: d\n  e: f\n"),
			folder("templates/a.yaml",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b: {{ .Values.x }}\n  c: d\n  e: f\n"),
		} {
			r := run(ctx, "fairlead", "render", dir, "--set", "x=word")
			Expect(r.Code).To(Equal(2))
			Expect(r.Out).To(BeEmpty())
			Expect(r.Err).To(And(MatchRegexp(`templates/a.yaml \(rendered\):\n  4: data:\n  5:   a: b: word\n  6:   c: d\n`),
				ContainSubstring("(rendered):5: invalid YAML"), Not(ContainSubstring("e: f"))))
			r = run(ctx, "fairlead", "render", dir, "--set", "x=word", "--raw")
			Expect(r.Code).To(Equal(2))
			Expect(r.Out).
				To(MatchRegexp(`^---\n# Source: .*templates/a.yaml\napiVersion: v1\n(.*\n)*  a: b: word\n  c: d\n  e: f\n$`))
			Expect(r.Err).To(ContainSubstring("(rendered):5: invalid YAML"))
		}
	})

	It("uses the last value of a key that occurs twice in any file, and warns", func(ctx SpecContext) {
		object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  a: '1'\n  a: '2'\n"
		r := run(ctx, "fairlead", "render", folder("Chart.yaml", "{apiVersion: v2, name: c, version: 0.1.0}",
			"values.yaml", "x: 1\nx: 2\n", "templates/a.yaml", fmt.Sprintf(object, "'{{ .Values.x }}'")))
		Expect(r.Out).To(And(ContainSubstring(`name: "2"`), ContainSubstring(`a: "2"`)))
		Expect(r.Err).To(Equal(`warning: c/values.yaml:2: the key "x" occurs twice in a map; the last value is used` + "\n" +
			`warning: c/templates/a.yaml (rendered):6: the key "a" occurs twice in a map; the last value is used` + "\n"))
		for name, dir := range map[string]string{
			`a.yaml \(rendered\):6`: folder("a.yaml", fmt.Sprintf(object, "a")),
			`a.yaml:6`:              folder("kustomization.yaml", "resources: [a.yaml]", "a.yaml", fmt.Sprintf(object, "a")),
			`a.json \(rendered\):1`: folder("a.json",
				`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1", "a": "2"}}`),
		} {
			r := run(ctx, "fairlead", "render", dir)
			Expect(r.Out).To(ContainSubstring(`a: "2"`), name+r.Err)
			Expect(r.Err).To(MatchRegexp(`warning: `+name+
				`: the key "(data\.)?a" occurs twice in a map; the last value is used`), name)
		}
	})

	It("prints a warning of Helm once, in the form of all warnings", func(ctx SpecContext) {
		chart := folder("Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n"+
			"dependencies: [{name: sub, version: '*', condition: sub.enabled}]\n", "values.yaml", "sub: {enabled: perhaps}\n",
			"charts/sub/Chart.yaml", "{apiVersion: v2, name: sub, version: 0.1.0}",
			"templates/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		for _, flag := range []string{"--raw", "--lint"} {
			Expect(run(ctx, "fairlead", "render", chart, flag).Err).
				To(Equal("warning: Condition path 'sub.enabled' for chart sub returned non-bool value\n"))
		}
	})

	It("prints values that nothing reads with --lint", func(ctx SpecContext) {
		chart := folder("Chart.yaml", "{apiVersion: v2, name: c, version: 0.1.0}", "values.yaml", "replicaCount: 1",
			"templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a{{ .Values.replicaCount }}'}\n")
		r := run(ctx, "fairlead", "render", chart, "--lint", "--set", "replicasCount=5,replicaCount=2")
		Expect(r.Out).To(Equal("nothing in the source reads the value replicasCount; is it misspelt?\n"))
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(0))
	})

	It("leaves out definitions with --include-crds=false", func(ctx SpecContext) {
		Expect(run(ctx, "fairlead", "render", "testdata/render/chart").Out).
			To(ContainSubstring("kind: CustomResourceDefinition"))
		Expect(run(ctx, "fairlead", "render", "testdata/render/chart", "--include-crds").Out).
			To(ContainSubstring("kind: CustomResourceDefinition"))
		r := run(ctx, "fairlead", "render", "testdata/render/chart", "--include-crds=false")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(And(ContainSubstring("kind: "), Not(ContainSubstring("kind: CustomResourceDefinition"))))
	})

	DescribeTable("warns of a source that renders no objects", func(ctx SpecContext, flags ...string) {
		dir := folder("README.md", "# Nothing", "a.yaml", "# Nothing, either")
		r := run(ctx, append([]string{"fairlead", "render", dir}, flags...)...)
		Expect(r.Code).To(BeZero())
		Expect(r.Out).To(BeEmpty())
		Expect(r.Err).To(Equal("warning: " + dir + ": the source renders no objects\n"))
	},
		Entry("as dependents"),
		Entry("without normalisation", "--raw"),
	)

	It("renders with the values of exports", func(ctx SpecContext) {
		dir := folder("a.yaml", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: "{{ export `+"`p`"+` }}"}}`)
		Expect(run(ctx, "fairlead", "render", dir).Out).To(ContainSubstring(`v: ""`))
		Expect(run(ctx, "fairlead", "render", dir, "--export", "p=10.0.0.7").Out).To(ContainSubstring("v: 10.0.0.7"))
		Expect(run(ctx, "fairlead", "render", dir, "--export", "p=1048576").Out).To(ContainSubstring(`v: "1048576"`))
		r := run(ctx, "fairlead", "render", dir, "--export", "p")
		Expect(r.Code).NotTo(BeZero())
		Expect(r.Err).To(ContainSubstring(`--export "p": want NAME=VALUE`))
	})

	It("warns of kinds that do not exist in a built-in group", func(ctx SpecContext) {
		r := run(ctx, "fairlead", "render", folder("a.yaml", `{apiVersion: v1, kind: ConfigMpa, metadata: {name: a}}
---
{apiVersion: apps/v1, kind: Deploymnet, metadata: {name: a}}
---
{apiVersion: example.com/v1, kind: Deploymnet, metadata: {name: a}}
`))
		Expect(r.Code).To(BeZero())
		Expect(r.Err).To(Equal("warning: ConfigMpa: no built-in type has this name; is it misspelt?\n" +
			"warning: Deploymnet.apps: no built-in type has this name; is it misspelt?\n"))
	})

	It("reads the first document of a file of values, and warns of further documents", func(ctx SpecContext) {
		file := filepath.Join(folder("values.yaml", "replicas: 7\n---\nreplicas: 8\n"), "values.yaml")
		r := run(ctx, "fairlead", "render", "testdata/render/chart", "-f", file)
		Expect(r.Code).To(BeZero())
		Expect(r.Out).To(ContainSubstring("replicas: 7\n"))
		Expect(r.Err).To(Equal("warning: " + file +
			":2: a second document begins here; as in Helm, only the first document is read\n"))
	})

	It("renders an archive like the folder from which it was packed", func(ctx SpecContext) {
		fromFolder := run(ctx, "fairlead", "render", "testdata/render/chart")
		Expect(fromFolder.Code).To(Equal(0))
		parent := GinkgoT().TempDir()
		Expect(os.CopyFS(filepath.Join(parent, "shop"), os.DirFS("testdata/render/chart"))).To(Succeed())
		for _, dir := range []string{filepath.Join(parent, "shop"), parent} {
			packed, err := source.Pack(os.DirFS(dir))
			Expect(err).NotTo(HaveOccurred())
			archive := filepath.Join(GinkgoT().TempDir(), "shop-1.0.0.tgz")
			Expect(os.WriteFile(archive, packed, 0o600)).To(Succeed())
			Expect(run(ctx, "fairlead", "render", archive)).To(Equal(fromFolder))
		}
	})

	It("merges files of values and assignments", func(ctx SpecContext) {
		file := filepath.Join(folder("values.yaml", "replicas: 7\ndb: {size: 3Gi}\n"), "values.yaml")
		r := run(ctx, "fairlead", "render", "testdata/render/chart", "--raw", "-f", file, "--set", "replicas=8")
		Expect(r.Out).To(And(ContainSubstring("replicas: 8\n"), ContainSubstring("storage: 3Gi\n")))
	})

	It("accepts the name of a generator in upper or lower case", func(ctx SpecContext) {
		for _, generator := range []string{"helm", "Helm"} {
			r := run(ctx, "fairlead", "render", "testdata/render/chart", "--generator", generator)
			Expect(r.Code).To(Equal(0), r.Err)
		}
	})

	It("follows symbolic links that lead out of the folder", func(ctx SpecContext) {
		shared := folder("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
		dir := folder("more/b.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}")
		Expect(os.Symlink(shared, filepath.Join(dir, "more", "shared"))).To(Succeed())
		r := run(ctx, "fairlead", "render", dir, "--path", "more", "--raw")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(And(ContainSubstring("name: a\n"), ContainSubstring("name: b\n")))
	})

	DescribeTable("has exit code 2, an error line and no output for", func(ctx SpecContext, line string, want ...string) {
		GinkgoT().Chdir(folder(
			"broken/Chart.yaml", "{apiVersion: v2, name: broken, version: 1.0.0}",
			"broken/templates/web.yaml", "a: 1\nb: {{ fail \"no luck\" }}\n",
			"list/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n- 1\n",
			"twice/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
			"twice/b.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}",
			"charts/README.md", "", "charts/shop/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}",
			"charts/shop/templates/a.yaml", "{{ toYamlPretty 1 }}",
			"bad.yaml", "a: 1\n\tb: 2\n", "bad.tgz", "no archive"))
		Expect(os.MkdirAll("empty", 0o700)).To(Succeed())
		Expect(os.MkdirAll("more/none", 0o700)).To(Succeed())
		r := run(ctx, strings.Fields("fairlead render "+line)...)
		Expect(r.Code).To(Equal(2))
		Expect(r.Out).To(BeEmpty())
		for _, text := range want {
			Expect(r.Err).To(ContainSubstring(text))
		}
		first, rest, _ := strings.Cut(r.Err, "\n")
		Expect(first).To(HavePrefix("fairlead: "))
		Expect(rest).To(Or(BeEmpty(), HavePrefix("See 'fairlead render --help'.")))
	},
		Entry("a missing folder", "nowhere", `"nowhere" does not exist`),
		Entry("an empty folder", "empty", `"empty" is empty; want a chart, a kustomization or templates`),
		Entry("an empty folder in the source", "more --path none", `"more/none" is empty`),
		Entry("a chart in a subfolder", "charts",
			"fairlead: charts: the root of the source contains no chart and no kustomization, but these folders do: shop; ",
			"such as shop; ", "a.yaml:"),
		Entry("a missing folder in the source", "list --path x",
			`--path: folder "x": not found in the source; the source holds a.yaml`),
		Entry("a path that leaves the source", "list --path ../twice", `--path: folder "../twice"`),
		Entry("a file that is no archive", "bad.tgz", `archive "bad.tgz": not a .tgz archive`),
		Entry("a device", "/dev/zero", `"/dev/zero" is neither a folder nor a file`),
		Entry("a bad file of values", "broken -f bad.yaml", "bad.yaml:2: invalid YAML"),
		Entry("a template that fails, with its line", "broken", "broken: chart broken", "broken/templates/web.yaml:2",
			"no luck"),
		Entry("a list instead of a manifest", "list", "list: ", "a.yaml (rendered):5: this is a list, not a manifest"),
		Entry("an object that is rendered twice", "twice", "twice: ConfigMap default/a: rendered more than once"),
		Entry("a bad name", "list --name Shop_1", `--name "Shop_1"`),
		Entry("a bad namespace", "list -n Shop_1", `--namespace "Shop_1"`),
		Entry("an unknown generator", "list --generator Jsonnet", "want Helm, Kustomize, GoTemplate"),
		Entry("a generator that does not fit", "list --generator Helm", "Chart.yaml"),
		Entry("an invalid version", "list --kube-version new", `--kube-version "new": want a version such as 1.36`),
		Entry("no folder", "", "the folder (DIR), archive (ARCHIVE) or URL is missing"),
	)

	It("sends no request to a cluster", func(ctx SpecContext) {
		r := run(ctx, "fairlead", "render", "testdata/render/chart", "--kubeconfig", "/nowhere", "--context", "none")
		Expect(r.Code).To(Equal(0))
	})

	Context("on a cluster", onCluster(func() {
		It("sets the namespace of exactly those built-in types that are namespaced in the cluster", func(ctx SpecContext) {
			served, err := discovery.NewDiscoveryClientForConfigOrDie(kube.Config()).ServerPreferredResources()
			Expect(err).NotTo(HaveOccurred())
			namespaced := map[string]bool{}
			var stream strings.Builder
			for _, list := range served {
				group, _, _ := strings.Cut(list.GroupVersion, "/")
				if !strings.Contains(list.GroupVersion, "/") {
					group = ""
				}
				if !builtintypes.IsBuiltIn(group) {
					continue
				}
				for _, resource := range list.APIResources {
					namespaced[list.GroupVersion+" "+resource.Kind] = resource.Namespaced
					fmt.Fprintf(&stream, "---\n{apiVersion: %s, kind: %s, metadata: {name: a}}\n", list.GroupVersion, resource.Kind)
				}
			}
			Expect(len(namespaced)).To(BeNumerically(">", 50))

			r := run(ctx, "fairlead", "render", folder("all.yaml", stream.String()), "-n", "shop")
			Expect(r.Err).To(BeEmpty())
			rendered, err := manifests.Decode("stdout", []byte(r.Out))
			Expect(err).NotTo(HaveOccurred())
			Expect(rendered).To(HaveLen(len(namespaced)))
			for _, object := range rendered {
				typed, namespace := object.GetAPIVersion()+" "+object.GetKind(), ""
				if namespaced[typed] {
					namespace = "shop"
				}
				Expect(object.GetNamespace()).To(Equal(namespace), typed)
			}
		})
	}))
})
