package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
)

// callOperator sends a signed call to an operator, and returns the status and the header Retry-After, or an error.
func callOperator(ctx context.Context, address, path, secret string) string {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewBufferString("{}"))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Hub-Signature-256", eventsource.Sign([]byte(secret), []byte("{}")))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	return strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", response.Header.Get("Retry-After")))
}

// counter is a service that counts its requests, and answers with their number.
func counter() (url string, requests *atomic.Int64) {
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"EUR": %d}`, requests.Add(1))
	}))
	DeferCleanup(server.Close)
	return server.URL, requests
}

// createCalled creates a component that accepts calls and polls addresses, once an hour or once in ten seconds.
func createCalled(ctx context.Context, namespace, name string, urls ...string) *v1alpha1.Component {
	GinkgoHelper()
	spec := v1alpha1.ComponentSpec{
		Source:  inline("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"),
		Webhook: &v1alpha1.Webhook{SecretRef: v1alpha1.SecretKeyReference{Name: "caller"}},
	}
	for i, url := range urls {
		interval := time.Hour
		if i > 0 {
			interval = 10 * time.Second
		}
		spec.Inputs = append(spec.Inputs, v1alpha1.Input{
			Name: fmt.Sprint("rates", i), Poll: &v1alpha1.PollInput{URL: url, Interval: &metav1.Duration{Duration: interval}},
		})
	}
	c := createComponent(ctx, namespace, name, spec)
	Eventually(status(ctx, c)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
	return c
}

func createKey(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(administrator.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "caller"},
		Data:       map[string][]byte{"value": []byte("s3cret")},
	})).To(Succeed())
}

var _ = Describe("Calls to components:", func() {
	It("each replica accepts calls, also after the leader was killed", func(ctx SpecContext) {
		expectWork(ctx)
		Expect(stopOperator()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			stopOperator = startOperator()
			expectWork(ctx)
		})
		// The replicas listen on all addresses, as in a pod.
		start := func() (address string, pid int, log *gbytes.Buffer, stop func() error) {
			address, log = freeAddress(), gbytes.NewBuffer()
			_, port, _ := strings.Cut(address, ":")
			stop = startOperatorWithLog(log, "--webhook-bind-address=:"+port, "--webhook-advertise-ip=127.0.0.1",
				"--poll-hosts=127.0.0.1")
			DeferCleanup(func() { _ = stop() }) // It has ended before, unless the spec failed.
			return address, operatorPID, log, stop
		}
		first, firstPID, firstLog, stopFirst := start()
		expectWork(ctx)
		second, _, secondLog, stopSecond := start()
		Eventually(secondLog).WithTimeout(soon).Should(gbytes.Say("listening for webhook calls"))

		namespace := newNamespace(ctx)
		createKey(ctx, namespace)
		url, requests := counter()
		createCalled(ctx, namespace, "shop", url)
		path := "/webhook/" + namespace + "/shop"
		before := requests.Load()

		By("calling the standby, which learns the address of the leader within seconds")
		Eventually(ctx, callOperator).WithArguments(second, path, "s3cret").WithTimeout(soon).Should(Equal("202"))
		Eventually(requests.Load).WithTimeout(soon).Should(Equal(before + 1))
		Expect(callOperator(ctx, second, path, "guessed")).To(Equal("401"))
		Expect(callOperator(ctx, second, "/webhook/"+namespace+"/unknown", "s3cret")).To(Equal("401"))
		Expect(callOperator(ctx, first, path, "s3cret")).To(Equal("202"))
		Eventually(requests.Load).WithTimeout(soon).Should(Equal(before + 2))

		By("killing the leader")
		Expect(syscall.Kill(firstPID, syscall.SIGKILL)).To(Succeed())
		Expect(stopFirst()).NotTo(Succeed())
		Expect(callOperator(ctx, second, path, "s3cret")).To(Equal("503 5"))
		Eventually(ctx, callOperator).WithArguments(second, path, "s3cret").WithTimeout(time.Minute).Should(Equal("202"))
		// The new leader polls at its start; a call polls again.
		Eventually(requests.Load).WithTimeout(soon).Should(BeNumerically(">=", before+3))
		settled := requests.Load()
		Eventually(ctx, callOperator).WithArguments(second, path, "s3cret").WithTimeout(soon).Should(Equal("202"))
		Eventually(requests.Load).WithTimeout(soon).Should(BeNumerically(">", settled))

		By("stopping the leader right after a call that it has accepted, and not followed yet")
		third, _, thirdLog, stopThird := start()
		Eventually(thirdLog).WithTimeout(soon).Should(gbytes.Say("listening for webhook calls"))
		Eventually(ctx, callOperator).WithArguments(second, path, "s3cret").WithTimeout(soon).Should(Equal("202"))
		polled := requests.Load()
		Expect(callOperator(ctx, second, path, "s3cret")).To(Equal("202"))
		Expect(stopSecond()).To(Succeed())
		Eventually(requests.Load).WithTimeout(time.Minute).Should(BeNumerically(">", polled))
		Eventually(ctx, callOperator).WithArguments(third, path, "s3cret").WithTimeout(soon).Should(Equal("202"))
		Expect(stopThird()).To(Succeed())
		for _, log := range []*gbytes.Buffer{firstLog, secondLog, thirdLog} {
			Expect(string(log.Contents())).NotTo(ContainSubstring("s3cret"))
		}
	}, SpecTimeout(4*time.Minute))

	It("a key that cannot be read is told to the owner and to the administrator, and not "+
		"to the caller", func(ctx SpecContext) {
		expectWork(ctx)
		Expect(stopOperator()).To(Succeed())
		address, log := freeAddress(), gbytes.NewBuffer()
		stopOperator = startOperatorWithLog(log, "--webhook-bind-address="+address, "--poll-hosts=127.0.0.1")
		DeferCleanup(func(ctx SpecContext) {
			expectWork(ctx)
			Expect(stopOperator()).To(Succeed())
			stopOperator = startOperator()
			expectWork(ctx)
		})
		namespace := newNamespace(ctx)
		hourly, hourlyRequests := counter()
		frequent, _ := counter()
		c := createCalled(ctx, namespace, "shop", hourly, frequent)
		path := "/webhook/" + namespace + "/shop"
		Expect(callOperator(ctx, address, path, "s3cret")).To(Equal("401"))
		Eventually(log).WithTimeout(soon).
			Should(gbytes.Say(`webhook calls are refused.*"cause":"secrets \\"caller\\" not found"`))
		Expect(string(log.Contents())).To(ContainSubstring(`"component":{"name":"shop","namespace":"` + namespace + `"}`))
		Eventually(func() []string {
			var found eventsv1.EventList
			Expect(administrator.List(ctx, &found, client.InNamespace(namespace))).To(Succeed())
			var notes []string
			for _, event := range found.Items {
				if event.Regarding.UID == c.UID && event.Reason == "WebhookKeyUnreadable" {
					notes = append(notes, event.Type+" "+event.Note)
				}
			}
			return notes
		}).WithTimeout(soon).Should(ConsistOf(
			`Warning calls are refused, because the key of their signatures (spec.webhook.secretRef) cannot be read: secrets "caller" not found`))

		By("the key, after at most ten seconds")
		createKey(ctx, namespace)
		Eventually(ctx, callOperator).WithArguments(address, path, "s3cret").WithTimeout(soon).Should(Equal("202"))
		// A call asks all addresses, also if another one is due anyway.
		Eventually(hourlyRequests.Load).WithTimeout(soon).Should(Equal(int64(2)))
		Expect(string(log.Contents())).NotTo(ContainSubstring("s3cret"))
	}, SpecTimeout(3*time.Minute))
})
