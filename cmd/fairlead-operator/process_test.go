package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// freeAddress returns an unused loopback address.
func freeAddress() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func answers(url string) func() (int, error) {
	return func() (int, error) {
		response, err := http.Get(url)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
}

var _ = Describe("The process", func() {
	It("reconciles only components in the namespaces of --observe-namespaces", func(ctx SpecContext) {
		expectWork(ctx)
		here, there := newNamespace(ctx), newNamespace(ctx)
		Expect(stopOperator()).To(Succeed())
		stopOperator = startOperator("--observe=namespaces", "--observe-namespaces="+here)
		DeferCleanup(func(ctx SpecContext) {
			Expect(stopOperator()).To(Succeed())
			stopOperator = startOperator()
			expectWork(ctx)
		})
		spec := v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)}
		ignored := createComponent(ctx, there, "shop", spec)
		Eventually(status(ctx, createComponent(ctx, here, "shop", spec))).WithTimeout(soon).
			Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(ignored), ignored)).To(Succeed())
		Expect(ignored.Status.Conditions).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))

	It("serves probes, metrics and profiles while the operator waits for the Lease, and ends after a signal",
		func(SpecContext) {
			probes, metrics, profiles := freeAddress(), freeAddress(), freeAddress()
			stop := startOperator("--health-probe-bind-address="+probes, "--metrics-bind-address="+metrics,
				"--metrics-secure=false", "--pprof-bind-address="+profiles)
			for _, url := range []string{
				"http://" + probes + "/healthz", "http://" + probes + "/readyz", "http://" + metrics + "/metrics", "http://" +
					profiles + "/debug/pprof/heap",
			} {
				Eventually(answers(url)).WithTimeout(20*time.Second).Should(Equal(http.StatusOK), url)
			}
			started := time.Now()
			Expect(stop()).To(Succeed())
			Expect(time.Since(started)).To(BeNumerically("<", 5*time.Second))
		}, SpecTimeout(time.Minute))

	It("releases the Lease when the operator ends, so that the next operator need not wait", func(ctx SpecContext) {
		// An operator may have just released the Lease. Another operator requests it within four seconds.
		Eventually(ctx, leaseHolder).WithTimeout(soon).ShouldNot(BeEmpty())
		first, err := leaseHolder(ctx)
		Expect(err).NotTo(HaveOccurred())
		probes := freeAddress()
		next := startOperator("--health-probe-bind-address=" + probes)
		Eventually(answers("http://" + probes + "/readyz")).WithTimeout(soon).Should(Equal(http.StatusOK))

		Expect(stopOperator()).To(Succeed())
		stopOperator = next
		// Without a release, the next operator would wait for the fifteen seconds of the Lease.
		Eventually(ctx, leaseHolder).WithTimeout(soon).ShouldNot(Or(BeEmpty(), Equal(first)))
		component := createComponent(ctx, newNamespace(ctx), "next", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), Values: &runtime.RawExtension{Raw: []byte(`{"level":"info"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
	}, SpecTimeout(2*time.Minute))

	It("has its own user agent, and no rights of an administrator", func(ctx SpecContext) {
		own, err := client.New(identity.Config, client.Options{Scheme: administrator.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		for _, attributes := range []authorizationv1.ResourceAttributes{
			{Verb: "*", Group: "*", Resource: "*"},
			{Verb: "impersonate", Resource: "users"},
			{Verb: "create", Resource: "nodes"},
			{Verb: "deletecollection", Resource: "secrets", Namespace: "default"},
			{Verb: "get", Resource: "pods", Subresource: "exec", Namespace: "default"},
			{Verb: "create", Group: "example.com", Resource: "things", Namespace: "default"},
		} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
			Expect(own.Create(ctx, review)).To(Succeed())
			Expect(review.Status.Allowed).To(BeFalse(), fmt.Sprint(attributes))
		}
		events, err := cluster.AuditEvents(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(events.UserAgent("fairlead-operator/dev")).NotTo(BeEmpty())
		Expect(events.UserAgent("fairlead-operator/dev").User(operatorUser)).
			To(HaveLen(len(events.UserAgent("fairlead-operator/dev"))))
	}, SpecTimeout(time.Minute))
})
