package cli_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var _ = Describe("apply, before it writes", onCluster(func() {
	needy := []string{
		"Chart.yaml", shopChart + "dependencies: [{name: redis, version: 1.2.3, repository: 'https://example.com'}]\n",
		"templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	}

	DescribeTable("refuses what does not render, and says what helps",
		func(ctx SpecContext, files []string, args []string, want string) {
			namespace := newNamespace(ctx)
			dir := folder(files...)
			r := fairlead(ctx, namespace, append([]string{"apply", "shop", dir}, args...)...)
			Expect(r.Code).To(Equal(2))
			Expect(r.Out).To(BeEmpty())
			Expect(strings.ReplaceAll(r.Err, dir, "DIR")).To(
				HavePrefix("fairlead: component.fairlead.io/shop is not applied, because it does not render: " + want))
			Expect(requests(ctx, namespace, "components", "configmaps").Writes()).To(BeEmpty())
		},
		Entry("a missing sub-chart", needy, nil,
			"GenerateFailed: chart shop: Chart.yaml requires redis 1.2.3, which is missing "+
				"in the folder charts: add it with helm dependency build: helm dependency build DIR\n"),
		Entry("a missing sub-chart of a chart in a folder", inFolder("charts/shop", needy), []string{"--path", "charts/shop"},
			"GenerateFailed: chart shop: Chart.yaml requires redis 1.2.3, which is missing in the folder charts: add it with "+
				"helm dependency build: helm dependency build DIR/charts/shop\n"),
		Entry("a template with a mistake", []string{"a.yaml", "{{ if }}"}, nil,
			"GenerateFailed: parse template: a.yaml:1: missing value for if\n"),
		Entry("a value that the chart demands",
			[]string{"Chart.yaml", shopChart, "templates/a.yaml", `{{ required "name a zone" .Values.zone }}`}, nil,
			"GenerateFailed: chart shop: render template: shop/templates/a.yaml:1:3: executing "),
		Entry("a manifest without a name", []string{"a.yaml", "apiVersion: v1\nkind: ConfigMap\n"}, nil,
			"GenerateFailed: a.yaml (rendered):1: no metadata.name: give the object a name\n"),
		Entry("a setting that does not exist", []string{
			"a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {fairlead.io/order: much}}\n",
		}, nil, "InvalidManifests: ConfigMap "),
	)

	It("names the command for an archive, and for plan, diff and render", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder(needy...)
		r := fairlead(ctx, namespace, "apply", "shop", archiveOf(dir, "shop"))
		Expect(r).To(And(HaveField("Code", 2), HaveField("Err", HaveSuffix(
			"add it with helm dependency build, in the folder of the chart that the archive was packed from\n"))))
		for _, args := range [][]string{
			{"plan", "shop", dir},
			{"diff", "shop", dir},
			{"render", dir},
			{"rbac", "shop", "--dir", dir},
		} {
			r := fairlead(ctx, namespace, args...)
			Expect(r).To(And(HaveField("Code", 2), HaveField("Err", HaveSuffix(": helm dependency build "+dir+"\n"))))
		}
	})

	It("applies it all the same if it is told so", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		r := fairlead(ctx, namespace, "apply", "shop", folder(needy...), "--skip-plan")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		operate(namespace)
		Eventually(ctx, func() string { return messageOf(ctx, namespace) }).
			Should(HaveSuffix("which is missing in the folder charts: add it with helm dependency build"))
	})

	It("renders with the values and settings that the component keeps", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		files := []string{
			"Chart.yaml", shopChart,
			"templates/a.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {zone: {{ required \"name a zone\" .Values.zone }}}\n",
		}
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(files...), "--set", "zone=a")).To(HaveField("Code", 0))
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(append(files, "README.md", "more")...))).
			To(HaveField("Code", 0))
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(files...), "--set", "color=red")).To(HaveField("Code", 2))
	})

	It("leaves the decision to the operator where the person may not read what is rendered", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		login := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "values"},
			StringData: map[string]string{"values.yaml": "zone: a"},
		}
		Expect(k8s.Create(ctx, login)).To(Succeed())
		looking := []string{
			"Chart.yaml", shopChart, "templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n" +
				"  a: {{ required \"no values\" (lookup \"v1\" \"Secret\" .Release.Namespace \"values\").data | toString " +
				"| quote }}\n",
		}
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(looking...))).To(HaveField("Code", 0))

		user := must(kube.User(ctx, "applier-of-"+namespace))
		objectMeta := metav1.ObjectMeta{Namespace: namespace, Name: "applier"}
		Expect(k8s.Create(ctx, &rbacv1.Role{ObjectMeta: objectMeta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"fairlead.io"}, Resources: []string{"components"}, Verbs: []string{"get", "create", "update"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{
				"get", "list", "create",
				"patch", "delete",
			}},
		}})).To(Succeed())
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: objectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "applier"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "applier-of-" + namespace}},
		})).To(Succeed())
		Eventually(ctx, func() result {
			return run(ctx, "fairlead", "--kubeconfig", user.Kubeconfig, "-n", namespace, "apply", "shop",
				folder(append(looking, "b.yaml", "")...))
		}).Should(And(HaveField("Code", 0), HaveField("Err", HavePrefix("warning: there is no plan, ")),
			HaveField("Out", HaveSuffix("component.fairlead.io/shop updated\n"))))
	})
}))

