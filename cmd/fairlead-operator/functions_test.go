package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// renderer is a generator. It renders a ConfigMap with a value and with the references that the function received.
func renderer(_ context.Context, req generator.Request) ([]client.Object, error) {
	if req.Parameters["level"] == "forbidden" {
		return nil, fmt.Errorf("parameter level: want info or debug")
	}
	req.Tell(generator.Result{Severity: generator.SeverityWarning, Message: "deprecated: write severity", Field: "level"})
	sent := ""
	for reference, contents := range req.References {
		sent += fmt.Sprintf("%s %s: %s", reference.Kind, reference.Name, contents["zone"])
	}
	return []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"},
		Data:       map[string]string{"level": fmt.Sprint(req.Parameters["level"]), "sent": sent},
	}}, nil
}

// service is an HTTPS service with a function. It requires a token.
type service struct {
	*httptest.Server
	calls atomic.Int64
	mu    sync.Mutex
	token string
}

// newService starts a service. If callers is not nil, it configures the request for certificates of the clients.
func newService(handler http.Handler, callers *tls.Config) *service {
	GinkgoHelper()
	s := &service{token: "first"}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		s.mu.Lock()
		token := s.token
		s.mu.Unlock()
		// Like a real function, the service reads the whole body first. Otherwise the response could be cut off, and the
		// service would not notice that the client has closed the connection.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(GinkgoWriter, "", 0)
	s.TLS = callers
	s.StartTLS()
	DeferCleanup(s.Close)
	return s
}

