package operator

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var _ = Describe("Services of externals", func() {
	newExternals := func(services ...v1alpha1.ExternalService) *v1alpha1.Component {
		var spec v1alpha1.ComponentSpec
		for i, service := range services {
			spec.Externals = append(spec.Externals, v1alpha1.External{Kind: string(rune('A' + i)), Service: service})
		}
		return newComponent(spec)
	}
	request := func(c *v1alpha1.Component, credentials generator.References) external.Request {
		return external.Request{
			Component: c, Key: manifests.Key{Group: external.Group, Kind: "A", Name: "one"}, ID: "1", Token: "t",
			Spec: json.RawMessage(`{"a":1}`), Credentials: credentials,
		}
	}

	It("makes no drivers for a component without externals, and for objects of other types", func() {
		services := newExternalServices()
		Expect(services.of(newComponent(v1alpha1.ComponentSpec{}))).To(BeEmpty())
		Expect(services.of(&metav1.PartialObjectMetadata{})).To(BeEmpty())
	})

	It("returns the same driver while namespace and settings are the same", func() {
		services := newExternalServices()
		first := must(services.of(newExternals(v1alpha1.ExternalService{URL: "https://a"})))[0]
		Expect(must(services.of(newExternals(v1alpha1.ExternalService{URL: "https://a"})))[0]).To(BeIdenticalTo(first))
		Expect(must(services.of(newExternals(v1alpha1.ExternalService{URL: "https://b"})))[0]).NotTo(BeIdenticalTo(first))
		elsewhere := newExternals(v1alpha1.ExternalService{URL: "https://a"})
		elsewhere.Namespace = "elsewhere"
		Expect(must(services.of(elsewhere))[0]).NotTo(BeIdenticalTo(first), "credentials are in the namespace")
	})

	It("reports all specs that an older definition accepted", func() {
		_, err := newExternalServices().of(newExternals(
			v1alpha1.ExternalService{URL: "ftp://a"}, v1alpha1.ExternalService{URL: "https://me@a"}))
		Expect(err).To(MatchError(And(
			ContainSubstring("spec.externals[A].service: url: want one such as"),
			ContainSubstring("spec.externals[B].service: url: the URL must not contain a user"),
		)))
	})

	It("describes a kind by its spec", func() {
		services := newExternalServices()
		info := must(services.of(newExternals(v1alpha1.ExternalService{URL: "https://a"})))[0].Info()
		Expect(info).To(Equal(external.Info{
			Kind: "A", Creates: true, Updates: true, Deletes: true, Timeout: external.DefaultTimeout,
			Poll: external.DefaultPoll, Settle: external.DefaultSettle, Concurrency: external.DefaultConcurrency,
			Rate: external.DefaultRate, Burst: external.DefaultBurst,
		}))
		full := v1alpha1.ExternalService{
			URL: "https://a", Methods: []v1alpha1.ExternalMethod{"create", "find", "list"},
			Timeout: &metav1.Duration{Duration: time.Second}, Poll: &metav1.Duration{Duration: time.Hour},
			Settle: &metav1.Duration{}, IdempotentFor: &metav1.Duration{Duration: time.Minute}, Concurrency: 2, Rate: 3,
		}
		Expect(must(services.of(newExternals(full)))[0].Info()).To(Equal(external.Info{
			Kind: "A", Creates: true, Finds: true, Lists: true, Timeout: time.Second, Poll: time.Hour,
			IdempotentFor: time.Minute, Concurrency: 2, Rate: 3, Burst: external.DefaultBurst,
		}))
	})

	It("needs the objects with the credentials of the connection", func() {
		d := must(newExternalServices().of(newExternals(v1alpha1.ExternalService{
			URL: "https://a", CARef: &v1alpha1.CAReference{Kind: "ConfigMap", Name: "ca"},
			TokenRef: &v1alpha1.TokenReference{Name: "token"}, ClientCertificateRef: &v1alpha1.SecretReference{Name: "me"},
		})))[0]
		referrer, ok := d.(external.Referrer)
		Expect(ok).To(BeTrue())
		Expect(referrer.References()).To(ConsistOf(
			metav1alpha1.Reference{Kind: "ConfigMap", Name: "ca", Credential: true},
			metav1alpha1.Reference{Kind: "Secret", Name: "token", Credential: true},
			metav1alpha1.Reference{Kind: "Secret", Name: "me", Credential: true},
		))
	})

	It("calls with the credentials of each call, and does not send them as references", func(ctx SpecContext) {
		var authorization []string
		var received map[string]any
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer GinkgoRecover()
			authorization = append(authorization, r.Header.Get("Authorization"))
			Expect(json.NewDecoder(r.Body).Decode(&received)).To(Succeed())
			_, _ = io.WriteString(w, `{"apiVersion":"external.fairlead.io/v1","kind":"Answer","external":{"observed":{}}}`)
		}))
		DeferCleanup(server.Close)
		c := newExternals(v1alpha1.ExternalService{
			URL: server.URL, TokenRef: &v1alpha1.TokenReference{Name: "token"},
			CARef: &v1alpha1.CAReference{Kind: "ConfigMap", Name: "ca"},
		})
		d := must(newExternalServices().of(c))[0]
		credentials := func(token string) generator.References {
			return generator.References{
				secret("token"): data("token", token), configMap("ca"): data("ca.crt", string(certificateOf(server))),
			}
		}
		for _, token := range []string{"one", "two", "two"} {
			_, err := d.Observe(ctx, request(c, credentials(token)))
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(authorization).To(Equal([]string{"Bearer one", "Bearer two", "Bearer two"}))
		Expect(received).NotTo(HaveKey("references"))

		By("leaving out the token")
		_, err := d.Create(ctx, request(c, generator.References{
			secret("token"): data("other", "x"), configMap("ca"): data("ca.crt", string(certificateOf(server))),
		}))
		refused := &external.RefusedError{}
		Expect(err).To(BeAssignableToTypeOf(refused), "the call had no effect")
		Expect(err).To(MatchError(`spec.externals[A].service: tokenRef: Secret apps/token has no content under the key ` +
			`"token"; its keys are other`))
		Expect(d.Check(request(c, generator.References{secret("token"): data("other", "x")})).Invalid).To(HaveOccurred())
		Expect(d.Check(request(c, nil)).Invalid).NotTo(HaveOccurred(), "manifests are checked without credentials")
	})

	It("limits the calls for a namespace, without calls that may have had an effect", func(ctx SpecContext) {
		release := make(chan struct{})
		began := make(chan struct{}, 2*maxExternalCalls)
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			began <- struct{}{}
			<-release
		}))
		DeferCleanup(server.Close)
		DeferCleanup(func() { close(release) })
		services := newExternalServices()
		c := newExternals(v1alpha1.ExternalService{URL: server.URL})
		other := newExternals(v1alpha1.ExternalService{URL: server.URL, Rate: 1})
		for range maxExternalCalls {
			go func() { _, _ = must(services.of(c))[0].Observe(ctx, request(c, nil)) }()
		}
		for range maxExternalCalls {
			Eventually(ctx, began).Should(Receive())
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := must(services.of(other))[0].Create(short, request(other, nil))
		Expect(err).To(BeAssignableToTypeOf(&external.RefusedError{}))
		Expect(err).To(MatchError(ContainSubstring("16 calls to services of the namespace apps are under way")))
		Expect(began).To(BeEmpty())

		By("calling for another namespace")
		other.Namespace = "elsewhere"
		go func() { _, _ = must(services.of(other))[0].Observe(ctx, request(other, nil)) }()
		Eventually(ctx, began).Should(Receive())
	}, SpecTimeout(time.Minute))
})

// certificateOf returns the certificate of a server in PEM form.
func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