var _ = Describe("a type that nobody serves and nothing defines", onCluster(func() {
	scaled := []string{
		"scaler.yaml", "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web, namespace: apps}\n",
		"settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
	}
	const missing = "ScaledObject.keda.sh is not served, and nothing here defines it; install what defines " +
		"version v1alpha1"

	It("is named by apply and plan at once, and --wait gives up on it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder(scaled...)
		Expect(fairlead(ctx, namespace, "plan", "shop", dir)).To(And(HaveField("Code", 1), HaveField("Out",
			ContainSubstring("  ScaledObject.keda.sh apps/web (wave 0): KindNotServed: "+missing+"\n"))))
		operate(namespace)
		begun := time.Now()
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--wait", "--unserved-timeout", "1s")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(Equal("warning: ScaledObject.keda.sh apps/web has to wait: " + missing + "\n" +
			"fairlead: gave up after 1s on component.fairlead.io/shop: waiting for ScaledObject.keda.sh apps/web " +
			"(KindNotServed: " +
			missing + "); it continues by itself when the types are served\n"))
		Expect(time.Since(begun)).To(BeNumerically("<", 15*time.Second))
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &corev1.ConfigMap{})).To(Succeed())
		ready := meta.FindStatusCondition(shopIn(ctx, namespace).Status.Conditions, metav1alpha1.ConditionReady)
		Expect(ready.Reason).To(Equal(metav1alpha1.ReasonKindNotServed))

		for _, args := range [][]string{{"reconcile", "shop"}, {"apply", "shop", dir}} {
			r := fairlead(ctx, namespace, append(args, "--wait", "--unserved-timeout", "10ms")...)
			Expect(r).To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("gave up after 10ms"))))
		}
	})

	It("is no reason to give up while something else is at work, or if a limit of zero says so", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder(append(scaled, "claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n"+
			"spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}\n")...)
		operate(namespace)
		for _, args := range [][]string{{dir, "--unserved-timeout", "10ms"}, {folder(scaled...), "--unserved-timeout", "0"}} {
			r := fairlead(ctx, namespace, append([]string{"apply", "shop", "--wait", "--timeout", "3s"}, args...)...)
			Expect(r).To(And(HaveField("Code", 1), HaveField("Err", ContainSubstring("timed out after 3s"))))
		}
	})

	It("is no type of an API that does not answer", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		group := "silent." + namespace + ".example.com"
		objects, err := manifests.Decode("service", []byte("apiVersion: apiregistration.k8s.io/v1\nkind: APIService\n"+
			"metadata: {name: v1."+group+"}\nspec: {group: "+group+
			", version: v1, groupPriorityMinimum: 1000, versionPriority: 1,\n"+
			"  insecureSkipTLSVerify: true, service: {namespace: "+namespace+", name: absent}}\n"))
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, objects[0])).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, objects[0])).To(Succeed()) })
		dir := folder("thing.yaml", "apiVersion: "+group+"/v1\nkind: Thing\nmetadata: {name: a}\n")
		Eventually(ctx, func() string { return fairlead(ctx, namespace, "plan", "shop", dir).Err }).
			Should(ContainSubstring("the operator would do nothing: Retrying: read the types that the API server serves"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(And(HaveField("Code", 0),
			HaveField("Err", HavePrefix("warning: there is no plan, so nothing is checked before the write: Retrying: "))))
	})

	It("is waited for until it comes, and is not missing if the set defines it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		group := namespace + ".example.com"
		definition := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things." +
			group + "}\n" +
			"spec:\n  group: " + group + "\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n  versions:\n" +
			"  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n"
		thing := "apiVersion: " + group + "/v1\nkind: Thing\nmetadata: {name: a}\n"
		operate(namespace)

		p := start(ctx, namespace, "apply", "shop", folder("thing.yaml", thing), "--wait", "--unserved-timeout", "1m")
		Eventually(p.out).Should(gbytes.Say("Thing." + group + " is not served, and nothing here defines it"))
		objects, err := manifests.Decode("definition", []byte(definition))
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, objects[0])).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(k8s.Delete(ctx, &unstructured.Unstructured{Object: objects[0].Object}))).To(Succeed())
		})
		Eventually(ctx, p.code).Should(Receive(Equal(0)))

		other := newNamespace(ctx)
		operate(other)
		chart := folder("Chart.yaml", shopChart, "crds/things.yaml", strings.ReplaceAll(definition, group, "in."+group),
			"templates/thing.yaml", strings.ReplaceAll(thing, group, "in."+group))
		r := fairlead(ctx, other, "apply", "shop", chart, "--wait", "--unserved-timeout", "10ms")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err",
			"warning: not checked: Thing.in."+group+" "+other+"/a: its type is not defined yet\n")))
		Expect(fairlead(ctx, other, "delete", "shop", "--wait")).To(HaveField("Code", 0))
	})
}))

// inFolder moves files into a folder.
func inFolder(top string, files []string) []string {
	var moved []string
	for i := 0; i < len(files); i += 2 {
		moved = append(moved, top+"/"+files[i], files[i+1])
	}
	return moved
}
