package cli_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// theirs creates a ConfigMap of somebody else.
func theirs(ctx context.Context, namespace, name string, data map[string]string, annotations ...string) {
	GinkgoHelper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
	for i := 0; i+1 < len(annotations); i += 2 {
		metav1.SetMetaDataAnnotation(&obj.ObjectMeta, annotations[i], annotations[i+1])
	}
	Expect(k8s.Create(ctx, obj, client.FieldOwner("kubectl-create"))).To(Succeed())
}

// owned creates a ConfigMap that a component of this namespace owns in a cluster.
func owned(ctx context.Context, namespace, name, cluster, component string) {
	GinkgoHelper()
	owner := manifests.Owner{
		Cluster: cluster, Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component", Namespace: namespace,
		Name: component,
	}
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"fairlead.io/owner-id": owner.ID()},
			Annotations: map[string]string{"fairlead.io/owner-id": owner.String()},
		},
		Data: map[string]string{"color": "blue"},
	}
	Expect(k8s.Create(ctx, obj, client.FieldOwner("fairlead.io"))).To(Succeed())
}

// settingsFile returns a manifest of a ConfigMap.
func settingsFile(name, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: %s\n", name, data)
}

// expectNothing checks that neither the component "shop" nor a source was written.
func expectNothing(ctx context.Context, namespace string) {
	GinkgoHelper()
	err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "shop"}, &v1alpha1.Component{})
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	Expect(err).To(HaveOccurred())
	Expect(sources(ctx, namespace)).To(BeEmpty())
	Expect(requests(ctx, namespace, "components", "configmaps").Writes()).To(BeEmpty())
}

// isReady returns the status and the reason of the condition Ready for the current generation of the component "shop".
func isReady(ctx context.Context, namespace string) string {
	GinkgoHelper()
	c := shopIn(ctx, namespace)
	ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || c.Status.ObservedGeneration != c.Generation {
		return ""
	}
	return string(ready.Status) + " " + ready.Reason + " " + ready.Message
}

// ruleOf returns the entry of spec.adopt for a ConfigMap that exists.
func ruleOf(ctx context.Context, namespace, name string) metav1alpha1.AdoptRule {
	GinkgoHelper()
	obj := &corev1.ConfigMap{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)).To(Succeed())
	return metav1alpha1.AdoptRule{Kind: "ConfigMap", Namespace: namespace, Name: name, UID: obj.UID}
}

func settingsIn(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	obj := &corev1.ConfigMap{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, obj)).To(Succeed())
	return obj.Data
}

