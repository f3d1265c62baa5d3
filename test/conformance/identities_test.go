package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// lookUp renders the manifests. Before that, it looks up a ConfigMap of the component's namespace, in the component's
// cluster and in the target cluster.
var lookUp = generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
	for _, lookup := range []generator.Lookup{req.Target, req.Local} {
		if _, err := lookup.List(ctx, gvk("v1", "ConfigMap"), req.Namespace); err != nil {
			return nil, err
		}
		if _, err := lookup.Get(ctx, gvk("v1", "ConfigMap"), req.Namespace, "looked-up"); err != nil {
			return nil, err
		}
	}
	return gadget.Generate(ctx, req)
})

var _ = Describe("Identities of components:", func() {
	// dependentRequests returns an operator's requests to the dependents in a namespace, except the requests of watches.
	dependentRequests := func(ctx context.Context, mark auditMark, operator, namespace string) testcluster.Events {
		return inNamespace(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)), namespace).Resource("configmaps").
			Where(func(e testcluster.Event) bool {
				return e.Verb != "watch" && !strings.Contains(e.RequestURI, "labelSelector")
			})
	}

	It("the operator makes all look-ups, adoptions and writes of a component as the component's identity, with no more "+
		"rights than necessary", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{generate: lookUp})
		user := serviceAccountUser(namespace, "deployer")
		grant(ctx, namespace, "deployer", user, "configmaps: get, list, create, patch, delete")
		create(ctx, together(configMapIn(namespace, "looked-up", "a"), configMapIn(namespace, "adopted", "theirs")))
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("created", "a"), configMap("adopted", "a"),
			configMap("pruned", "a")),
			servedBy(operator), asServiceAccount("deployer"))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(configMap("created", "b"), configMap("adopted", "a")))
		expectReady(ctx, g)
		patch(ctx, newConfigMap(namespace, "created"), `{"data":{"value":"drifted"}}`)
		Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "created").Object["data"] }).
			Should(HaveKeyWithValue("value", "b"))
		remove(ctx, g)
		expectNotFound(ctx, g)

		requests := dependentRequests(ctx, mark, operator, namespace)
		Expect(requests.As(user).Verb("create", "patch")).To(HaveLen(6),
			"want six writes: three creates, of which one fails because the object exists, an adoption, a change and a repair")
		Expect(requests.As(user).Verb("delete")).To(HaveLen(3))
		Expect(len(requests.As(user).Verb("list"))).To(And(BeNumerically(">=", 4), BeNumerically("<=", 6)),
			"want lists for two look-ups in each of two renderings, and for another look-up after an object of the "+
				"list was adopted")
		Expect(requests.As(user).Code(403)).To(BeEmpty())
		Expect(verbs(requests.As(""))).To(BeEmpty(), "the operator sent requests without impersonation")
	})

	It("if the component's identity lacks a right, the message names the right, and the component continues when the "+
		"right is granted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		user := serviceAccountUser(namespace, "deployer")
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), asServiceAccount("deployer"), retryLate)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("ConfigMap "+namespace+"/settings"),
				ContainSubstring(`User "`+user+`" cannot patch resource "configmaps"`), ContainSubstring("grant it to that user")))
		Expect(current(ctx, g).Status.Waiting[0].Reason).To(Equal("Forbidden"))
		grant(ctx, namespace, "deployer", user, "configmaps: create, patch, delete")
		expectReady(ctx, g)
	})

	It("references are read as the component's identity, so that a component cannot read objects that its identity is "+
		"not allowed to read", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{generate: copyReferences})
		create(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: "+namespace+"}\nstringData: {k: hush}")
		user := serviceAccountUser(namespace, "deployer")
		grant(ctx, namespace, "deployer", user, "configmaps: create, patch, delete")
		g := newGadget(ctx, namespace, "app", "", servedBy(operator), asServiceAccount("deployer"), func(g *gadget.Gadget) {
			g.Spec.References = []metav1alpha1.Reference{{Kind: "Secret", Name: "s"}}
			g.Spec.RetryInterval = seconds(1)
		})
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True Forbidden: read Secret "+namespace+"/s"),
			ContainSubstring(user)))
		grant(ctx, namespace, "reader", user, "secrets: get")
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "copy").Object["data"]).To(HaveKeyWithValue("Secret-s-k", "hush"))
	})

	It("if the component's identity has lost its rights, a deletion waits, and the condition names "+
		"all remedies", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		user := serviceAccountUser(namespace, "deployer")
		grant(ctx, namespace, "deployer", user, "configmaps: create, patch, delete")
		gadgets := []*gadget.Gadget{}
		for _, name := range []string{"let-go", "handed-over", "granted"} {
			g := newGadget(ctx, namespace, name, configMap(name, "a"), asServiceAccount("deployer"), retryLate)
			expectReady(ctx, g)
			gadgets = append(gadgets, g)
		}
		remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, "deployer"))
		refused := func(g *gadget.Gadget) {
			GinkgoHelper()
			remove(ctx, g)
			expectCondition(ctx, g, metav1alpha1.ConditionStalled,
				And(HavePrefix("True DependentFailed: cannot be deleted: ConfigMap "+namespace+"/"+g.Name),
					ContainSubstring(`User "`+user+`" cannot delete resource "configmaps"`), ContainSubstring("grant it to that user"),
					ContainSubstring("or remove the operator's finalizer from the component: dependents that are not deleted "+
						"yet then stay")))
		}
		By("removing the finalizer")
		refused(gadgets[0])
		patch(ctx, gadgets[0], `{"metadata":{"finalizers":null}}`)
		expectNotFound(ctx, gadgets[0])
		By("naming another account")
		refused(gadgets[1])
		grant(ctx, namespace, "other", serviceAccountUser(namespace, "other"), "configmaps: delete")
		patch(ctx, gadgets[1], `{"spec":{"serviceAccountName":"other"}}`)
		expectNotFound(ctx, gadgets[1])
		By("granting the identity its rights again")
		refused(gadgets[2])
		grant(ctx, namespace, "again", user, "configmaps: delete")
		expectNotFound(ctx, gadgets[2])
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
		mustGet(ctx, "v1", "ConfigMap", namespace, "let-go")
	})

	It("a deletion ends if the component's identity loses its rights because its "+
		"namespace is deleted", func(ctx SpecContext) {
		namespace, other := newNamespace(ctx), newNamespace(ctx)
		create(ctx, fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: deployer, namespace: %s}", namespace))
		for _, in := range []string{namespace, other} {
			grant(ctx, in, "deployer", serviceAccountUser(namespace, "deployer"), "configmaps: create, patch, delete")
		}
		g := newGadget(ctx, namespace, "app", together(configMap("here", "a"), configMapIn(other, "there", "a")),
			asServiceAccount("deployer"),
			retrySoon)
		expectReady(ctx, g)
		// The namespace controller deletes these objects first, and in any order.
		remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, "deployer"))
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, other)).To(BeZero())
	})

	DescribeTable("a deletion phase is skipped if the component's identity lost its rights because its namespace is "+
		"being deleted:", func(ctx SpecContext, phase func(string) string) {
		namespace := newNamespace(ctx)
		grant(ctx, namespace, "deployer", serviceAccountUser(namespace, "deployer"), "configmaps: create, patch, delete")
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"),
			configMap("told", "a", phase(operatorName))), asServiceAccount("deployer"))
		expectReady(ctx, g)
		// The namespace controller also deletes these objects, in any order.
		remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, "deployer"))
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
		expectNotFound(ctx, g)
		expectNotFound(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	},
		Entry("phase pre-delete", preDelete),
		Entry("phase post-delete", postDelete),
	)

	It("the identity of a component can be a user with groups", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: team-%[1]s}]`, namespace))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), func(g *gadget.Gadget) {
			g.Spec.User, g.Spec.Groups = "alice", []string{"team-" + namespace}
		})
		expectReady(ctx, g)
		Expect(writes(ctx, operatorName, namespace).Resource("configmaps").As("alice")).To(HaveLen(1))
	})

	It("a component that names no service account uses the default service account, and cannot use the "+
		"operator's identity", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{component: component.Options{DefaultServiceAccount: "tenant"}})
		user := serviceAccountUser(namespace, "tenant")
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator), retrySoon)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring(user))
		grant(ctx, namespace, "tenant", user, "configmaps: create, patch")
		expectReady(ctx, g)
		Expect(writes(ctx, operator, namespace).Resource("configmaps").As("")).To(BeEmpty())
	})

	It("a change of the component's identity takes effect at once, without a new revision", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for _, name := range []string{"one", "two"} {
			grant(ctx, namespace, name, serviceAccountUser(namespace, name), "configmaps: create, patch, delete")
		}
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), asServiceAccount("one"))
		expectReady(ctx, g)
		change(ctx, g, asServiceAccount("two"))
		expectReady(ctx, g)
		patch(ctx, newConfigMap(namespace, "settings"), `{"data":{"value":"drifted"}}`)
		Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"] }).
			Should(HaveKeyWithValue("value", "a"))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
		written := writes(ctx, operatorName, namespace).Resource("configmaps")
		Expect(written.As(serviceAccountUser(namespace, "one"))).To(HaveLen(1))
		Expect(written.As(serviceAccountUser(namespace, "two"))).To(HaveLen(1))
	})

	It("the operator has the same number of watches for any number of identities of components", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		for range 3 {
			namespace := newNamespace(ctx)
			grant(ctx, namespace, "deployer", serviceAccountUser(namespace, "deployer"), "configmaps: create, patch, delete")
			expectReady(ctx, newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator),
				asServiceAccount("deployer")))
		}
		Expect(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Resource("configmaps").Verb("watch")).To(HaveLen(1))
	})

	DescribeTable("a spec with contradicting identities is refused:", func(ctx SpecContext, edit func(*gadget.Gadget),
		want string,
	) {
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), edit)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True InvalidSpec: "+want)
	},
		Entry("a kubeconfig and a service account", func(g *gadget.Gadget) {
			g.Spec.ServiceAccountName, g.Spec.KubeConfig = "a", &metav1alpha1.KubeConfigReference{Name: "k"}
		}, "a kubeconfig contains its own user; name a kubeconfig or an identity, not both"),
		Entry("a kubeconfig and a user", func(g *gadget.Gadget) {
			g.Spec.User, g.Spec.KubeConfig = "a", &metav1alpha1.KubeConfigReference{Name: "k"}
		}, "a kubeconfig contains its own user; name a kubeconfig or an identity, not both"),
		Entry("a service account and a user", func(g *gadget.Gadget) {
			g.Spec.User, g.Spec.ServiceAccountName = "a",
				"a"
		}, "name a service account or a user, not both"),
		Entry("groups without a user", func(g *gadget.Gadget) { g.Spec.Groups = []string{"a"} },
			"groups without a user cannot be impersonated; name the user, too"),
		Entry("no name at all", func(g *gadget.Gadget) { g.Spec.ServiceAccountName = "a:b" }, `service account name "a:b"`),
	)
})

// configMapIn renders a ConfigMap in a namespace.
func configMapIn(namespace, name, value string) string {
	return strings.Replace(configMap(name, value), "name: "+name, "name: "+name+"\n  namespace: "+namespace, 1)
}

// gvk returns a GroupVersionKind.
func gvk(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}
