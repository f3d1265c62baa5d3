package cli_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

var _ = Describe("The ready-made operator with services that have further methods", onCluster(func() {
	var (
		cloud     *componenttest.Cloud
		namespace string
	)
	BeforeEach(func(ctx SpecContext) { cloud, namespace = componenttest.NewCloud(), newNamespace(ctx) })
	// run serves a kind, and creates the component "shop" with it.
	run := func(ctx context.Context, kind external.Driver, change func(*v1alpha1.ExternalService)) {
		GinkgoHelper()
		service := serveKind(kind)
		service.StartTLS()
		service.createCredentials(ctx, namespace)
		operate(namespace)
		spec := service.spec()
		change(&spec.Service)
		createShop(ctx, namespace, spec)
	}
	methods := func(more ...v1alpha1.ExternalMethod) []v1alpha1.ExternalMethod {
		return append([]v1alpha1.ExternalMethod{
			v1alpha1.ExternalCreate, v1alpha1.ExternalUpdate, v1alpha1.ExternalDelete,
		}, more...)
	}

	DescribeTable("asks no person about a create whose answer was lost, if the service", func(
		ctx SpecContext, kind func(componenttest.Things) external.Driver, change func(*v1alpha1.ExternalService), creates int,
	) {
		var lost atomic.Bool
		cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" && lost.CompareAndSwap(false, true) {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		run(ctx, kind(componenttest.Things{Cloud: cloud}), change)
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		Expect(lost.Load()).To(BeTrue())
		Expect(cloud.Effects("Create")).To(Equal(1))
		Expect(cloud.Calls("Create")).To(Equal(creates))
		settings := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, settings)).To(Succeed())
		Expect(settings.Data).To(HaveKeyWithValue("id", cloud.Things()[0].ID))
		deleteShop(ctx, namespace)
		Expect(cloud.Things()).To(BeEmpty())
	},
		Entry("has the method find", func(things componenttest.Things) external.Driver {
			return external.Of("Thing", componenttest.FindableThings{Things: things},
				external.Options[componenttest.ThingSpec]{})
		}, func(s *v1alpha1.ExternalService) { s.Methods = methods(v1alpha1.ExternalFind) }, 1),
		Entry("treats creates with the same token as one", func(things componenttest.Things) external.Driver {
			return external.Of("Thing", componenttest.RepeatableThings{Things: things},
				external.Options[componenttest.ThingSpec]{IdempotentFor: time.Hour})
		}, func(s *v1alpha1.ExternalService) { s.IdempotentFor = &metav1.Duration{Duration: time.Hour} }, 2),
	)

	It("observes many externals with one call, if the service has the method list", func(ctx SpecContext) {
		kind := external.Of("Thing", componenttest.ListedThings{Things: componenttest.Things{Cloud: cloud}},
			external.Options[componenttest.ThingSpec]{})
		service := serveKind(kind)
		service.StartTLS()
		service.createCredentials(ctx, namespace)
		operate(namespace)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"things.yaml": `{{ range until 20 }}---
apiVersion: external.fairlead.io/v1
kind: Thing
metadata: {name: "thing-{{ . }}"}
spec: {value: "{{ . }}"}
{{ end }}`}}
		spec := service.spec()
		spec.Service.Methods = methods(v1alpha1.ExternalList)
		c.Spec.Externals = []v1alpha1.External{spec}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		after := func(lists int) {
			GinkgoHelper()
			Eventually(func() int { return cloud.Calls("List") }).Should(BeNumerically(">", lists))
		}
		after(cloud.Calls("List"))
		lists, observed := cloud.Calls("List"), cloud.Calls("Observe")
		after(lists + 2)
		Expect(cloud.Calls("Observe")).To(Equal(observed), "each poll is a list")

		By("repairing an external that a list shows")
		made := cloud.Things()[0]
		value := made.Value
		made.Value = "of others"
		cloud.Put(made)
		Eventually(ctx, func() string {
			for _, t := range cloud.Things() {
				if t.ID == made.ID {
					return t.Value
				}
			}
			return ""
		}).Should(Equal(value))
		deleteShop(ctx, namespace)
		Expect(cloud.Things()).To(BeEmpty())
	})

	It("presents its certificate to the service", func(ctx SpecContext) {
		var presented atomic.Int64
		service := serveKind(external.Of("Thing", componenttest.Things{Cloud: cloud},
			external.Options[componenttest.ThingSpec]{}))
		service.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
		handler := service.Config.Handler
		service.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !r.TLS.PeerCertificates[0].Equal(service.Certificate()) {
				http.Error(w, "another certificate", http.StatusForbidden)
				return
			}
			presented.Add(1)
			handler.ServeHTTP(w, r)
		})
		service.StartTLS()
		service.createCredentials(ctx, namespace)
		// The certificate of the service is also that of its client.
		key, err := x509.MarshalPKCS8PrivateKey(service.TLS.Certificates[0].PrivateKey)
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud-client"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{
				corev1.TLSCertKey:       []byte(service.certificate()),
				corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
			},
		})).To(Succeed())
		operate(namespace)
		spec := service.spec()
		spec.Service.ClientCertificateRef = &v1alpha1.SecretReference{Name: "cloud-client"}
		createShop(ctx, namespace, spec)
		Eventually(ctx, stateOf(ctx, namespace)).Should(HavePrefix("Ready"))
		Expect(presented.Load()).To(BeNumerically(">", 0))
		Expect(cloud.Things()).To(HaveLen(1))
		deleteShop(ctx, namespace)
		Expect(cloud.Things()).To(BeEmpty())
	})
}))
