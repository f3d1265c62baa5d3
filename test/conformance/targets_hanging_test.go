package conformance_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// hangingCluster is a target cluster that a tenant controls. It forwards requests to the API server of the suite,
// except the requests for which answer returns true.
type hangingCluster struct {
	answer func(http.ResponseWriter, *http.Request) bool
	// arrived and ended count the requests that were not forwarded.
	arrived, ended atomic.Int32
}

func (c *hangingCluster) start() (address string) {
	GinkgoHelper()
	config := cluster.Config()
	upstream, err := url.Parse(config.Host)
	Expect(err).NotTo(HaveOccurred())
	forward := httputil.NewSingleHostReverseProxy(upstream)
	forward.FlushInterval = -1
	forward.Transport, err = rest.TransportFor(config)
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.arrived.Add(1)
		if c.answer(w, r) {
			c.ended.Add(1)
			return
		}
		c.arrived.Add(-1)
		forward.ServeHTTP(w, r)
	}))
	DeferCleanup(server.Close)
	return server.URL
}

// answerNever sends no response, and returns when the client ends the request.
func answerNever(_ http.ResponseWriter, r *http.Request) bool {
	// The server notices the end of a request only after it has read the body.
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		<-r.Context().Done()
	}
	return true
}

// answerLater answers a request with the demand to repeat it after an hour.
func answerLater(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Retry-After", "3600")
	w.WriteHeader(http.StatusTooManyRequests)
	return true
}

// onlyWrites returns an answer to writes. All other requests are forwarded.
func onlyWrites(answer func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool { return r.Method != http.MethodGet && answer(w, r) }
}

var _ = Describe("Target clusters that hang:", func() {
	const (
		workers = 4
		many    = 40
	)

	DescribeTable("components with a target cluster of one namespace do not occupy the workers, "+
		"if the cluster", func(ctx SpecContext, answer func(http.ResponseWriter, *http.Request) bool, most int) {
		hostile, local, elsewhere := newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)
		hanging := &hangingCluster{answer: answer}
		address := hanging.start()
		operator := newOperatorName()
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{MaxConcurrentReconciles: workers}},
		})
		secret := func(namespace, name string, kubeconfig []byte) {
			GinkgoHelper()
			Expect(k8s.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"value": kubeconfig},
			})).To(Succeed())
		}
		for i := range many {
			name := fmt.Sprint("stuck-", i)
			secret(hostile, name, fmt.Appendf(nil,
				"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
					"clusters: [{name: c, cluster: {insecure-skip-tls-verify: true, server: %q}}]\n"+
					"users: [{name: u, user: {username: %q, password: p}}]\n", address, name))
			newGadget(ctx, hostile, name, configMap(name, "a"), inCluster(name), servedBy(operator))
		}
		Eventually(ctx, hanging.arrived.Load).Should(BeNumerically(">=", 1))

		By("creating components of other tenants, with and without a target cluster")
		own, err := os.ReadFile(cluster.Kubeconfig())
		Expect(err).NotTo(HaveOccurred())
		secret(elsewhere, "good", own)
		near := newGadget(ctx, local, "near", configMap("near", "a"), servedBy(operator))
		far := newGadget(ctx, elsewhere, "far", configMap("far", "a"), inCluster("good"), servedBy(operator))
		expectReady(ctx, near)
		expectReady(ctx, far)
		changeManifests(ctx, near, configMap("near", "b"))
		expectReady(ctx, near)
		// The workers take components in the order of their arrival. If the hanging requests occupied the workers, most of
		// them would have ended before the components of the other tenants are ready.
		Expect(hanging.ended.Load()).To(BeNumerically("<", most),
			"the components of other tenants waited for the end of hanging requests")
	},
		Entry("accepts requests and never responds", answerNever, many/2),
		Entry("responds to all requests except writes", onlyWrites(answerNever), many/2),
		Entry("asks to repeat each request after an hour", answerLater, math.MaxInt),
		Entry("asks to repeat each write after an hour", onlyWrites(answerLater), math.MaxInt),
	)
})