func (s *service) accept(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

func (s *service) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

var _ = Describe("A function", func() {
	var (
		namespace string
		answering atomic.Pointer[http.HandlerFunc]
		server    *service
	)
	never := &metav1.Duration{Duration: time.Hour}
	answer := func(handle http.HandlerFunc) { answering.Store(&handle) }

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		answer(function.Handler(generator.GeneratorFunc(renderer), function.HandlerOptions{}).ServeHTTP)
		server = newService(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answering.Load())(w, r) }), nil)
		Expect(administrator.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "trusted"},
			Data:       map[string]string{"ca.crt": string(server.ca())},
		})).To(Succeed())
		Expect(administrator.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "access"}, StringData: map[string]string{"token": "first"},
		})).To(Succeed())
	})
	spec := func() v1alpha1.ComponentSpec {
		return v1alpha1.ComponentSpec{
			Generator: "Function", RetrySpec: metav1alpha1.RetrySpec{RetryDuration: never},
			Values: &runtime.RawExtension{Raw: []byte(`{"level":"info"}`)},
			Function: &v1alpha1.FunctionGenerator{
				URL: server.URL, CARef: &v1alpha1.CAReference{Kind: "ConfigMap", Name: "trusted"},
				TokenRef: &v1alpha1.TokenReference{Name: "access"},
			},
		}
	}
	rotate := func(ctx context.Context, token string) {
		GinkgoHelper()
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"token":%q}}`, token))
		Expect(administrator.Patch(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "access"}},
			patch)).To(Succeed())
	}
	current := func(ctx context.Context, component *v1alpha1.Component) v1alpha1.Component {
		GinkgoHelper()
		var found v1alpha1.Component
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), &found)).To(Succeed())
		return found
	}

	It("that is written in Go, behind the handler, renders a component", func(ctx SpecContext) {
		Expect(administrator.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "zones"}, Data: map[string]string{"zone": "north"},
		})).To(Succeed())
		with := spec()
		with.Function.Items = []v1alpha1.FunctionItem{{Kind: "ConfigMap", Name: "zones"}}
		component := createComponent(ctx, namespace, "shop", with)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		var rendered corev1.ConfigMap
		Expect(administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &rendered)).To(Succeed())
		Expect(rendered.Data).To(Equal(map[string]string{"level": "info", "sent": "ConfigMap zones: north"}))

		told := meta.FindStatusCondition(current(ctx, component).Status.Conditions, metav1alpha1.ConditionGeneratorResults)
		Expect(told).To(HaveField("Message", "level: deprecated: write severity"))
		Expect(told).To(HaveField("Reason", metav1alpha1.ReasonWarning))

		Expect(administrator.Patch(ctx, component,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"values":{"level":"debug"}}}`)))).To(Succeed())
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("debug"))
		Expect(administrator.Patch(ctx, component,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"values":{"level":"forbidden"}}}`)))).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(Equal(
			"Stalled GenerateFailed: spec.function: " + server.URL + ": parameter level: want info or debug"))
	}, SpecTimeout(time.Minute))

	It("is not called again after a change of its token, unless the last call failed", func(ctx SpecContext) {
		component := createComponent(ctx, namespace, "shop", spec())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		// Definitions that other specs create or delete also lead to calls. The operator reads the served types again 1 s
		// and 4 s after such a change.
		Eventually(func(g Gomega) {
			calls := server.calls.Load()
			g.Consistently(server.calls.Load).WithTimeout(5 * time.Second).Should(Equal(calls))
		}).WithTimeout(soon).Should(Succeed())
		before, calls := current(ctx, component), server.calls.Load()
		rotate(ctx, "second")
		server.accept("second")
		Consistently(func() int64 { return server.calls.Load() }).WithTimeout(time.Second).Should(Equal(calls))
		Expect(current(ctx, component).Status).To(Equal(before.Status))

		server.accept("third")
		Expect(administrator.Patch(ctx, component,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"values":{"level":"debug"}}}`)))).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(Equal(
			"Stalled GenerateFailed: spec.function: " + server.URL +
				": the service answers 401 Unauthorized: renew the token, or the client certificate"))
		rotate(ctx, "third")
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("debug"))
	}, SpecTimeout(time.Minute))

	DescribeTable("that does not work",
		func(ctx SpecContext, prepare func(spec *v1alpha1.ComponentSpec), want string) {
			with := spec()
			prepare(&with)
			component := createComponent(ctx, namespace, "shop", with)
			want = strings.NewReplacer("URL:", server.URL+":", "NAMESPACE", namespace, "HOST",
				strings.TrimPrefix(server.URL, "https://")).Replace(want)
			Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix(want))
		},
		Entry("is called again if no connection to the function "+
			"was possible", func(*v1alpha1.ComponentSpec) { server.Close() },
			"Progressing Retrying: spec.function: URL: dial tcp HOST: connect: connection refused"),
		Entry("is called again if the function returned an error", func(*v1alpha1.ComponentSpec) {
			answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
		}, "Progressing Retrying: spec.function: URL: the service answers 500 Internal Server Error"),
		Entry("is called again if the function did not respond in time", func(spec *v1alpha1.ComponentSpec) {
			answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			spec.Function.Timeout = &metav1.Duration{Duration: 100 * time.Millisecond}
		}, "Progressing Retrying: spec.function: URL: the service did not answer within 100ms"),
		Entry("stalls the component when its response is not YAML", func(*v1alpha1.ComponentSpec) {
			answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{garbage") })
		}, "Stalled GenerateFailed: spec.function: URL: the answer: the body is neither JSON nor YAML"),
		Entry("stalls the component when its response is too large", func(*v1alpha1.ComponentSpec) {
			answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 17<<20)) })
		}, "Stalled GenerateFailed: spec.function: URL: the answer is larger than 16777216 bytes"),
		Entry("stalls the component when the function renders an invalid manifest", func(*v1alpha1.ComponentSpec) {
			answer(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w,
					"{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [{apiVersion: v1, metadata: {name: a}}]}")
			})
		}, "Stalled GenerateFailed: spec.function: URL: the answer:1: items[0]: no kind: write one, such as ConfigMap"),
		Entry("stalls the component when the function responds with a redirect", func(*v1alpha1.ComponentSpec) {
			answer(http.RedirectHandler("https://example.com/", http.StatusTemporaryRedirect).ServeHTTP)
		}, "Stalled GenerateFailed: spec.function: URL: the service answers 307 Temporary Redirect: "+
			"redirects are not followed; use the URL that the redirect leads to"),
		Entry("stalls the component when another CA has signed the certificate of the function",
			func(spec *v1alpha1.ComponentSpec) { spec.Function.CARef = nil },
			"Stalled GenerateFailed: spec.function: URL: the certificate of the service is not trusted: "+
				"tls: failed to verify certificate: "+
				"x509: "),
		Entry("stalls the component when the token has expired", func(*v1alpha1.ComponentSpec) { server.accept("later") },
			"Stalled GenerateFailed: spec.function: URL: the service answers 401 Unauthorized: "+
				"renew the token, or the client certificate"),
		Entry("stalls the component when the Secret with the token "+
			"does not exist", func(spec *v1alpha1.ComponentSpec) { spec.Function.TokenRef.Name = "absent" },
			"Stalled ReferenceNotFound: Secret NAMESPACE/absent does not exist"),
		Entry("stalls the component when its identity has no right to read the Secret with the token",
			func(spec *v1alpha1.ComponentSpec) { spec.ServiceAccount = "nobody" },
			"Stalled Forbidden: read "),
	)

	It("with a certificate of another CA is called when the CA in the component is corrected", func(ctx SpecContext) {
		others, _, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
		Expect(err).NotTo(HaveOccurred())
		authority := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "others"},
			Data:       map[string]string{"ca.crt": string(others)},
		}
		Expect(administrator.Create(ctx, authority)).To(Succeed())
		with := spec()
		with.Function.CARef.Name = authority.Name
		component := createComponent(ctx, namespace, "shop", with)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix(
			"Stalled GenerateFailed: spec.function: " + server.URL +
				": the certificate of the service is not trusted: tls: failed to verify certificate: x509: "))
		Expect(server.calls.Load()).To(BeZero(), "the service received a request")
		authority.Data["ca.crt"] = string(server.ca())
		Expect(administrator.Update(ctx, authority)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
	}, SpecTimeout(time.Minute))

	It("that requests a client certificate gets the certificate in a Secret, also after a renewal of "+
		"the certificate", func(ctx SpecContext) {
		var callers sync.Map
		server = newService(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			callers.Store(r.TLS.PeerCertificates[0].Subject.CommonName, true)
			(*answering.Load())(w, r)
		}), &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12})
		Expect(administrator.Update(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "trusted"},
			Data:       map[string]string{"ca.crt": string(server.ca())},
		})).To(Succeed())
		secret := func(caller string) *corev1.Secret {
			certificate, key, err := cert.GenerateSelfSignedCertKey(caller, nil, nil)
			Expect(err).NotTo(HaveOccurred())
			return &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "caller"}, Type: corev1.SecretTypeTLS,
				Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
			}
		}
		called := func(caller string) func() bool {
			return func() bool {
				found := false
				callers.Range(func(name, _ any) bool {
					found = found || strings.HasPrefix(fmt.Sprint(name), caller+"@")
					return true
				})
				return found
			}
		}
		component := createComponent(ctx, namespace, "shop", spec())
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(HavePrefix("Stalled GenerateFailed: spec.function: " + server.URL + ": "))
		Expect(server.calls.Load()).To(BeZero(),
			"the service received a request over a connection without a client certificate")

		Expect(administrator.Create(ctx, secret("first"))).To(Succeed())
		named := client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"function":{"clientCertificateRef":{"name":"caller"}}}}`))
		Expect(administrator.Patch(ctx, component, named)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(called("first")()).To(BeTrue())

		Expect(administrator.Update(ctx, secret("second"))).To(Succeed())
		Expect(administrator.Patch(ctx, component,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"values":{"level":"debug"}}}`)))).To(Succeed())
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("debug"))
		Eventually(called("second")).WithTimeout(soon).Should(BeTrue())
	}, SpecTimeout(time.Minute))

	It("that was not available is called again when it is available", func(ctx SpecContext) {
		answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		component := createComponent(ctx, namespace, "shop", spec())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Progressing Retrying: "))
		answer(function.Handler(generator.GeneratorFunc(renderer), function.HandlerOptions{}).ServeHTTP)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
	}, SpecTimeout(time.Minute))
})
