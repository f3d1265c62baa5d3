package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
)

// signedCall posts an empty JSON object to a webhook, and returns the status code of the response.
func signedCall(ctx context.Context, url, secret string) int {
	GinkgoHelper()
	body := []byte("{}")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Hub-Signature-256", eventsource.Sign([]byte(secret), body))
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.Body.Close()).To(Succeed())
	return response.StatusCode
}

// passes returns how many passes an operator has made, by their outcomes, in the form of its metrics.
func passes(ctx context.Context, metricsURL string) []string {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metricsURL, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.Body.Close()).To(Succeed())
	var lines []string
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "fairlead_passes_total{") {
			lines = append(lines, line)
		}
	}
	Expect(lines).NotTo(BeEmpty())
	return lines
}

var _ = Describe("Inputs in the spec of a component:", func() {
	const template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n" +
		"data: {level: '{{ .Values.log.level }}', rate: '{{ .Values.inputs.rates.EUR }}'}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: verbose\n  annotations:\n" +
		"    fairlead.io/include-when: parameters.log.level == 'debug' && parameters.inputs.rates.EUR >= 1\n"

	It("an object and a polled address render the component again, and a signed call asks at once", func(ctx SpecContext) {
		calls := freeAddress()
		expectWork(ctx)
		Expect(stopOperator()).To(Succeed())
		stopOperator = startOperator("--webhook-bind-address="+calls, "--poll-hosts=127.0.0.1")
		DeferCleanup(func(ctx SpecContext) {
			Expect(stopOperator()).To(Succeed())
			stopOperator = startOperator()
			expectWork(ctx)
		})
		namespace, other := newNamespace(ctx), newNamespace(ctx)
		var rate, requests atomic.Int64
		var broken atomic.Bool
		rate.Store(1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			if broken.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = fmt.Fprintf(w, `{"EUR": %d}`, rate.Load())
		}))
		DeferCleanup(server.Close)
		team := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "logging"},
			Data:       map[string]string{"level": "info"},
		}
		Expect(administrator.Create(ctx, team)).To(Succeed())
		Expect(administrator.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "caller"},
			Data:       map[string][]byte{"value": []byte("s3cret")},
		})).To(Succeed())
		c := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", template),
			Inputs: []v1alpha1.Input{
				{Name: "logging", Path: "log", Object: &v1alpha1.ObjectInput{
					APIVersion: "v1", Kind: "ConfigMap", Namespace: other, Name: "logging", Field: "data",
				}},
				{Name: "rates", Poll: &v1alpha1.PollInput{URL: server.URL, Interval: &metav1.Duration{Duration: time.Hour}}},
			},
			Webhook: &v1alpha1.Webhook{SecretRef: v1alpha1.SecretKeyReference{Name: "caller"}},
		})
		var ticks atomic.Int64
		clock := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"tick": %d}`, ticks.Add(1))
		}))
		DeferCleanup(clock.Close)
		ticking := createComponent(ctx, other, "ticking", v1alpha1.ComponentSpec{
			Source: inline("a.yaml",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: ticks}, data: {last: '{{ .Values.inputs.clock.tick }}'}}"),
			Inputs: []v1alpha1.Input{{Name: "clock", Poll: &v1alpha1.PollInput{
				URL: clock.URL, Interval: &metav1.Duration{Duration: 10 * time.Second},
			}}},
		})
		data := func() map[string]string {
			var settings corev1.ConfigMap
			if err := administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &settings); err != nil {
				return nil
			}
			return settings.Data
		}
		Eventually(data).WithTimeout(soon).Should(Equal(map[string]string{"level": "info", "rate": "1"}))
		Expect(requests.Load()).To(Equal(int64(1)))
		verbose := func() error {
			return administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "verbose"}, &corev1.ConfigMap{})
		}
		Eventually(status(ctx, c)).WithTimeout(soon).Should(HavePrefix("Ready"))
		Expect(apierrors.IsNotFound(verbose())).To(BeTrue(), "its condition sees the object, and is false")
		Expect(administrator.Patch(ctx, team, client.RawPatch(types.MergePatchType, []byte(`{"data":{"level":"debug"}}`)))).
			To(Succeed())
		Eventually(data).WithTimeout(soon).Should(Equal(map[string]string{"level": "debug", "rate": "1"}))
		Eventually(verbose).WithTimeout(soon).Should(Succeed())
		Expect(requests.Load()).To(Equal(int64(1)))

		call := func(path, secret string) int { return signedCall(ctx, "http://"+calls+path, secret) }
		rate.Store(2)
		Expect(call("/webhook/"+namespace+"/shop", "wrong")).To(Equal(http.StatusUnauthorized))
		Expect(call("/webhook/"+namespace+"/unknown", "s3cret")).To(Equal(http.StatusUnauthorized))
		Expect(call("/other", "s3cret")).To(Equal(http.StatusNotFound))
		Consistently(data).Should(HaveKeyWithValue("rate", "1"))
		Expect(call("/webhook/"+namespace+"/shop", "s3cret")).To(Equal(http.StatusAccepted))
		Eventually(data).WithTimeout(soon).Should(HaveKeyWithValue("rate", "2"))

		By("naming the polled value that changed in the history, without showing it")
		Eventually(func() []string {
			Expect(administrator.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			return c.Status.History[0].Changes
		}).WithTimeout(soon).Should(Equal([]string{"input polled: rates.EUR: changed"}))

		By("keeping the last value while the address fails, with a condition")
		broken.Store(true)
		Expect(call("/webhook/"+namespace+"/shop", "s3cret")).To(Equal(http.StatusAccepted))
		Eventually(func() string {
			Expect(administrator.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			for _, condition := range c.Status.Conditions {
				if condition.Type == "InputStale" {
					return condition.Message
				}
			}
			return ""
		}).WithTimeout(soon).Should(And(HavePrefix("polled: since "), ContainSubstring("input rates: "+server.URL),
			ContainSubstring("502")))
		Expect(data()).To(HaveKeyWithValue("rate", "2"))

		By("fetching at the interval, without any other cause")
		Eventually(func() string {
			var last corev1.ConfigMap
			Expect(client.IgnoreNotFound(administrator.Get(ctx, client.ObjectKey{Namespace: other, Name: "ticks"}, &last))).
				To(Succeed())
			return last.Data["last"]
		}).WithTimeout(soon).Should(And(Not(BeEmpty()), Not(Equal("1"))))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(ticking), ticking)).To(Succeed())
		Expect(ticking.Generation).To(BeEquivalentTo(1))
	}, SpecTimeout(2*time.Minute))

	It("templates and conditions see each change of an object, and of its status", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		flag := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "flag"},
			Data:       map[string]string{"on": "true"},
		}
		Expect(administrator.Create(ctx, flag)).To(Succeed())
		backend := &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: "web",
			Port: networkingv1.ServiceBackendPort{Number: 80},
		}}
		ingress := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec:       networkingv1.IngressSpec{DefaultBackend: backend},
		}
		Expect(administrator.Create(ctx, ingress)).To(Succeed())
		address := func(ip string) {
			GinkgoHelper()
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"`+ip+`"}]}}}`))
			Expect(administrator.Status().Patch(ctx, ingress, patch)).To(Succeed())
		}
		address("10.0.0.1")
		optional := func(name, condition string) string {
			return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name +
				"\n  annotations: {fairlead.io/include-when: \"" + condition + "\"}\n"
		}
		const template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n" +
			"data: {ip: '{{ (index .Values.ingress.loadBalancer.ingress 0).ip }}'}\n"
		const isFirst = "parameters.ingress.loadBalancer.ingress[0].ip == '10.0.0.1'"
		inputs := []v1alpha1.Input{
			{Name: "flag", Path: "flag", Object: &v1alpha1.ObjectInput{
				APIVersion: "v1", Kind: "ConfigMap", Name: "flag",
				Field: "data",
			}},
			{Name: "ingress", Path: "ingress", Object: &v1alpha1.ObjectInput{
				APIVersion: "networking.k8s.io/v1", Kind: "Ingress",
				Name: "web", Field: "status",
			}},
		}
		both := createComponent(ctx, namespace, "both", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", template+optional("first", isFirst)), Inputs: inputs,
		})
		// The templates of this component do not use the inputs.
		conditions := createComponent(ctx, namespace, "conditions", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", optional("flagged", "parameters.flag.on == 'true'")+optional("addressed", isFirst)),
			Inputs: inputs,
		})
		has := func() []string {
			var all corev1.ConfigMapList
			Expect(administrator.List(ctx, &all, client.InNamespace(namespace))).To(Succeed())
			var names []string
			for _, o := range all.Items {
				if slices.Contains([]string{"first", "flagged", "addressed"}, o.Name) {
					names = append(names, o.Name)
				}
				if o.Name == "settings" {
					names = append(names, o.Data["ip"])
				}
			}
			return names
		}
		Eventually(has).WithTimeout(soon).Should(ConsistOf("10.0.0.1", "first", "flagged", "addressed"))
		for _, c := range []*v1alpha1.Component{both, conditions} {
			Eventually(status(ctx, c)).WithTimeout(soon).Should(HavePrefix("Ready"))
		}
		Expect(administrator.Patch(ctx, flag, client.RawPatch(types.MergePatchType, []byte(`{"data":{"on":"false"}}`)))).
			To(Succeed())
		Eventually(has).WithTimeout(soon).Should(ConsistOf("10.0.0.1", "first", "addressed"))
		address("10.0.0.2")
		Eventually(has).WithTimeout(soon).Should(ConsistOf("10.0.0.2"))
		address("10.0.0.1")
		Eventually(has).WithTimeout(soon).Should(ConsistOf("10.0.0.1", "first", "addressed"))
	}, SpecTimeout(2*time.Minute))

	It("a call whose polls return equal values starts no pass", func(ctx SpecContext) {
		calls, address, namespace := freeAddress(), freeAddress(), newNamespace(ctx)
		metrics := "http://" + address + "/metrics"
		expectWork(ctx)
		Expect(stopOperator()).To(Succeed())
		// The operator serves no other component, so it makes no other passes.
		stopOperator = startOperator("--observe=namespaces", "--observe-namespaces="+namespace,
			"--webhook-bind-address="+calls, "--poll-hosts=127.0.0.1",
			"--metrics-bind-address="+address, "--metrics-secure=false")
		DeferCleanup(func(ctx SpecContext) {
			Expect(stopOperator()).To(Succeed())
			stopOperator = startOperator()
			expectWork(ctx)
		})
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			_, _ = io.WriteString(w, `{"EUR": 1}`)
		}))
		DeferCleanup(server.Close)
		Expect(administrator.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "caller"},
			Data:       map[string][]byte{"value": []byte("s3cret")},
		})).To(Succeed())
		c := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"),
			Inputs: []v1alpha1.Input{
				{Name: "rates", Poll: &v1alpha1.PollInput{URL: server.URL, Interval: &metav1.Duration{Duration: time.Hour}}},
			},
			Webhook: &v1alpha1.Webhook{SecretRef: v1alpha1.SecretKeyReference{Name: "caller"}},
		})
		Eventually(status(ctx, c)).WithTimeout(soon).Should(HavePrefix("Ready"))
		before := []string{}
		Eventually(func() bool { // All passes have ended.
			last := before
			before = passes(ctx, metrics)
			return slices.Equal(before, last)
		}).WithPolling(time.Second).WithTimeout(soon).Should(BeTrue())
		asked := requests.Load()
		Expect(signedCall(ctx, "http://"+calls+"/webhook/"+namespace+"/shop", "s3cret")).To(Equal(http.StatusAccepted))
		Eventually(requests.Load).WithTimeout(soon).Should(Equal(asked + 1))
		Consistently(func() []string { return passes(ctx, metrics) }).WithTimeout(2 * time.Second).Should(Equal(before))
	}, SpecTimeout(2*time.Minute))

	DescribeTable("mistakes are refused with the reason:", func(ctx SpecContext, input v1alpha1.Input, want string) {
		namespace := newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bad"}}
		c.Spec = v1alpha1.ComponentSpec{
			Source: inline("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"),
			Inputs: []v1alpha1.Input{input, {Name: "first", Path: "a.b", Object: &v1alpha1.ObjectInput{
				APIVersion: "v1", Kind: "ConfigMap", Name: "none", Optional: true,
			}}},
		}
		if err := administrator.Create(ctx, c); err != nil {
			Expect(err.Error()).To(ContainSubstring(want))
			return
		}
		Eventually(status(ctx, c)).WithTimeout(soon).
			Should(ContainSubstring(strings.ReplaceAll(want, "NAMESPACE", namespace)))
	},
		Entry("neither object nor poll", v1alpha1.Input{Name: "x"}, "set either object or poll"),
		Entry("a Secret", v1alpha1.Input{Name: "x", Object: &v1alpha1.ObjectInput{
			APIVersion: "v1", Kind: "Secret",
			Name: "s",
		}},
			"a Secret cannot be an input; name it in valuesFrom"),
		Entry("a short interval", v1alpha1.Input{Name: "x", Poll: &v1alpha1.PollInput{
			URL: "http://127.0.0.1:1", Interval: &metav1.Duration{Duration: time.Second},
		}}, "want a duration of 10s or more"),
		Entry("credentials in the URL", v1alpha1.Input{Name: "x", Poll: &v1alpha1.PollInput{URL: "http://a:b@c"}},
			"want an http or https URL without user and password"),
		Entry("overlapping paths", v1alpha1.Input{Name: "x", Path: "a", Object: &v1alpha1.ObjectInput{
			APIVersion: "v1", Kind: "ConfigMap", Name: "none", Optional: true,
		}}, "its path a.b overlaps with the path a of input x; choose another path"),
		Entry("a missing object", v1alpha1.Input{Name: "x", Object: &v1alpha1.ObjectInput{
			APIVersion: "v1", Kind: "ConfigMap",
			Name: "none",
		}},
			"spec.inputs[0] (x): ConfigMap none does not exist: create it, or set object.optional"),
		Entry("a host that components may not poll",
			v1alpha1.Input{Name: "x", Poll: &v1alpha1.PollInput{URL: "http://169.254.169.254/x"}},
			"Retrying: input polled: no value yet: input x: components may not poll host 169.254.169.254; an administrator "+
				"can allow it"),
	)
})
