package conformance_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// inCluster sets the kubeconfig of a gadget to the given Secret.
func inCluster(secret string) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) {
		g.Spec.KubeConfig = &metav1alpha1.KubeConfigReference{Name: secret}
		g.Spec.RetryInterval = seconds(1)
	}
}

// serverOfTenant starts a server with TLS that handles each request in the given way, and returns a kubeconfig for it.
func serverOfTenant(handle http.HandlerFunc) []byte {
	server := httptest.NewTLSServer(handle)
	DeferCleanup(server.Close)
	DeferCleanup(server.CloseClientConnections)
	return []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
		"contexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, server: \"" + server.URL +
		"\"}}]\nusers: [{name: u, user: {}}]\n")
}

// showWhere renders a ConfigMap with the results of look-ups in the component's cluster and in the target cluster.
var showWhere = generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
	where := map[string]string{}
	for name, lookup := range map[string]generator.Lookup{"target": req.Target, "local": req.Local} {
		found, err := lookup.Get(ctx, gvk("v1", "ConfigMap"), "default", "where")
		if err != nil {
			return nil, err
		}
		where[name], _, _ = unstructured.NestedString(found.Object, "data", "cluster")
	}
	return []client.Object{&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "answer"},
		Data: where,
	}}, nil
})

var _ = Describe("Targets in another cluster:", Ordered, func() {
	var (
		remote    *testcluster.Cluster
		there     client.Client
		namespace string
	)
	BeforeAll(func(SpecContext) {
		remote = testcluster.StartFor(GinkgoTB(), testcluster.Options{Audit: true, NoControllers: true})
		var err error
		there, err = client.New(remote.Config(), client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
	})
	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		Expect(there.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	})

	// deployer creates an administrator of the remote cluster, and returns its kubeconfig.
	deployer := func(ctx context.Context, name string) []byte {
		GinkgoHelper()
		return kubeconfigOf(administratorOf(ctx, remote, there, name))
	}
	keep := func(ctx context.Context, name string, kubeconfig []byte) *corev1.Secret {
		GinkgoHelper()
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Data:       map[string][]byte{"value": kubeconfig},
		}
		Expect(k8s.Create(ctx, secret)).To(Succeed())
		return secret
	}
	remotely := func(ctx context.Context, name string) func() (map[string]string, error) {
		return func() (map[string]string, error) {
			found := newConfigMap(namespace, name)
			return found.Data, there.Get(ctx, client.ObjectKeyFromObject(found), found)
		}
	}
	remoteRequests := func(ctx context.Context) testcluster.Events {
		GinkgoHelper()
		events, err := remote.AuditEvents(ctx)
		Expect(err).NotTo(HaveOccurred())
		return inNamespace(events.UserAgent("operator/"), namespace)
	}

	It("the volume of a kept claim in another cluster is released with the claim", func(ctx SpecContext) {
		keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/none}, storageClassName: "", claimRef: {namespace: %[1]s, name: data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: %[1]s}`,
			namespace), inCluster("far"))
		volume := &corev1.PersistentVolume{}
		Eventually(ctx, func() error { return there.Get(ctx, client.ObjectKey{Name: namespace}, volume) }).Should(Succeed())
		Eventually(ctx, func() int32 { return current(ctx, g).Status.Dependents.Total }).Should(Equal(int32(2)))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(there.Get(ctx, client.ObjectKey{Name: namespace}, volume)).To(Succeed())
		Expect(volume.DeletionTimestamp).To(BeNil())
	})

	It("dependents in another cluster are created, repaired, and deleted with the component", func(ctx SpecContext) {
		keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), configMap("pruned", "a")),
			inCluster("far"))
		expectReady(ctx, g)
		Expect(remotely(ctx, "settings")()).To(Equal(map[string]string{"value": "a"}))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero(), "a dependent was created in the component's own cluster")
		Expect(current(ctx, g).Status.TargetCluster).NotTo(BeEmpty())

		Expect(there.Delete(ctx, newConfigMap(namespace, "settings"))).To(Succeed())
		Eventually(ctx, remotely(ctx, "settings")).Should(HaveKeyWithValue("value", "a"),
			"the drift was not repaired: a watch in the target cluster must show the drift, because ready dependents "+
				"are not polled")
		changeManifests(ctx, g, configMap("settings", "b"))
		Eventually(ctx, remotely(ctx, "settings")).Should(HaveKeyWithValue("value", "b"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		_, err := remotely(ctx, "settings")()
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Expect(remoteRequests(ctx).User(namespace)).To(HaveLen(len(remoteRequests(ctx))),
			"the target cluster received requests of another user than that of the kubeconfig")
	})

	It("an owned namespace in another cluster is deleted there with its component", func(ctx SpecContext) {
		keep(ctx, "far", deployer(ctx, namespace))
		inner := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-inner"}}
		g := newGadget(ctx, namespace, "app", within(inner.Name, configMap("settings", "a")), inCluster("far"),
			func(g *gadget.Gadget) { g.Spec.Policies.MissingNamespaces = metav1alpha1.MissingNamespacesOwn })
		expectReady(ctx, g)
		Expect(there.Get(ctx, client.ObjectKeyFromObject(inner), inner)).To(Succeed())
		Expect(inner.Labels).To(HaveKey(operatorName + "/owner-id"))
		_, err := get(ctx, "v1", "Namespace", "", inner.Name)
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		remove(ctx, g)
		Eventually(ctx, func() (*metav1.Time, error) {
			err := there.Get(ctx, client.ObjectKeyFromObject(inner), inner)
			return inner.DeletionTimestamp, err
		}).ShouldNot(BeNil())
		// The other cluster has no controller that completes the deletion.
		inner.Spec.Finalizers = nil
		Expect(there.SubResource("finalize").Update(ctx, inner)).To(Succeed())
		expectNotFound(ctx, g)
	})

	It("a kubeconfig is used only if the identity of the component may read its Secret, at first and "+
		"after each change", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{component: component.Options{DefaultServiceAccount: "tenant"}})
		user := serviceAccountUser(namespace, "tenant")
		secret := keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator), inCluster("far"))
		forbidden := And(ContainSubstring("read Secret "+namespace+"/far with the kubeconfig"), ContainSubstring(user),
			ContainSubstring("cannot get resource"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True Forbidden"), forbidden))
		requestsAs := func(user string) testcluster.Events {
			GinkgoHelper()
			events, err := remote.AuditEvents(ctx)
			Expect(err).NotTo(HaveOccurred())
			return events.User(user)
		}
		Expect(requestsAs(namespace)).To(BeEmpty(), "the kubeconfig was used")

		grant(ctx, namespace, "tenant", user, "secrets: get")
		expectReady(ctx, g)
		Expect(remotely(ctx, "settings")()).To(Equal(map[string]string{"value": "a"}))

		By("withdrawing the right and changing the Secret")
		remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, "tenant"))
		config := cluster.Config()
		config.Impersonate.UserName = user
		reader, err := client.New(config, client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() error { return reader.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{}) }).
			Should(MatchError(apierrors.IsForbidden, "IsForbidden"))
		renewed := namespace + "-renewed"
		patch(ctx, secret, fmt.Sprintf(`{"data":{"value":%q}}`, base64.StdEncoding.EncodeToString(deployer(ctx, renewed))))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True Forbidden"), forbidden))
		Expect(requestsAs(renewed)).To(BeEmpty(), "the new kubeconfig was used")
		grant(ctx, namespace, "again", user, "secrets: get")
		expectReady(ctx, g)
	})

	It("dependents in another cluster are written without a rate limit of the client", func(ctx SpecContext) {
		keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", configMaps("cm", 100, "a"), inCluster("far"))
		expectReady(ctx, g)
		written := remoteRequests(ctx).Writes()
		Expect(written).To(HaveLen(100))
		Expect(written[99].Time.Sub(written[0].Time)).To(BeNumerically("<", 5*time.Second),
			"the writes took too long: a client without a rate limit needs less than five seconds")
	})

	It("a rendering can look up objects in the target and in the component's own cluster", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{generate: showWhere})
		for where, c := range map[string]client.Client{"far": there, "here": k8s} {
			found := newConfigMap("default", "where")
			found.Data = map[string]string{"cluster": where}
			Expect(c.Create(ctx, found)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(c.Delete(ctx, found)).To(Succeed()) })
		}
		keep(ctx, "far", deployer(ctx, namespace))
		expectReady(ctx, newGadget(ctx, namespace, "app", "", servedBy(operator), inCluster("far")))
		Expect(remotely(ctx, "answer")()).To(Equal(map[string]string{"target": "far", "local": "here"}))
	})

	It("new credentials in the Secret of a kubeconfig are used at once, without a new revision", func(ctx SpecContext) {
		secret := keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectReady(ctx, g)
		renewed := namespace + "-renewed"
		patch(ctx, secret, fmt.Sprintf(`{"data":{"value":%q}}`, base64.StdEncoding.EncodeToString(deployer(ctx, renewed))))
		Eventually(ctx, func() (testcluster.Events, error) {
			events, err := remote.AuditEvents(ctx)
			return events.User(renewed).Resource("configmaps").Verb("watch"), err
		}).ShouldNot(BeEmpty())
		Expect(there.Delete(ctx, newConfigMap(namespace, "settings"))).To(Succeed())
		Eventually(ctx, remotely(ctx, "settings")).Should(HaveKeyWithValue("value", "a"))
		Expect(remoteRequests(ctx).User(renewed).Writes()).To(HaveLen(1))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))
	})

	It("components with the same kubeconfig share a watch, which ends with the last of them", func(ctx SpecContext) {
		kubeconfig := deployer(ctx, namespace)
		keep(ctx, "far", kubeconfig)
		keep(ctx, "same", kubeconfig)
		// No other spec uses a watch on this type.
		const manifest = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: %s}\n" +
			"template: {spec: {containers: [{name: a, image: b}]}}"
		one := newGadget(ctx, namespace, "one", fmt.Sprintf(manifest, "one"), inCluster("far"))
		two := newGadget(ctx, namespace, "two", fmt.Sprintf(manifest, "two"), inCluster("same"))
		expectReady(ctx, one)
		expectReady(ctx, two)
		watches := func() int {
			events, err := remote.AuditEvents(ctx)
			Expect(err).NotTo(HaveOccurred())
			return len(events.User(namespace).Resource("podtemplates").Verb("watch"))
		}
		Expect(watches()).To(Equal(1))
		Expect(openWatches(ctx, remote, "podtemplates")).NotTo(BeEmpty())
		remove(ctx, one)
		expectNotFound(ctx, one)
		remove(ctx, two)
		expectNotFound(ctx, two)
		Eventually(ctx, func() (string, error) { return openWatches(ctx, remote, "podtemplates") }).Should(BeEmpty())
	})

	It("the target cluster cannot change while dependents exist", func(ctx SpecContext) {
		own, err := os.ReadFile(cluster.Kubeconfig())
		Expect(err).NotTo(HaveOccurred())
		keep(ctx, "far", deployer(ctx, namespace))
		keep(ctx, "near", own)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectReady(ctx, g)
		By("changing the target to the component's own cluster, which is refused with and without a kubeconfig")
		for _, elsewhere := range []func(*gadget.Gadget){inCluster(
			"near"), func(g *gadget.Gadget) { g.Spec.KubeConfig = nil }} {
			change(ctx, g, elsewhere)
			expectCondition(ctx, g, metav1alpha1.ConditionStalled,
				And(HavePrefix("True InvalidSpec: the component has 1 dependent in cluster "),
					ContainSubstring("the target is now the component's own cluster"), ContainSubstring("point the component back")))
		}
		By("deleting the component, which does not count its dependents as deleted")
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True InvalidSpec: the component has 1 dependent in "),
				ContainSubstring("or remove the operator's finalizer")))
		Expect(remotely(ctx, "settings")()).To(HaveKeyWithValue("value", "a"))
		change(ctx, g, inCluster("far"))
		expectNotFound(ctx, g)
	})

	DescribeTable("a kubeconfig is refused with a message that contains the reason and no secrets, if "+
		"the kubeconfig", func(ctx SpecContext, edit func(string) string, want string) {
		kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
			"contexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: u, user: {token: hush}}]\n"
		keep(ctx, "far", []byte(edit(kubeconfig)))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			"True InvalidSpec: Secret "+namespace+"/far with the kubeconfig cannot be used: "+want)
		Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(ContainSubstring("hush"))
		remove(ctx, g)
		expectNotFound(ctx, g)
	},
		Entry("is not a kubeconfig", func(string) string { return "hush: {hush" }, "the content is not a kubeconfig"),
		Entry("has another structure", func(string) string { return "apiVersion: v1\nkind: Config\nusers: hush" },
			"the content is not a kubeconfig"),
		Entry("has no current context", replaced("current-context: c\n", ""), "the kubeconfig has no current-context"),
		Entry("names a context that does not exist", replaced("current-context: c\n", "current-context: d\n"),
			"the kubeconfig lacks the context that current-context names"),
		Entry("runs a program", replaced("token: hush",
			"exec: {apiVersion: client.authentication.k8s.io/v1, command: hush, interactiveMode: Never}"),
			"exec would run a program"),
		Entry("uses an auth provider", replaced("token: hush", "auth-provider: {name: hush}"), "auth-provider would run"),
		Entry("names a token file", replaced("token: hush", "tokenFile: /hush"), "tokenFile names a file"),
		Entry("names a certificate file", replaced("token: hush", "client-certificate: /hush"),
			"client-certificate names a file"),
		Entry("names a key file", replaced("token: hush", "client-certificate-data: aHVzaA==, client-key: /hush"),
			"client-key names a file"),
		Entry("names a file of a certificate authority", replaced("server:", "certificate-authority: /hush, server:"),
			"certificate-authority names a file"),
		Entry("has a password in its URL", replaced("https://", "https://me:hush@"),
			"the server of the cluster contains a password"),
		Entry("has no TLS", replaced("https://127.0.0.1:1", "http://127.0.0.1:1/hush"),
			"the server of the cluster is not a URL that begins with https://"),
		Entry("names a proxy", replaced("server:", "proxy-url: \"http://hush:1\", server:"),
			"proxy-url would send the requests of the operator through another server"),
		Entry("has no HTTP URL", replaced("https://127.0.0.1:1", "unix:///hush"), "the server of the cluster is not a URL"),
		Entry("has a certificate without a key", replaced("token: hush", "client-certificate-data: aHVzaA=="),
			"the cluster or the user in the kubeconfig is incomplete"),
	)

	It("the Secret of a kubeconfig is retained until the dependents no longer exist, also if the "+
		"namespace is deleted", func(ctx SpecContext) {
		secret := keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectReady(ctx, g)
		// The namespace controller may delete the Secret before or after the component.
		remove(ctx, secret)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
		expectNotFound(ctx, g)
		expectNotFound(ctx, secret)
		_, err := remotely(ctx, "settings")()
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("the Secrets of kubeconfigs that components use have a finalizer, and no other Secrets", func(ctx SpecContext) {
		kubeconfig := deployer(ctx, namespace)
		first, second := keep(ctx, "first", kubeconfig), keep(ctx, "second", kubeconfig)
		held := func(secret client.Object) func() []string {
			return func() []string { return mustGet(ctx, "v1", "Secret", namespace, secret.GetName()).GetFinalizers() }
		}
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("first"))
		expectReady(ctx, g)
		other := newGadget(ctx, namespace, "other", configMap("other", "a"), inCluster("first"))
		expectReady(ctx, other)
		Expect(held(first)()).To(HaveLen(2))
		change(ctx, g, inCluster("second"))
		Eventually(ctx, held(first)).Should(HaveLen(1))
		Expect(held(second)()).To(HaveLen(1))
		By("continuing although the Secret is being deleted")
		remove(ctx, first)
		remove(ctx, second)
		changeManifests(ctx, g, configMap("settings", "b"))
		Eventually(ctx, remotely(ctx, "settings")).Should(HaveKeyWithValue("value", "b"))
		for _, g := range []*gadget.Gadget{g, other} {
			remove(ctx, g)
			expectNotFound(ctx, g)
		}
		expectNotFound(ctx, first)
		expectNotFound(ctx, second)
	})

	It("a removed finalizer on the Secret of a kubeconfig is added again, also during a deletion", func(ctx SpecContext) {
		secret := keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"),
			inCluster("far"), func(g *gadget.Gadget) { g.Spec.RetryInterval = nil })
		expectReady(ctx, g)
		held := func() []string { return mustGet(ctx, "v1", "Secret", namespace, "far").GetFinalizers() }
		before := held()
		Expect(before).To(HaveLen(1))
		strip := func() {
			GinkgoHelper()
			patch(ctx, secret, `{"metadata":{"finalizers":null}}`)
			Eventually(ctx, held).Should(Equal(before))
		}
		strip()
		patch(ctx, secret, `{"metadata":{"labels":null}}`)
		Eventually(ctx, func() map[string]string {
			return mustGet(ctx, "v1", "Secret", namespace,
				"far").GetLabels()
		}).Should(
			HaveKeyWithValue(operatorName+"/held", "true"),
			"the label is used to find the finalizer after the deletion of the component")
		Expect(held()).To(Equal(before))
		Expect(current(ctx, g).Status.TargetSecret).To(Equal("far"))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))

		settings := newConfigMap(namespace, "settings")
		Expect(there.Patch(ctx, settings, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":["example.com/hold"]}}`)))).To(Succeed())
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, "True Deleting")
		strip()
		Expect(there.Patch(ctx, settings, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).
			To(Succeed())
		expectNotFound(ctx, g)
		Expect(held()).To(BeEmpty())
	})

	It("an unreachable target cluster blocks only its own components, and the condition of a deletion "+
		"contains the remedy", func(ctx SpecContext) {
		secret := keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectReady(ctx, g)
		unreachable := "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
			"contexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: u, user: {token: hush}}]\n"
		previous := base64.StdEncoding.EncodeToString(secret.Data["value"])
		patch(ctx, secret, fmt.Sprintf(`{"data":{"value":%q}}`, base64.StdEncoding.EncodeToString([]byte(unreachable))))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False Retrying: the cluster of the kubeconfig in Secret "+namespace+"/far cannot be reached"),
				ContainSubstring("127.0.0.1:1")))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			ContainSubstring("or remove the operator's finalizer from the component: dependents that are not deleted "+
				"yet then stay"))
		By("continuing when the target can be reached again")
		patch(ctx, secret, fmt.Sprintf(`{"data":{"value":%q}}`, previous))
		expectNotFound(ctx, g)
		_, err := remotely(ctx, "settings")()
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("a target cluster that accepts requests and never responds blocks only its own components, and a condition "+
		"reports the cluster", func(ctx SpecContext) {
		silent := serverOfTenant(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		keep(ctx, "far", silent)
		operator := newOperatorName()
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{MaxConcurrentReconciles: 2}},
		})
		var stuck []*gadget.Gadget
		for i := range 4 {
			stuck = append(stuck, newGadget(ctx, namespace, fmt.Sprint("stuck-", i), configMap("settings", "a"),
				inCluster("far"), servedBy(operator)))
		}
		near := newGadget(ctx, namespace, "near", configMap("near", "a"), servedBy(operator))
		for _, g := range stuck {
			expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
				HavePrefix("False Retrying: the cluster of the kubeconfig in Secret "+namespace+"/far cannot be reached"),
				ContainSubstring("deadline exceeded")))
		}
		expectReady(ctx, near)
		changeManifests(ctx, near, configMap("near", "b"))
		expectReady(ctx, near)
		for _, g := range stuck {
			remove(ctx, g)
			expectNotFound(ctx, g)
		}
	})

	It("a target cluster that answers without end blocks only its own components, and a condition "+
		"reports the limit", func(ctx SpecContext) {
		items := []byte(strings.Repeat(`{"a":{}},`, 1000))
		keep(ctx, "far", serverOfTenant(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, err := io.WriteString(w, `{"kind":"Namespace","apiVersion":"v1","items":[`)
			for err == nil {
				_, err = w.Write(items)
			}
		}))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
			HavePrefix("False Retrying: the cluster of the kubeconfig in Secret "+namespace+"/far cannot be reached"),
			ContainSubstring("the response of the API server has more than 2000000 values")))
		expectReady(ctx, newGadget(ctx, namespace, "near", configMap("near", "a")))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a target cluster that redirects requests gets no other server called", func(ctx SpecContext) {
		var called atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
		DeferCleanup(other.Close)
		for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
			name := fmt.Sprint("redirect-", code)
			keep(ctx, name, serverOfTenant(http.RedirectHandler(other.URL+"/latest", code).ServeHTTP))
			g := newGadget(ctx, namespace, name, configMap("settings", "a"), inCluster(name))
			expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring(
				fmt.Sprintf("the response of the API server is a redirect (HTTP status %d), which is not followed", code)))
			remove(ctx, g)
			expectNotFound(ctx, g)
		}
		Expect(called.Load()).To(BeZero(), "the redirect was followed")
	})

	DescribeTable("the status quotes nothing of a target that is no API server, if it responds with",
		func(ctx SpecContext, code int, contentType, body, want string) {
			keep(ctx, "far", serverOfTenant(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				w.WriteHeader(code)
				_, _ = io.WriteString(w, body)
			}))
			g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
			expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring(want))
			Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(ContainSubstring("LEAK"))
			remove(ctx, g)
			expectNotFound(ctx, g)
		},
		Entry("an error as text", 500, "text/plain", "BODYLEAK-500",
			"HTTP status 500, without a Status of a Kubernetes API server"),
		Entry("a refusal as text", 403, "text/plain", "BODYLEAK-403",
			"HTTP status 403, without a Status of a Kubernetes API server"),
		Entry("JSON without a kind", 200, "application/json", `{"AccessKeyId":"LEAK"}`,
			"is no object with kind and apiVersion"),
	)

	It("if the Secret with the kubeconfig was deleted, a deletion reports the remedy, and continues when the Secret is "+
		"created again", func(ctx SpecContext) {
		secret := keep(ctx, "far", deployer(ctx, namespace))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectReady(ctx, g)
		remove(ctx, secret)
		patch(ctx, secret, `{"metadata":{"finalizers":null}}`)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True ReferenceNotFound: Secret "+namespace+"/far with the kubeconfig does not exist; create it"),
				ContainSubstring("or remove the operator's finalizer from the component")))
		keep(ctx, "far", secret.Data["value"])
		expectNotFound(ctx, g)
		_, err := remotely(ctx, "settings")()
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("a missing Secret, a missing key, and a missing right to identify the cluster are reported", func(ctx SpecContext) {
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), inCluster("far"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True ReferenceNotFound: Secret "+namespace+
			"/far with the kubeconfig does not exist; create it")
		user, err := remote.User(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		kubeconfig, err := os.ReadFile(user.Kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		secret := keep(ctx, "far", kubeconfig)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True Forbidden: the cluster of the kubeconfig in Secret "+namespace+"/far refuses its user"),
				ContainSubstring(`User "`+namespace+`" cannot get resource "namespaces"`)))
		patch(ctx, secret, `{"data":{"value":null,"other":""}}`)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, `True ReferenceNotFound: Secret `+namespace+
			`/far with the kubeconfig has no key "value"`)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})

// replaced returns a function that replaces a text.
func replaced(what, by string) func(string) string {
	return func(text string) string { return strings.Replace(text, what, by, 1) }
}

// openWatches returns the metrics of a cluster about open watches on all objects of a type.
func openWatches(ctx context.Context, c *testcluster.Cluster, resource string) (string, error) {
	config := c.Config()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var open []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_longrunning_requests{") && strings.Contains(line,
			`resource="`+resource+`",scope="cluster"`) && !strings.HasSuffix(line, " 0\n") {
			open = append(open, line)
		}
	}
	return strings.Join(open, ""), nil
}