var _ = Describe("apply, over objects that exist", onCluster(func() {
	It("lists who has them and what gets lost, and takes them over only with --adopt", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		theirs(ctx, namespace, "settings", map[string]string{"color": "blue", "other": "1", "third": "2"})
		dir := folder("settings.yaml", settingsFile("settings", "{color: red}"))

		r := fairlead(ctx, namespace, "apply", "shop", dir, "--wait")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(BeEmpty())
		Expect(r.Err).To(Equal("would adopt ConfigMap " + namespace + "/settings from field manager kubectl-create\n" +
			"  lost: data.color: \"blue\" becomes \"red\"\n  lost: data.other: \"1\"\n  lost: data.third: \"2\"\n" +
			"fairlead: component.fairlead.io/shop is not applied, and nothing was written: existing objects " +
			"would be taken over (1); rename them in the source, or add --adopt if those who have them now may lose them\n"))
		expectNothing(ctx, namespace)

		r = fairlead(ctx, namespace, "plan", "shop", dir)
		Expect(r.Code).To(Equal(0))
		Expect(r.Out).To(ContainSubstring("\nTaken over:\n  ConfigMap " + namespace +
			"/settings from field manager kubectl-create\n" +
			"    lost: data.color: \"blue\" becomes \"red\"\n    lost: data.other: \"1\"\n"))
		Expect(r.Err).To(Equal("warning: fairlead apply takes over existing objects (1) only with --adopt\n"))

		r = fairlead(ctx, namespace, "apply", "shop", dir, "--adopt", "--wait")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(r.Out).To(HavePrefix("adopting ConfigMap " + namespace + "/settings from field manager kubectl-create\n"))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveExactElements(ruleOf(ctx, namespace, "settings")))
		Expect(settingsIn(ctx, namespace)).To(Equal(map[string]string{"color": "red"}))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).
			To(Equal(result{Out: "component.fairlead.io/shop unchanged\n"}))
	})

	It("names the Helm release that they belong to", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		var files, names []string
		for i := range 9 {
			names = append(names, fmt.Sprintf("part-%d", i))
			files = append(files, names[i]+".yaml", settingsFile(names[i], "{a: b}"))
			theirs(ctx, namespace, names[i], map[string]string{"a": "b"},
				"meta.helm.sh/release-name", "web", "meta.helm.sh/release-namespace", namespace)
		}
		r := fairlead(ctx, namespace, "apply", "shop", folder(files...))
		Expect(r).To(And(HaveField("Code", 1), HaveField("Out", "")))
		for _, name := range names {
			Expect(r.Err).To(ContainSubstring("would adopt ConfigMap " + namespace + "/" + name + " from the Helm release " +
				namespace + "/web\n"))
		}
		Expect(r.Err).To(ContainSubstring("existing objects would be taken over (9)"))
		expectNothing(ctx, namespace)

		r = fairlead(ctx, namespace, "apply", "shop", folder(files...), "--adopt", "--wait")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		record := "while Helm has a record of the release " + namespace +
			"/web, helm uninstall would delete the adopted objects; " +
			"helm get manifest -n " + namespace +
			" web lists the objects of the release; when the component is ready and contains all of " +
			"them, remove only the record, with the history and the values in it: kubectl delete secret -n " + namespace +
			" -l owner=helm,name=web\n"
		Expect(strings.Count(r.Out, record)).To(Equal(1), r.Out)
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveLen(9))
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(files...))).
			To(HaveField("Out", Not(ContainSubstring("Helm"))))
	})

	It("refuses to change a component that another component, a controller or a Helm "+
		"release writes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		parent := manifests.Owner{
			Cluster: "c", Reconciler: "parent.example.com", Group: "example.com", Kind: "Parent",
			Namespace: "up", Name: "all",
		}
		isController := true
		for name, mark := range map[string]func(*v1alpha1.Component){
			"Parent.example.com up/all (reconciler parent.example.com)": func(c *v1alpha1.Component) {
				c.Labels = map[string]string{"parent.example.com/owner-id": parent.ID()}
				c.Annotations = map[string]string{"parent.example.com/owner-id": parent.String()}
			},
			"Tenant blue": func(c *v1alpha1.Component) {
				c.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: "example.com/v1", Kind: "Tenant", Name: "blue", UID: "u",
					Controller: &isController,
				}}
			},
			"the Helm release " + namespace + "/web": func(c *v1alpha1.Component) {
				c.Annotations = map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": namespace}
			},
		} {
			c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
			c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"a.yaml": "{apiVersion: v1, kind: " +
				"ConfigMap, metadata: {name: a}}"}}
			mark(c)
			Expect(k8s.Create(ctx, c)).To(Succeed())
			dir := folder("b.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}")
			r := fairlead(ctx, namespace, "apply", "shop", dir)
			Expect(r).To(And(HaveField("Code", 1),
				HaveField("Err", ContainSubstring("it is written by "+name+", which may change it back"))))
			Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--skip-plan")).To(Equal(r))
			Expect(shopIn(ctx, namespace).Spec.Source.Inline).NotTo(BeNil())
			r = fairlead(ctx, namespace, "apply", "shop", dir, "--adopt")
			Expect(r).To(And(HaveField("Code", 0), HaveField("Err", ContainSubstring("is written by "+name))))
			r = fairlead(ctx, namespace, "delete", "shop")
			Expect(r).To(And(HaveField("Code", 0),
				HaveField("Err", ContainSubstring("is written by "+name+", which may create it again"))))
			Eventually(ctx, func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(c), &v1alpha1.Component{}) }).
				Should(MatchError(apierrors.IsNotFound, "not found"))
		}
	})

	It("withholds values of Secrets", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "login"},
			StringData: map[string]string{"password": "hush"},
		}, client.FieldOwner("kubectl-create"))).To(Succeed())
		r := fairlead(ctx, namespace, "apply", "shop",
			folder("login.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {user: eve}\n"))
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(And(ContainSubstring("lost: data.password (its value is withheld"), Not(ContainSubstring("hush")),
			Not(ContainSubstring("aHVzaA"))))
	})

	It("reports all reasons at once: an adoption, an object of another component, and what the API "+
		"server refuses", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		other := manifests.Owner{
			Cluster: "c", Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component", Namespace: namespace,
			Name: "other",
		}
		taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "taken",
			Labels:      map[string]string{"fairlead.io/owner-id": other.ID()},
			Annotations: map[string]string{"fairlead.io/owner-id": other.String()},
		}}
		Expect(k8s.Create(ctx, taken)).To(Succeed())
		theirs(ctx, namespace, "settings", nil)
		dir := folder("settings.yaml", settingsFile("settings", "{}"), "taken.yaml", settingsFile("taken", "{}"),
			"web.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n    - port: 100000\n")
		r := fairlead(ctx, namespace, "apply", "shop", dir)
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(And(
			ContainSubstring("would adopt ConfigMap "+namespace+"/settings from "),
			ContainSubstring("refused: ConfigMap "+namespace+"/taken (taken.yaml): OwnershipConflict: it is owned by "),
			ContainSubstring("refused: Service "+namespace+
				"/web (web.yaml:7): Invalid: spec.ports[0].port: Invalid value: 100000"),
			ContainSubstring("existing objects would be taken over (1); rename them in the source, or add --adopt if those who "+
				"have them now may lose them; objects would be refused (2); correct them\n"),
		))
		expectNothing(ctx, namespace)
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--adopt")).To(And(HaveField("Code", 1),
			HaveField("Err", ContainSubstring("objects would be refused (2)"))))
		expectNothing(ctx, namespace)
	})

	It("names the files of an object that is rendered more than once, also of a component "+
		"in the cluster", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("one.yaml", settingsFile("settings", "{}"), "two.yaml", "# two\n"+settingsFile("settings", "{a: b}"))
		named := ContainSubstring("ConfigMap " + namespace + "/settings is rendered by one.yaml, two.yaml")
		for _, command := range []string{"apply", "plan", "diff"} {
			Expect(fairlead(ctx, namespace, command, "shop", dir)).To(And(HaveField("Code", 2), HaveField("Err", named)),
				command)
		}
		expectNothing(ctx, namespace)

		component := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		component.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{
			"one.yaml": settingsFile("settings", "{}"), "two.yaml": "# two\n" + settingsFile("settings", "{a: b}"),
		}}
		Expect(k8s.Create(ctx, component)).To(Succeed())
		Expect(fairlead(ctx, namespace, "plan", "shop")).To(And(HaveField("Code", 1), HaveField("Err", named)))
		Expect(fairlead(ctx, namespace, "rbac", "shop")).To(HaveField("Err", named))
	})

	DescribeTable("refuses a set with an object that no API server can store", func(ctx SpecContext, bad, want string) {
		namespace := newNamespace(ctx)
		dir := folder("good.yaml", settingsFile("good", "{}"), "bad.yaml", bad)
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(And(HaveField("Code", 1),
			HaveField("Err", And(ContainSubstring(want), ContainSubstring("objects would be refused (1)"),
				Not(ContainSubstring("not checked"))))))
		expectNothing(ctx, namespace)
	},
		Entry("a quantity with a space",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: bad}\n"+
				"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10 GB}}}\n", "quantities must match"),
		Entry("bytes that are not encoded",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\nbinaryData: {a: '%%%'}\n", "illegal base64 data"),
		Entry("a type without stored objects",
			"apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nmetadata: {name: bad}\nspec: {token: x}\n",
			"cannot be a dependent"),
	)

	It("does not let the operator take over an object that appears after the plan", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("settings.yaml", settingsFile("settings", "{color: red}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(And(BeEmpty(), Not(BeNil())))
		theirs(ctx, namespace, "settings", map[string]string{"color": "blue"})
		operate(namespace)
		Eventually(ctx, func() string { return isReady(ctx, namespace) }).Should(HavePrefix("False OwnershipConflict "))
		Expect(settingsIn(ctx, namespace)).To(Equal(map[string]string{"color": "blue"}))
		Expect(fairlead(ctx, namespace, "plan", "shop")).To(And(HaveField("Code", 1), HaveField("Out", And(
			ContainSubstring("\nTaken over, if spec.adopt permits it:\n  ConfigMap "+namespace+
				"/settings from field manager kubectl-create\n"+
				"    lost: data.color: \"blue\" becomes \"red\"\n"), Not(ContainSubstring("\nTaken over:"))))))

		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(And(HaveField("Code", 0), HaveField("Err", "")),
			"nothing is written, so nothing is checked")
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--adopt", "--wait")
		Expect(r).To(And(HaveField("Code", 0),
			HaveField("Out", HavePrefix("adopting ConfigMap "+namespace+"/settings from "))))
		Expect(settingsIn(ctx, namespace)).To(Equal(map[string]string{"color": "red"}))
	})

	It("does not let the operator take over an object that replaces a listed one after the plan", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("settings.yaml", settingsFile("settings", "{color: red}"))
		theirs(ctx, namespace, "settings", map[string]string{"color": "blue"})
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--adopt")).To(HaveField("Code", 0))
		shown := ruleOf(ctx, namespace, "settings")
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveExactElements(shown))

		Expect(k8s.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}})).
			To(Succeed())
		theirs(ctx, namespace, "settings", map[string]string{"precious": "x"})
		now := ruleOf(ctx, namespace, "settings")
		operate(namespace)
		Eventually(ctx, func() string { return isReady(ctx, namespace) }).Should(And(HavePrefix("False OwnershipConflict "),
			ContainSubstring(fmt.Sprintf("it is another object than the one that was confirmed: spec.adopt permits "+
				"the object with "+
				"the UID %s, and it has the UID %s", shown.UID, now.UID))))
		Expect(settingsIn(ctx, namespace)).To(Equal(map[string]string{"precious": "x"}))

		changed := folder("settings.yaml", settingsFile("settings", "{color: green}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", changed)).To(And(HaveField("Code", 1), HaveField("Err", And(
			HavePrefix("would adopt ConfigMap "+namespace+"/settings from field manager kubectl-create\n"),
			ContainSubstring("  lost: data.precious: \"x\"\n"), Not(ContainSubstring("permits some of them already"))))))
		Expect(fairlead(ctx, namespace, "apply", "shop", changed, "--adopt", "--wait")).To(HaveField("Code", 0))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveExactElements(now))
		Expect(settingsIn(ctx, namespace)).To(Equal(map[string]string{"color": "green"}))
	})

	It("keeps the list of a component, and adds to it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		theirs(ctx, namespace, "a", nil)
		theirs(ctx, namespace, "b", nil)
		named := metav1alpha1.AdoptRule{Kind: "ConfigMap", Name: "a"}
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"web.yaml": ""}}
		c.Spec.Adopt = []metav1alpha1.AdoptRule{named}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		files := []string{"a.yaml", settingsFile("a", "{}")}
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(files...), "--adopt")).
			To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveExactElements(named))

		files = append(files, "b.yaml", settingsFile("b", "{}"))
		r := fairlead(ctx, namespace, "apply", "shop", folder(files...))
		Expect(r).To(And(HaveField("Code", 1),
			HaveField("Err", ContainSubstring("existing objects would be taken over (2)"))))
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(files...), "--adopt").Code).To(Equal(0))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveExactElements(
			named, ruleOf(ctx, namespace, "b")))
	})

	It("leaves a component without a list as it is, and writes one with --adopt", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"web.yaml": ""}}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("a.yaml", settingsFile("a", "{}"))).Code).To(Equal(0))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(BeNil())
		theirs(ctx, namespace, "b", nil)
		dir := folder("b.yaml", settingsFile("b", "{}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(1))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--adopt").Code).To(Equal(0))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveLen(1))
	})

	It("takes over what the component owned in another cluster with --adopt-cluster", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		const there = "0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e"
		previous := manifests.Owner{
			Cluster: there, Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component", Namespace: namespace,
			Name: "shop",
		}
		Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "settings",
			Labels:      map[string]string{"fairlead.io/owner-id": previous.ID()},
			Annotations: map[string]string{"fairlead.io/owner-id": previous.String()},
		}})).To(Succeed())
		operate(namespace)
		dir := folder("settings.yaml", settingsFile("settings", "{color: red}"))
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--adopt")
		Expect(r).To(And(HaveField("Code", 1),
			HaveField("Err", ContainSubstring("(fairlead apply -n "+namespace+" shop DIR --adopt-cluster "+there+")"))))
		expectNothing(ctx, namespace)
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--adopt-cluster", there, "--wait")).To(HaveField("Code", 0))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveExactElements(metav1alpha1.AdoptRule{Cluster: there}))
		Expect(settingsIn(ctx, namespace)).To(Equal(map[string]string{"color": "red"}))
	})

	It("takes over what the component owned in another cluster without a warning, and lists it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		const there = "0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e"
		owned(ctx, namespace, "settings", there, "shop")
		r := fairlead(ctx, namespace, "apply", "shop", folder("settings.yaml", settingsFile("settings", "{color: red}")),
			"--adopt-cluster", there)
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(r.Out).To(HavePrefix("adopting ConfigMap " + namespace + "/settings from "))
	})

	It("warns of what the component owned in another cluster and its source does not "+
		"have any more", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		const there = "0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e"
		owned(ctx, namespace, "settings", there, "shop")
		owned(ctx, namespace, "left", there, "shop")
		owned(ctx, namespace, "others", there, "other")
		r := fairlead(ctx, namespace, "apply", "shop", folder("settings.yaml", settingsFile("settings", "{color: red}")),
			"--adopt-cluster", there)
		Expect(r).To(And(HaveField("Code", 0),
			HaveField("Err", Equal("warning: ConfigMap "+namespace+"/left belonged to the "+
				"component in the previous cluster, and the source does not contain it: it stays, also when the component "+
				"is deleted\n"))))
	})

	It("lists an object of another component that the adoption policy takes over", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for i, settings := range []string{"", ", fairlead.io/update-policy: replace"} {
			name := fmt.Sprintf("settings-%d", i)
			owned(ctx, namespace, name, "c", "other")
			dir := folder("settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+
				", annotations: {fairlead.io/adoption-policy: always"+settings+"}}\ndata: {color: red}\n")
			r := fairlead(ctx, namespace, "apply", "shop", dir)
			Expect(r).To(And(HaveField("Code", 1), HaveField("Out", "")))
			Expect(r.Err).To(And(MatchRegexp("^would adopt ConfigMap "+namespace+"/"+name+" from [^\n]*/other"),
				ContainSubstring("  lost: data.color: \"blue\" becomes \"red\"\n"),
				ContainSubstring("existing objects would be taken over (1)"), Not(ContainSubstring("not checked"))))
			expectNothing(ctx, namespace)
		}
	})

	It("shows in the plan of a move, and in its difference, who loses the object", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		applied(ctx, namespace, folder("settings.yaml", settingsFile("settings", "{color: blue}")))
		moving := folder("settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, annotations: "+
			"{fairlead.io/adoption-policy: always}}\ndata: {color: blue}\n")
		from := " from Component.fairlead.io " + namespace + "/shop (reconciler fairlead.io)\n"
		r := fairlead(ctx, namespace, "plan", "other", moving)
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", And(
			ContainSubstring("\nTaken over:\n  ConfigMap "+namespace+"/settings"+from),
			Not(ContainSubstring("ChangedMeanwhile"))))))
		r = fairlead(ctx, namespace, "diff", "other", moving)
		Expect(r).To(And(HaveField("Code", 1), HaveField("Err", Not(ContainSubstring("ChangedMeanwhile"))),
			HaveField("Out", ContainSubstring("# ConfigMap "+namespace+"/settings is taken over"+from))))
	})

	It("uses an entry once, and asks again about an object that somebody else creates later", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		theirs(ctx, namespace, "settings", map[string]string{"color": "blue"})
		with := folder("settings.yaml", settingsFile("settings", "{color: red}"), "other.yaml", settingsFile("other", "{}"))
		without := folder("other.yaml", settingsFile("other", "{}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", with, "--adopt", "--wait")).To(HaveField("Code", 0))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveLen(1))
		Expect(fairlead(ctx, namespace, "apply", "shop", without, "--wait")).
			To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(And(BeEmpty(), Not(BeNil())))
		Eventually(ctx, func() error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &corev1.ConfigMap{})
		}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		theirs(ctx, namespace, "settings", map[string]string{"color": "blue"},
			"meta.helm.sh/release-name", "web", "meta.helm.sh/release-namespace", namespace)
		Expect(fairlead(ctx, namespace, "apply", "shop", with)).To(And(HaveField("Code", 1), HaveField("Err",
			HavePrefix("would adopt ConfigMap "+namespace+"/settings from the Helm release "+namespace+"/web\n"))))
	})

	DescribeTable("asks again about an object that was purged after its adoption, and says that "+
		"it is deleted", func(ctx SpecContext, lost string, source ...string) {
		namespace := newNamespace(ctx)
		operate(namespace)
		precious := map[string]string{"precious": "x"}
		read := func() error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "purged"}, &corev1.ConfigMap{})
		}
		lines := "ConfigMap " + namespace + "/purged from field manager kubectl-create\n" +
			"  lost: the whole object, because it is deleted afterwards\n" + lost
		theirs(ctx, namespace, "purged", precious)
		dir := folder(source...)
		Expect(fairlead(ctx, namespace, "plan", "shop", dir).Out).To(ContainSubstring(
			"\nTaken over:\n  " + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n  ") + "\n"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).
			To(And(HaveField("Code", 1), HaveField("Err", HavePrefix("would adopt "+lines))))
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--adopt", "--wait")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", HavePrefix("adopting "+lines))))
		Eventually(ctx, read).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveLen(1))

		theirs(ctx, namespace, "purged", precious)
		last := len(source) - 1
		changed := folder(append(slices.Clone(source[:last]), strings.ReplaceAll(source[last], "data: {}",
			"data: {version: two}"))...)
		Expect(fairlead(ctx, namespace, "apply", "shop", changed)).To(And(HaveField("Code", 1), HaveField("Out", ""),
			HaveField("Err", HavePrefix("would adopt "+lines))))
		Expect(read()).To(Succeed())
		Expect(fairlead(ctx, namespace, "apply", "shop", changed, "--adopt", "--wait")).To(HaveField("Code", 0))
		Eventually(ctx, read).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveLen(1))
	},
		Entry("by a purge order", "  lost: data.precious: \"x\"\n", "purged.yaml", "apiVersion: v1\nkind: ConfigMap\n"+
			"metadata: {name: purged, annotations: {fairlead.io/purge-order: \"1\"}}\ndata: {}\n"),
		Entry("as a hook of a chart", "", "Chart.yaml", shopChart, "templates/purged.yaml",
			"apiVersion: v1\nkind: ConfigMap\n"+
				"metadata: {name: purged, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", "+
				"helm.sh/hook-delete-policy: \"before-hook-creation,hook-succeeded\"}}\ndata: {}\n"),
	)

	It("lists what the deletion of the component would take over and delete", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		inPhase := func(name string) string {
			return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name +
				", annotations: {fairlead.io/phase: pre-delete}}\ndata: {a: b}\n"
		}
		theirs(ctx, namespace, "bye", map[string]string{"precious": "x"})
		owned(ctx, namespace, "others", "c", "other")
		source := []string{
			"bye.yaml", inPhase("bye"), "new.yaml", inPhase("new"), "others.yaml", inPhase("others"),
			"settings.yaml", settingsFile("settings", "{}"),
		}
		lines := "ConfigMap " + namespace + "/bye from field manager kubectl-create, when the component is deleted\n" +
			"  lost: the whole object, because it is deleted afterwards\n  lost: data.precious: \"x\"\n"
		r := fairlead(ctx, namespace, "apply", "shop", folder(source...))
		Expect(r).To(And(HaveField("Code", 1), HaveField("Out", "")))
		Expect(r.Err).To(And(HavePrefix("would adopt "+lines), Not(ContainSubstring(namespace+"/new")),
			ContainSubstring("existing objects would be taken over (1)"),
			ContainSubstring("warning: the deletion of the component would wait for ConfigMap "+namespace+
				"/others: it is owned by ")))
		expectNothing(ctx, namespace)
		r = fairlead(ctx, namespace, "plan", "shop", folder(source...))
		Expect(r.Out).To(And(
			ContainSubstring("\nTaken over:\n  "+strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n  ")+"\n"),
			ContainSubstring("\nThe deletion of the component would wait for:\n  ConfigMap "+namespace+
				"/others (wave 0): OwnershipConflict: "),
			Not(ContainSubstring(namespace+"/new"))))
		Expect(r.Err).To(Equal("warning: fairlead apply takes over existing objects (1) only with --adopt\n"))

		source = append(source[:4], source[6:]...)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(source...), "--adopt", "--wait")).To(And(HaveField("Code", 0),
			HaveField("Err", ""), HaveField("Out", HavePrefix("adopting "+lines))))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(HaveExactElements(ruleOf(ctx, namespace, "bye")))
		source = append(source, "more.yaml", settingsFile("more", "{}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(source...), "--wait")).To(And(HaveField("Code", 0),
			HaveField("Err", ""), HaveField("Out", HavePrefix("adopting "+lines))))
		Expect(fairlead(ctx, namespace, "delete", "shop", "--wait")).To(HaveField("Code", 0))
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "bye"}, &corev1.ConfigMap{})).
			To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("asks again about what an earlier entry permits", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		theirs(ctx, namespace, "a", map[string]string{"color": "blue"})
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"web.yaml": ""}}
		c.Spec.Adopt = []metav1alpha1.AdoptRule{{Kind: "ConfigMap", Name: "a"}}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		dir := folder("a.yaml", settingsFile("a", "{}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(And(HaveField("Code", 1), HaveField("Out", ""),
			HaveField("Err", And(HavePrefix("would adopt ConfigMap "+namespace+"/a from field manager kubectl-create\n"),
				ContainSubstring("existing objects would be taken over (1); "),
				ContainSubstring("; spec.adopt permits some of them already (1), "+
					"so the operator takes them over also without this apply; remove these entries if they are outdated\n")))))
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--adopt")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", ""),
			HaveField("Out", HavePrefix("adopting ConfigMap "+namespace+"/a from field manager kubectl-create\n"))))
	})

	It("does not list a generated value as lost that is kept, of an object that the "+
		"component released", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		chart := folder("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}", "templates/login.yaml",
			"apiVersion: v1\nkind: Secret\n"+
				"metadata: {name: login, annotations: {fairlead.io/delete-policy: orphan}}\n"+
				"stringData: {password: {{ randAlphaNum 16 }}, user: {{ .Values.user }}}\n",
			"values.yaml", "user: admin\n")
		Expect(fairlead(ctx, namespace, "apply", "shop", chart, "--wait")).To(HaveField("Code", 0))
		key, login := client.ObjectKey{Namespace: namespace, Name: "login"}, &corev1.Secret{}
		Expect(k8s.Get(ctx, key, login)).To(Succeed())
		Expect(fairlead(ctx, namespace, "delete", "shop", "--wait")).To(HaveField("Code", 0))

		r := fairlead(ctx, namespace, "apply", "shop", chart, "--set", "user=root", "--wait")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", ""),
			HaveField("Out", HavePrefix("adopting Secret "+namespace+"/login from nobody\n"))))
		Expect(r.Out).To(And(ContainSubstring("lost: data.user"), Not(ContainSubstring("password"))))
		adopted := &corev1.Secret{}
		Expect(k8s.Get(ctx, key, adopted)).To(Succeed())
		Expect(adopted.Data["password"]).To(Equal(login.Data["password"]))
		Expect(string(adopted.Data["user"])).To(Equal("root"))
	})

	It("takes back what the component released without --adopt, and lists it with what gets lost", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		kept := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {fairlead.io/delete-policy: " +
			"orphan}}\ndata: {color: red}\n"
		dir := folder("kept.yaml", kept, "web.yaml", settingsFile("web", "{}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--wait")).To(HaveField("Code", 0))
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", settingsFile("web", "{}")), "--wait")).
			To(HaveField("Code", 0))
		key := client.ObjectKey{Namespace: namespace, Name: "kept"}
		released := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, key, released)).To(Succeed())
		Expect(released.Annotations).To(HaveKeyWithValue("fairlead.io/released-by", HaveSuffix("/"+namespace+"/shop")))
		released.Data["color"] = "blue"
		Expect(k8s.Update(ctx, released)).To(Succeed())

		lines := "adopting ConfigMap " + namespace + "/kept from nobody\n  lost: data.color: \"blue\" becomes \"red\"\n"
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--wait")).To(And(HaveField("Code", 0), HaveField("Err", ""),
			HaveField("Out", HavePrefix(lines))))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(BeEmpty())
		adopted := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, key, adopted)).To(Succeed())
		Expect(adopted.UID).To(Equal(released.UID))
		Expect(adopted.Annotations).NotTo(HaveKey("fairlead.io/released-by"))

		By("also if the component is created again")
		Expect(fairlead(ctx, namespace, "delete", "shop", "--wait")).To(HaveField("Code", 0))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--wait")).To(And(HaveField("Code", 0), HaveField("Err", ""),
			HaveField("Out", HavePrefix("adopting ConfigMap "+namespace+"/kept from nobody\n"))))
	})

	DescribeTable("refuses flags that contradict each other", func(ctx SpecContext, want string, args ...string) {
		r := fairlead(ctx, "default", append([]string{"apply", "shop", folder("a.yaml", "")}, args...)...)
		Expect(r).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring(want))))
	},
		Entry("an adoption without a plan", "leave --skip-plan out", "--adopt", "--skip-plan"),
		Entry("a cluster that is no UID", `--adopt-cluster "prod": want the UID of the namespace kube-system`,
			"--adopt-cluster", "prod"),
		Entry("the previous name of a flag", "--skip-render-check is now --skip-plan", "--skip-render-check"),
	)
}))

