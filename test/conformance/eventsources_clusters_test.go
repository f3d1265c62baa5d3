package conformance_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// countedTransport is a transport that can be compared, so that components share its connections.
type countedTransport struct{ http.RoundTripper }

// counted returns a transport to a cluster that counts watches.
func counted(config *rest.Config, watches *openRequests) http.RoundTripper {
	GinkgoHelper()
	base, err := rest.TransportFor(config)
	Expect(err).NotTo(HaveOccurred())
	return &countedTransport{watches.wrap(base)}
}

// administratorOf creates an administrator of a cluster.
func administratorOf(ctx context.Context, c *testcluster.Cluster, admin client.Client, name string) testcluster.User {
	GinkgoHelper()
	user, err := c.User(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})).To(Succeed())
	return user
}

// kubeconfigOf returns the kubeconfig of a user.
func kubeconfigOf(user testcluster.User) []byte {
	GinkgoHelper()
	kubeconfig, err := os.ReadFile(user.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

var _ = Describe("Event sources in other clusters:", Ordered, func() {
	const annotation = "example.com/gadgets"
	var (
		remote    *testcluster.Cluster
		there     client.Client
		namespace string
		operator  string
		s         *seen
	)
	BeforeAll(func(SpecContext) {
		remote = testcluster.StartFor(GinkgoTB(), testcluster.Options{NoControllers: true})
		var err error
		there, err = client.New(remote.Config(), client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
	})
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, s = newNamespace(ctx), newOperatorName(), &seen{}
		Expect(there.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	})

	options := func() configMapOptions {
		return configMapOptions{For: eventsource.ForAnnotation[*corev1.ConfigMap](annotation), Part: contentOf, Whole: true}
	}
	run := func(relation *eventsource.Relation[*gadget.Gadget, *corev1.ConfigMap]) {
		GinkgoHelper()
		runOperator(operator, operatorOptions{
			generate: nothing, hooks: hookSeeing(s, relation),
			built: withSources(relation),
		})
	}
	// sees waits until the components first and second saw these values last.
	sees := func(ctx context.Context, first, second string) {
		GinkgoHelper()
		Eventually(ctx, s.all).Should(Equal(map[string]string{namespace + "/first": first, namespace + "/second": second}))
	}
	set := func(ctx context.Context, c *corev1.ConfigMap, components, value string) {
		GinkgoHelper()
		change := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"data":{"value":%q}}`, annotation, components, value)
		Expect(there.Patch(ctx, c, client.RawPatch("application/merge-patch+json", []byte(change)))).To(Succeed())
	}
	// move moves a remote object between the components first and second.
	move := func(ctx context.Context) *corev1.ConfigMap {
		GinkgoHelper()
		sees(ctx, "", "")
		By("an object in the components' own cluster, which does not count")
		near := newConfigMap(namespace, "near")
		near.Annotations = map[string]string{annotation: "first,second"}
		Expect(k8s.Create(ctx, near)).To(Succeed())
		By("an object in the other cluster that moves from one component to the other one, without another change")
		far := newConfigMap(namespace, "far")
		far.Annotations, far.Data = map[string]string{annotation: "first"}, map[string]string{"value": "a"}
		Expect(there.Create(ctx, far)).To(Succeed())
		sees(ctx, "far=a", "")
		set(ctx, far, "other/first, "+namespace+"/second", "a")
		sees(ctx, "", "far=a")
		set(ctx, far, "first,second", "b")
		sees(ctx, "far=b", "far=b")
		settle(ctx, operator)
		before := passes(operator)
		set(ctx, far, "second,first", "b")
		Consistently(ctx, func() int { return passes(operator) }).Should(Equal(before), "an equal value woke a component")
		return far
	}

	It("an annotation of an object in the target cluster names its components, also after the kubeconfig "+
		"was replaced", func(ctx SpecContext) {
		o := options()
		o.InTarget = true
		run(eventsource.Related("far", o))
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "far"},
			Data:       map[string][]byte{"value": kubeconfigOf(administratorOf(ctx, remote, there, namespace))},
		}
		Expect(k8s.Create(ctx, secret)).To(Succeed())
		first := newGadget(ctx, namespace, "first", "", servedBy(operator), inCluster("far"))
		second := newGadget(ctx, namespace, "second", "", servedBy(operator), inCluster("far"))
		far := move(ctx)
		watches := func() (string, error) { return openWatches(ctx, remote, "configmaps") }
		Expect(watches()).To(ContainSubstring("} 1"))

		By("replacing the credentials, and removing the previous user's rights")
		renewed := kubeconfigOf(administratorOf(ctx, remote, there, namespace+"-renewed"))
		patch(ctx, secret, fmt.Sprintf(`{"data":{"value":%q}}`, base64.StdEncoding.EncodeToString(renewed)))
		requestPass(ctx, first, operator)
		requestPass(ctx, second, operator)
		settle(ctx, operator)
		Expect(there.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		set(ctx, far, "second", "c")
		sees(ctx, "", "far=c")
		Eventually(ctx, watches).Should(ContainSubstring("} 1"), "the watch of the previous user is open")

		By("deleting the components")
		remove(ctx, first)
		expectNotFound(ctx, first)
		remove(ctx, second)
		expectNotFound(ctx, second)
		Eventually(ctx, watches).Should(BeEmpty())
	})

	It("an annotation of an object in the cluster of a source names its components, also with another "+
		"configuration", func(ctx SpecContext) {
		var watches [2]openRequests
		var configs [2]*rest.Config
		var current atomic.Int64
		for i := range configs {
			user := administratorOf(ctx, remote, there, fmt.Sprint(namespace, "-", i))
			configs[i] = &rest.Config{Host: user.Config.Host, Transport: counted(user.Config, &watches[i])}
		}
		o := options()
		o.Cluster = func(context.Context, *gadget.Gadget) (*rest.Config, error) { return configs[current.Load()], nil }
		run(eventsource.Related("far", o))
		first := newGadget(ctx, namespace, "first", "", servedBy(operator))
		second := newGadget(ctx, namespace, "second", "", servedBy(operator))
		far := move(ctx)
		Expect(watches[0].configMaps()).To(Equal(1))

		By("replacing the configuration, which counts in the next pass over each component")
		current.Store(1)
		requestPass(ctx, first, operator)
		set(ctx, far, "first,second", "c")
		sees(ctx, "far=c", "far=c")
		Eventually(ctx, watches[0].configMaps).Should(BeZero())
		Expect(watches[1].configMaps()).To(Equal(1))
		remove(ctx, first)
		expectNotFound(ctx, first)
		remove(ctx, second)
		expectNotFound(ctx, second)
		Eventually(ctx, watches[1].configMaps).Should(BeZero())
	})

	It("a component whose configuration has a function does not share its watch, and keeps it", func(ctx SpecContext) {
		watches := &openRequests{}
		o := options()
		o.Cluster = func(context.Context, *gadget.Gadget) (*rest.Config, error) {
			config := remote.Config()
			config.Wrap(watches.wrap)
			return config, nil
		}
		run(eventsource.Related("far", o))
		first := newGadget(ctx, namespace, "first", "", servedBy(operator))
		newGadget(ctx, namespace, "second", "", servedBy(operator))
		move(ctx)
		requestPass(ctx, first, operator)
		settle(ctx, operator)
		Expect(watches.configMaps()).To(Equal(2))
		Expect(watches.openedConfigMaps()).To(Equal(2), "passes opened watches")
	})
})
