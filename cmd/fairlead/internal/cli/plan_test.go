package cli_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

const shopChart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"

// shopTemplates returns the files of a chart with a few dependents.
func shopTemplates() []string {
	return []string{
		"Chart.yaml", shopChart, "values.yaml", "color: red\nreplicas: 1\nextra: true\n",
		"templates/settings.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: {{ .Values.color }}, size: small}\n",
		"templates/secret.yaml",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: \"{{ .Values.color }}\"}\n",
		"templates/extra.yaml",
		"{{ if .Values.extra }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n{{ end }}\n",
		"templates/account.yaml",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shop, annotations: {fairlead.io/order: \"1\"}}\n",
	}
}

var _ = Describe("plan", onCluster(func() {
	leftAlone := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		components, maps := &v1alpha1.ComponentList{}, &corev1.ConfigMapList{}
		Expect(k8s.List(ctx, components, client.InNamespace(namespace))).To(Succeed())
		Expect(k8s.List(ctx, maps, client.InNamespace(namespace))).To(Succeed())
		Expect(components.Items).To(BeEmpty())
		Expect(maps.Items).To(HaveEach(HaveField("Name", Or(Equal("kube-root-ca.crt"), Equal("settings")))))
	}

	It("shows the plan of a new component, and writes nothing", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}})).
			To(Succeed())
		r := fairlead(ctx, namespace, "plan", "shop", folder(shopTemplates()...), "--set", "color=blue")
		Expect(r.Err).To(Equal("warning: fairlead apply takes over existing objects (1) only with --adopt\n"))
		Expect(r.Code).To(Equal(0))
		expectGolden("plan/new.txt", namespace, r.Out)
		leftAlone(ctx, namespace)
	})

	It("shows updated, pruned and unchanged dependents", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		dir := folder(shopTemplates()...)
		applied(ctx, namespace, dir)
		Expect(fairlead(ctx, namespace, "plan", "shop").Out).To(ContainSubstring("nothing to do, 4 unchanged."))

		r := fairlead(ctx, namespace, "plan", "shop", dir, "--set", "color=blue,extra=false")
		Expect(r.Err).To(BeEmpty())
		expectGolden("plan/changes.txt", namespace, r.Out)
		r = fairlead(ctx, namespace, "plan", "shop", dir, "--set", "color=blue,extra=false", "-o", "yaml")
		expectGolden("plan/changes.yaml", namespace, r.Out)
		r = fairlead(ctx, namespace, "plan", "shop", "--delete")
		Expect(r.Err).To(BeEmpty())
		expectGolden("plan/deletion.txt", namespace, r.Out)
	})

	It("names the failures that a person must correct, and shows the steps after them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		other := manifests.Owner{
			Cluster: "c", Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component",
			Namespace: namespace, Name: "other",
		}
		taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "settings",
			Labels:      map[string]string{"fairlead.io/owner-id": other.ID()},
			Annotations: map[string]string{"fairlead.io/owner-id": other.String()},
		}}
		Expect(k8s.Create(ctx, taken)).To(Succeed())
		r := fairlead(ctx, namespace, "plan", "shop", folder(append(shopTemplates(),
			"templates/bad.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 100000}]}\n",
			"templates/unknown.yaml", "apiVersion: example.com/v1\nkind: Unheard\nmetadata: {name: of}\n")...))
		Expect(r.Err).To(BeEmpty())
		Expect(r.Code).To(Equal(1), "want the exit code 1, because a step is blocked")
		expectGolden("plan/conflicts.txt", namespace, r.Out)
		leftAlone(ctx, namespace)
	})

	It("shows the plan of the deletion of a component of another operator", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}}
		Expect(k8s.Create(ctx, g)).To(Succeed())
		r := fairlead(ctx, namespace, "plan", "gadget/g", "--delete")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("no operator has reconciled it yet"))

		owner := manifests.Owner{
			Cluster: "c", Reconciler: "gadgets.example.com", Group: "gadgets.example.com",
			Kind: "Gadget", Namespace: namespace, Name: "g",
		}
		ours := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "ours",
			Labels:      map[string]string{"gadgets.example.com/owner-id": owner.ID()},
			Annotations: map[string]string{"gadgets.example.com/owner-id": owner.String()},
		}}
		Expect(k8s.Create(ctx, ours)).To(Succeed())
		line := "/v1/ConfigMap/" + namespace + "/ours u=" + string(ours.UID)
		digest, err := digests.Of([]string{line})
		Expect(err).NotTo(HaveOccurred())
		g.Status.Status = metav1alpha1.Status{
			Reconciler: "gadgets.example.com", State: "Ready", Inventory: []string{line}, InventoryDigest: digest,
			Identity: "c/" + string(g.UID),
		}
		Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		r = fairlead(ctx, namespace, "plan", "gadget/g", "--delete")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(And(MatchRegexp(`1 +0 +delete +ConfigMap +%s/ours`, namespace), HaveSuffix("1 to delete.\n")))
		Expect(fairlead(ctx, namespace, "plan", "gadget/g").Err).To(ContainSubstring("only its own operator can render it"))
	})

	It("names the file and the line of each invalid object", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("kustomization.yaml", "resources: [good.yaml, bad.yaml]\n",
			"good.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n",
			"bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bad\n  labels:\n    team: a b\n"+
				"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: worse\ndatum: {}\n")
		r := fairlead(ctx, namespace, "plan", "shop", dir)
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(And(
			ContainSubstring("  ConfigMap "+namespace+"/bad (bad.yaml:5, wave 0): Invalid: metadata.labels: "),
			ContainSubstring("  ConfigMap "+namespace+"/worse (bad.yaml:12, wave 0): Invalid: "),
			Not(ContainSubstring("good.yaml"))))
		Expect(fairlead(ctx, namespace, "plan", "shop", dir, "-o", "json").Out).To(ContainSubstring(`"place": "bad.yaml:12"`))
		r = fairlead(ctx, namespace, "apply", "shop", dir)
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(And(ContainSubstring("refused: ConfigMap "+namespace+"/bad (bad.yaml:5): Invalid: "),
			ContainSubstring("refused: ConfigMap "+namespace+"/worse (bad.yaml:12): Invalid: ")))
	})

	It("warns of fields that the API server drops, as apply and render --validate do", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("dropped.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dropped\n"+
			"  annotations: {fairlead.io/update-policy: replace}\ndatum: {}\n")
		r := fairlead(ctx, namespace, "plan", "shop", dir)
		Expect(r.Code).To(BeZero())
		Expect(r.Out).
			To(ContainSubstring("The API server drops these fields, because the types do not have them; correct or " +
				"remove them:\n  ConfigMap " + namespace + "/dropped (dropped.yaml:6): datum\n"))
		Expect(fairlead(ctx, namespace, "plan", "shop", dir, "-o", "json").Out).To(ContainSubstring(`"field": "datum"`))
		const warning = ": the API server drops this field, because the type does not have it\n"
		r = run(ctx, "fairlead", "render", dir, "--validate", "-n", namespace)
		Expect(r.Code).To(BeZero())
		Expect(r.Out).To(BeEmpty())
		Expect(r.Err).To(Equal("warning: dropped.yaml:6: ConfigMap " + namespace + "/dropped: datum" + warning))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Err).
			To(ContainSubstring("warning: ConfigMap " + namespace + "/dropped (dropped.yaml:6): datum" + warning))
	})

	DescribeTable("refuses", func(ctx SpecContext, args func(dir string) []string, code int, want string) {
		r := fairlead(ctx, newNamespace(ctx), append([]string{"plan"}, args(folder("broken.yaml", "kind: {{ nope }}"))...)...)
		Expect(r.Code).To(Equal(code), r.Err)
		Expect(r.Err).To(ContainSubstring(want))
	},
		Entry("a component that does not exist", func(string) []string { return []string{"shop"} }, 1, "does not exist"),
		Entry("a source that cannot be rendered", func(dir string) []string { return []string{"shop", dir} }, 2,
			`function "nope" not defined`),
		Entry("values without a folder", func(string) []string {
			return []string{
				"shop", "--set",
				"a=1",
			}
		}, 2, "need a folder, an archive or a URL"),
		Entry("a deletion with inputs", func(string) []string { return []string{"shop", "--delete", "--input", "a=b"} }, 2,
			"which renders nothing"),
		Entry("an input without a file", func(string) []string {
			return []string{
				"shop", "--input",
				"rates",
			}
		}, 2, "want NAME=FILE"),
		Entry("a deletion with a folder", func(dir string) []string { return []string{"shop", dir, "--delete"} }, 2,
			"leave the folder, archive or URL out"),
	)
}))