var _ = Describe("the plan of apply", onCluster(func() {
	It("refuses another target of a component with dependents before the write", func(ctx SpecContext) {
		namespace, other := newNamespace(ctx), newNamespace(ctx)
		operate(namespace)
		dir := folder("settings.yaml", settingsFile("settings", "{color: red}"))
		applied(ctx, namespace, dir)
		before := shopIn(ctx, namespace)
		for _, args := range [][]string{{"--target-namespace", other}, {"--target-name", "other"}} {
			r := fairlead(ctx, namespace, append([]string{"apply", "shop", dir}, args...)...)
			Expect(r).To(And(HaveField("Code", 1), HaveField("Out", ""), HaveField("Err", MatchRegexp(
				"^fairlead: component.fairlead.io/shop is not applied: InvalidSpec: target .* cannot change to .* while the "+
					"component has 1 dependent"))))
		}
		Expect(shopIn(ctx, namespace).ResourceVersion).To(Equal(before.ResourceVersion))

		Expect(fairlead(ctx, namespace, "suspend", "shop").Code).To(Equal(0))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--target-namespace", other)).To(HaveField("Code", 1))
	})

	It("asks also about a suspended component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"web.yaml": ""}}
		c.Spec.Suspend = true
		Expect(k8s.Create(ctx, c)).To(Succeed())
		theirs(ctx, namespace, "settings", nil)
		dir := folder("settings.yaml", settingsFile("settings", "{color: red}"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(And(HaveField("Code", 1),
			HaveField("Err", ContainSubstring("existing objects would be taken over (1)"))))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--adopt")).To(HaveField("Code", 0))
	})

	It("is left out if nothing changes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("settings.yaml", settingsFile("settings", "{color: red}"))
		dryRuns := func() int {
			events, err := kube.AuditEvents(ctx)
			Expect(err).NotTo(HaveOccurred())
			return len(events.Where(func(e testcluster.Event) bool { return e.Namespace == namespace && isDryRun(e) }))
		}
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).To(HaveField("Code", 0))
		planned := dryRuns()
		Expect(planned).To(Equal(1))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).
			To(Equal(result{Out: "component.fairlead.io/shop unchanged\n"}))
		Expect(dryRuns()).To(Equal(planned))
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("a.yaml", settingsFile("a", "{}")), "--skip-plan")).
			To(HaveField("Code", 0))
		Expect(dryRuns()).To(Equal(planned))
	})

	DescribeTable("goes on, and says so, where nobody can know the result of a write", func(
		ctx SpecContext, prepare func(ctx context.Context, namespace string), manifest string, want ...string,
	) {
		namespace := newNamespace(ctx)
		if prepare != nil {
			prepare(ctx, namespace)
		}
		content := strings.ReplaceAll(manifest, "NAMESPACE", namespace)
		r := fairlead(ctx, namespace, "apply", "shop", folder("a.yaml", content))
		Expect(r.Code).To(Equal(0), r.Err)
		for _, text := range want {
			Expect(r.Err).To(ContainSubstring(strings.ReplaceAll(text, "NAMESPACE", namespace)))
		}
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(And(BeEmpty(), Not(BeNil())))
	},
		Entry("an exceeded quota", func(ctx context.Context, namespace string) {
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"}}
			quota.Spec.Hard = corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse("0")}
			Expect(k8s.Create(ctx, quota)).To(Succeed())
			quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
			Expect(k8s.Status().Update(ctx, quota)).To(Succeed())
			probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}
			Eventually(ctx, func() error { return k8s.Create(ctx, probe.DeepCopy(), client.DryRunAll) }).ShouldNot(Succeed())
		}, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
			"warning: not checked: Secret NAMESPACE/a: Forbidden: ", "exceeded quota: few"),
		Entry("objects in a namespace of the set", nil,
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE-x}\n---\napiVersion: v1\nkind: ConfigMap\n"+
				"metadata: {name: a, namespace: NAMESPACE-x}\n---\napiVersion: v1\nkind: ConfigMap\n"+
				"metadata: {name: b, namespace: NAMESPACE-x}\n",
			"warning: not checked: ConfigMap NAMESPACE-x/a and 1 more: its namespace does not exist yet\n"),
		Entry("a type that nobody serves", nil, "apiVersion: example.com/v1\nkind: Unheard\nmetadata: {name: a}\n",
			"warning: Unheard.example.com a has to wait: "),
	)

	It("goes on without a plan if the person may not read what it needs, and closes the list "+
		"of adoptions", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "values"},
			StringData: map[string]string{"values.yaml": "zone: a"},
		})).To(Succeed())
		allow(ctx, namespace, "applier", "fairlead-components-editor")
		objectMeta := metav1.ObjectMeta{Namespace: namespace, Name: "publisher"}
		Expect(k8s.Create(ctx, &rbacv1.Role{ObjectMeta: objectMeta, Rules: []rbacv1.PolicyRule{
			ruleFor("configmaps", "get", "list", "create", "patch", "delete"),
		}})).To(Succeed())
		Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: objectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "publisher"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "applier"}},
		})).To(Succeed())
		dir := folder("Chart.yaml", shopChart, "templates/a.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"+
				"  a: {{ required \"no values\" (lookup \"v1\" \"Secret\" .Release.Namespace \"values\").data | toString "+
				"| quote }}\n")
		var r result
		Eventually(ctx, func() int {
			r = fairlead(ctx, namespace, "apply", "shop", dir, "--as=applier")
			return r.Code
		}).Should(Equal(0), func() string { return r.Err })
		Expect(r.Err).To(HavePrefix("warning: there is no plan, so nothing is checked before the write: "))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(And(BeEmpty(), Not(BeNil())))

		c := shopIn(ctx, namespace)
		c.Spec.Adopt = nil
		Expect(k8s.Update(ctx, c)).To(Succeed())
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--as=applier", "--set", "b=2")).To(HaveField("Code", 0))
		Expect(shopIn(ctx, namespace).Spec.Adopt).To(And(BeEmpty(), Not(BeNil())), "also of a component that had none")

		before := shopIn(ctx, namespace).ResourceVersion
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--adopt", "--as=applier")).
			To(And(HaveField("Code", 3), HaveField("Out", ""),
				HaveField("Err", ContainSubstring("is not applied: there is no plan, so --adopt would permit nothing: "))))
		Expect(shopIn(ctx, namespace).ResourceVersion).To(Equal(before))
	})
}))
