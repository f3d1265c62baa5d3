package cli_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var _ = Describe("delete", onCluster(func() {
	var namespace string
	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	deletion := func(state metav1alpha1.State, reason, message string,
		waiting ...metav1alpha1.DependentReport,
	) metav1alpha1.Status {
		return metav1alpha1.Status{
			State: state, Conditions: readyCondition(metav1.ConditionFalse, reason, message), Waiting: waiting,
			Dependents: metav1alpha1.DependentCounts{Total: 1},
		}
	}
	refusal := deletion(metav1alpha1.StateDeletionBlocked, metav1alpha1.ReasonForeignInstances,
		"deletion is refused, because team/mine exists")

	It("ends as soon as the deletion is accepted", func(ctx SpecContext) {
		held(ctx, namespace, "shop")
		r := fairlead(ctx, namespace, "delete", "shop")
		Expect(r).To(Equal(result{Out: "component.fairlead.io/shop deletion requested\n"}))
		Expect(shopIn(ctx, namespace).DeletionTimestamp).NotTo(BeNil())
		Expect(fairlead(ctx, namespace, "delete", "shop")).
			To(Equal(result{Out: "component.fairlead.io/shop is being deleted already\n"}))
	})

	It("says who has an object with a delete policy that keeps it, succeeds, and "+
		"leaves it to them", func(ctx SpecContext) {
		operate(namespace)
		kept := func(name string) string {
			return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name +
				", annotations: {fairlead.io/delete-policy: orphan}}}"
		}
		dir := folder("ours.yaml", kept("ours"), "theirs.yaml", kept("theirs"))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--wait")).To(HaveField("Code", 0))
		Expect(fairlead(ctx, namespace, "suspend", "shop")).To(HaveField("Code", 0))
		Eventually(ctx, func() metav1alpha1.State { return shopIn(ctx, namespace).Status.State }).
			Should(Equal(metav1alpha1.StateSuspended))
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "theirs",
			Annotations: map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "apps"},
		}}
		Expect(k8s.Delete(ctx, theirs.DeepCopy())).To(Succeed())
		Expect(k8s.Create(ctx, theirs, client.FieldOwner("helm"))).To(Succeed())

		r := fairlead(ctx, namespace, "delete", "shop", "--wait")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", ""), HaveField("Out", HavePrefix(
			"ConfigMap "+namespace+"/ours stays in the cluster, because of its delete policy\n"+
				"ConfigMap "+namespace+"/theirs stays in the cluster, because it belongs to the Helm release apps/web by now\n"))))
		left := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theirs), left)).To(Succeed())
		Expect(left.ResourceVersion).To(Equal(theirs.ResourceVersion))
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "ours"}, left)).To(Succeed())
		Expect(left.Annotations).To(HaveKeyWithValue("fairlead.io/released-by", HaveSuffix("/"+namespace+"/shop")))
	})

	It("deletes several components in their order, and each once", func(ctx SpecContext) {
		held(ctx, namespace, "shop")
		held(ctx, namespace, "web")
		r := fairlead(ctx, namespace, "delete", "web", "shop", "web")
		Expect(r).To(Equal(result{Out: "component.fairlead.io/web deletion requested\n" +
			"component.fairlead.io/shop deletion requested\ncomponent.fairlead.io/web is being deleted already\n"}))
		r = fairlead(ctx, namespace, "delete", "web", "shop", "--accept-unknown=a.example.com")
		Expect(r.Err).To(ContainSubstring("--accept-unknown accepts the loss of objects of one component"))
		Expect(r.Code).To(Equal(2))
	})

	It("passes over a component that does not exist when its turn comes", func(ctx SpecContext) {
		for _, name := range []string{"shop", "web"} {
			release(ctx, held(ctx, namespace, name))
		}
		Expect(fairlead(ctx, namespace, "delete", "shop", "web", "shop")).To(Equal(result{
			Out: "component.fairlead.io/shop deleted\ncomponent.fairlead.io/web deleted\n" +
				"component.fairlead.io/shop is deleted already\n",
		}))
	})

	DescribeTable("deletes nothing and names all errors if one of several components", func(
		ctx SpecContext, arguments string, code int, want ...string,
	) {
		held(ctx, namespace, "shop")
		arguments = strings.ReplaceAll(arguments, "NS", namespace)
		r := fairlead(ctx, namespace, append([]string{"delete"}, strings.Fields(arguments)...)...)
		Expect(r.Out).To(BeEmpty())
		for _, text := range want {
			Expect(r.Err).To(ContainSubstring(text))
		}
		Expect(r.Code).To(Equal(code), r.Err)
		Expect(shopIn(ctx, namespace).DeletionTimestamp).To(BeNil())
	},
		Entry("does not exist", "shop deleted missing", 1,
			"component.fairlead.io/deleted does not exist", "component.fairlead.io/missing does not exist"),
		Entry("has a malformed name", "shop a/b/c x/", 2, `component "a/b/c": `, `component "x/": `),
		Entry("is of a type that is not served", "shop sprockets/a", 2, `does not serve a type "sprockets"`),
		Entry("is no component", "shop namespace/NS", 1, "does not have the status of a component"),
		Entry("is a type, named by its resource", "deployments shop", 1, "want TYPE/NAME: deployments/shop\n"),
		Entry("is a type, named by its kind", "Component shop", 1, "want TYPE/NAME: Component/shop\n"),
		Entry("is a type, named by its short name", "deploy shop", 1, "want TYPE/NAME: deploy/shop\n"),
	)

	It("continues after an error, prints it at once, and fails at the end", func(ctx SpecContext) {
		held(ctx, namespace, "shop")
		held(ctx, namespace, "web")
		held(ctx, namespace, "db")
		for _, name := range []string{"shop", "web"} {
			reader := held(ctx, namespace, name+"-reader")
			reader.Spec.ValuesFrom = []metav1alpha1.ValuesReference{{
				Kind: metav1alpha1.ComponentReference, Name: name, Export: "url",
			}}
			Expect(k8s.Update(ctx, reader)).To(Succeed())
		}
		p := start(ctx, namespace, "delete", "shop", "web", "db", "--wait")
		Eventually(ctx, p.out).Should(gbytes.Say("component.fairlead.io/db deletion requested\nthe operator has not started"))
		refused := `warning: component.fairlead.io/%s is not deleted, and nothing was changed: .*\n`
		Expect(p.err).To(gbytes.Say(fmt.Sprintf(refused+refused, "shop", "web")))
		p.stop()
		Eventually(ctx, p.code).Should(Receive(Equal(130)))
		Expect(p.err).
			To(gbytes.Say("fairlead: interrupted; the operator continues to work on component.fairlead.io/db: .*\n$"))

		r := fairlead(ctx, namespace, "delete", "shop", "db", "web")
		Expect(r.Out).To(Equal("component.fairlead.io/db is being deleted already\n"))
		Expect(r.Err).
			To(HaveSuffix("\nfairlead: 2 of 3 deletions failed: component.fairlead.io/shop, component.fairlead.io/web\n"))
		Expect(r.Code).To(Equal(1))
	})

	It("prints a blocker at once and the remaining dependents, until the component is deleted", func(ctx SpecContext) {
		held(ctx, namespace, "shop")
		p := start(ctx, namespace, "delete", "shop", "--wait")
		Eventually(ctx, p.out).Should(gbytes.Say("deletion requested\nthe operator has not started the deletion yet\n"))
		c := shopIn(ctx, namespace)
		report(ctx, c, refusal)
		Eventually(ctx, p.out).
			Should(gbytes.Say("the deletion is blocked: ForeignInstances: deletion is refused, because team/mine exists\n"))
		Consistently(p.code, 300*time.Millisecond).ShouldNot(Receive())
		going := web
		going.Reason = "NotGone"
		report(ctx, c, deletion(metav1alpha1.StateDeleting, metav1alpha1.ReasonDeleting, "", going))
		Eventually(ctx, p.out).
			Should(gbytes.Say("deleting: 1 left\nwave 1: waiting until Deployment.apps shop/web is deleted: NotGone"))
		release(ctx, c)
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(p.out).To(gbytes.Say("component.fairlead.io/shop deleted\n$"))
	})

	It("requests another attempt of an earlier deletion, and only waits without the right to request it",
		func(ctx SpecContext) {
			c := held(ctx, namespace, "shop")
			Expect(k8s.Delete(ctx, c)).To(Succeed())
			report(ctx, shopIn(ctx, namespace), deletion(metav1alpha1.StateStalled, metav1alpha1.ReasonDependentFailed,
				"cannot be deleted"))
			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-patch"}}
			role.Rules = []rbacv1.PolicyRule{{
				APIGroups: []string{"fairlead.io"}, Resources: []string{"*"},
				Verbs: []string{"get", "list", "watch", "delete"},
			}}
			Expect(k8s.Create(ctx, role)).To(Succeed())
			Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-patch"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "no-patch"},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "joe"}},
			})).To(Succeed())
			Eventually(ctx, func() int { return fairlead(ctx, namespace, "list", "--as=joe").Code }).Should(Equal(0))
			waits := start(ctx, namespace, "delete", "shop", "--wait", "--as=joe")
			Eventually(ctx, waits.out).Should(gbytes.Say("shop is being deleted already\nDependentFailed: cannot be deleted\n"))
			Expect(shopIn(ctx, namespace).Annotations).To(BeEmpty())

			asks := start(ctx, namespace, "delete", "shop", "--wait")
			Eventually(ctx, asks.out).
				Should(gbytes.Say("shop is being deleted already\ncomponent.fairlead.io/shop reconcile requested\n"))
			Expect(shopIn(ctx, namespace).Annotations).To(HaveKey("fairlead.io/reconcile-requested-at"))
			release(ctx, c)
			for _, p := range []*process{waits, asks} {
				Eventually(ctx, p.code).Should(Receive(Equal(0)))
				Expect(p.out).To(gbytes.Say("component.fairlead.io/shop deleted\n$"))
			}
		})

	It("records the groups of --accept-unknown, also for a component that is being deleted",
		func(ctx SpecContext) {
			c := held(ctx, namespace, "shop")
			Expect(fairlead(ctx, namespace, "delete", "shop", "--accept-unknown=b.example.com").Code).To(Equal(0))
			accepted := func() string { return shopIn(ctx, namespace).Annotations["fairlead.io/accept-unknown"] }
			Expect(accepted()).To(Equal("b.example.com"))
			again := []string{"delete", "shop", "--accept-unknown=b.example.com", "--accept-unknown=a.example.com"}
			report(ctx, shopIn(ctx, namespace), refusal)
			Expect(fairlead(ctx, namespace, again...)).
				To(Equal(result{Out: "component.fairlead.io/shop is being deleted already\n" +
					"the loss is accepted, and the deletion continues; fairlead delete -n " + namespace +
					" shop --wait shows the progress\n"}))
			Expect(accepted()).To(Equal("a.example.com,b.example.com"))
			Expect(fairlead(ctx, namespace, "delete", "shop", "--accept-unknown=Shop/a").Err).
				To(ContainSubstring(`"Shop/a" is no API group`))
			release(ctx, c)
		})

	It("warns of foreign instances that the person may list, and requests the deletion nevertheless",
		func(ctx SpecContext) {
			definition := &unstructured.Unstructured{}
			text := strings.NewReplacer("plain", "thing", "Plain", "Thing").Replace(plainType)
			Expect(yaml.Unmarshal([]byte(text), &definition.Object)).To(Succeed())
			Expect(k8s.Create(ctx, definition)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, definition)).To(Succeed()) })
			theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "thing.example.com/v1", "kind": "Thing"}}
			theirs.SetNamespace(namespace)
			theirs.SetName("theirs")
			Eventually(ctx, func() error { return k8s.Create(ctx, theirs) }).Should(Succeed())
			c := held(ctx, namespace, "shop")
			owner := manifests.Owner{
				Cluster: "c", Reconciler: "fairlead.io", Group: "fairlead.io", Kind: "Component", Namespace: namespace,
				Name: "shop",
			}
			mark := fmt.Sprintf(`{"metadata":{"labels":{"fairlead.io/owner-id":%q},"annotations":{"fairlead.io/owner-id":%q}}}`,
				owner.ID(), owner.String())
			Expect(k8s.Patch(ctx, definition, client.RawPatch(types.MergePatchType, []byte(mark)))).To(Succeed())
			line := "apiextensions.k8s.io/v1/CustomResourceDefinition//things.thing.example.com u=" +
				string(definition.GetUID()) +
				" t=Thing.thing.example.com"
			digest, err := digests.Of([]string{line})
			Expect(err).NotTo(HaveOccurred())
			report(ctx, c, metav1alpha1.Status{
				Reconciler: "fairlead.io", State: "Ready", Inventory: []string{line}, InventoryDigest: digest,
				Identity: "c/" + string(c.UID),
			})
			r := fairlead(ctx, namespace, "delete", "shop")
			Expect(r.Out).To(Equal("component.fairlead.io/shop deletion requested\n"))
			Expect(r.Err).To(Equal("warning: the deletion will be refused while foreign instances of Thing.thing.example.com " +
				"exist (1): Thing.thing.example.com " + namespace + "/theirs\n"))
		})

	It("reports an interruption of the wait for the sources as an interruption, not as a time-out", func(ctx SpecContext) {
		c := held(ctx, namespace, "shop")
		source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "shop-0123456789ab", Finalizers: []string{"example.com/held"},
			Labels: map[string]string{"app.kubernetes.io/managed-by": "fairlead-cli", "fairlead.io/source-of": "shop"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "fairlead.io/v1alpha1", Kind: "Component", Name: "shop", UID: c.UID},
			},
		}}
		Expect(k8s.Create(ctx, source)).To(Succeed())
		p := start(ctx, namespace, "delete", "shop", "--wait", "--timeout=1m")
		Eventually(ctx, p.out).Should(gbytes.Say("deletion requested"))
		release(ctx, c)
		Eventually(ctx, func() *metav1.Time {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(source), source)).To(Succeed())
			return source.DeletionTimestamp
		}).ShouldNot(BeNil())
		p.stop()
		Eventually(ctx, p.code).Should(Receive(Equal(130)))
		Expect(string(p.err.Contents())).To(Equal("fairlead: interrupted\n"))
		unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Expect(k8s.Patch(ctx, source, unhold)).To(Succeed())
	})

	It("waits until the component's sources are deleted, and keeps those of other components", func(ctx SpecContext) {
		c := held(ctx, namespace, "shop")
		source := func(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, OwnerReferences: owners, Finalizers: []string{"example.com/held"},
				Labels: map[string]string{"app.kubernetes.io/managed-by": "fairlead-cli", "fairlead.io/source-of": "shop"},
			}}
			Expect(k8s.Create(ctx, m)).To(Succeed())
			return m
		}
		owner := metav1.OwnerReference{APIVersion: "fairlead.io/v1alpha1", Kind: "Component", Name: "shop", UID: c.UID}
		ours, unowned := source("shop-0123456789ab", owner), source("shop-ba9876543210")
		p := start(ctx, namespace, "delete", "shop", "--wait", "--timeout=30s")
		Eventually(ctx, p.out).Should(gbytes.Say("deletion requested"))
		release(ctx, c)
		terminating := func(m *corev1.ConfigMap) bool {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
			return m.DeletionTimestamp != nil
		}
		Eventually(ctx, func() bool { return terminating(ours) }).Should(BeTrue())
		Consistently(p.code, 500*time.Millisecond).ShouldNot(Receive())
		unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Expect(k8s.Patch(ctx, ours, unhold)).To(Succeed())
		Eventually(ctx, p.code).Should(Receive(Equal(0)))
		Expect(p.out).To(gbytes.Say("component.fairlead.io/shop deleted\n$"))
		Expect(terminating(unowned)).To(BeFalse())
		Expect(k8s.Patch(ctx, unowned, unhold)).To(Succeed())
	})

	It("fails with the blocker after the timeout, or at once without --wait", func(ctx SpecContext) {
		c := held(ctx, namespace, "shop")
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		report(ctx, shopIn(ctx, namespace), refusal)
		blocked := "the deletion is blocked: ForeignInstances: deletion is refused, because team/mine exists\n"
		r := fairlead(ctx, namespace, "delete", "shop", "--wait", "--timeout=200ms")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(Equal("fairlead: timed out after 200ms for component.fairlead.io/shop: " + blocked))
		r = fairlead(ctx, namespace, "delete", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(Equal("fairlead: component.fairlead.io/shop: " + blocked))
	})

	It("refuses objects that do not exist, and objects that are no components", func(ctx SpecContext) {
		r := fairlead(ctx, namespace, "delete", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring(`component.fairlead.io/shop does not exist in namespace "` + namespace + `"`))
		r = fairlead(ctx, namespace, "delete", "namespace/"+namespace)
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("namespace/" + namespace + " does not have the status of a component"))
	})
}))
