package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// chartOf returns a source with a chart that has an additional file.
func chartOf(name, content string) v1alpha1.Source {
	source := inline("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}")
	source.Inline.Files[name] = content
	return source
}

// unique is the template of a chart that generates a password and certificates, and uses the current time.
const unique = `
{{- $ca := genCA "shop" 365 }}
{{- $serving := genSignedCert "web" nil (list "web.shop.svc") 365 $ca }}
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {user: admin, password: {{ randAlphaNum 24 }}}
---
apiVersion: v1
kind: Secret
metadata: {name: serving}
data: {cert: {{ $serving.Cert | b64enc }}, key: {{ $serving.Key | b64enc }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: {{ .Values.level }}, installed: {{ now | date "2006-01-02T15:04:05" | quote }}, authority: {{ $ca.Cert | quote }}}
`

// madeUp contains the objects with generated values.
type madeUp struct {
	login, serving corev1.Secret
	settings       corev1.ConfigMap
}

func readMadeUp(ctx context.Context, namespace string) (m madeUp, err error) {
	for name, object := range map[string]client.Object{"login": &m.login, "serving": &m.serving, "settings": &m.settings} {
		if err := administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
			return madeUp{}, err
		}
	}
	return m, nil
}

func (m *madeUp) password() string { return string(m.login.Data["password"]) }

// expectTrust expects that the authority in the settings has signed the certificate of the server.
func (m *madeUp) expectTrust() {
	GinkgoHelper()
	pair, err := tls.X509KeyPair(m.serving.Data["cert"], m.serving.Data["key"])
	Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM([]byte(m.settings.Data["authority"]))).To(BeTrue())
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "web.shop.svc"})
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("A chart that generates passwords and certificates", func() {
	var (
		namespace string
		component *v1alpha1.Component
		first     madeUp
	)
	// restored waits until all objects exist, and returns them.
	restored := func(ctx SpecContext) (m madeUp) {
		GinkgoHelper()
		Eventually(func() (err error) { m, err = readMadeUp(ctx, namespace); return err }).WithTimeout(soon).Should(Succeed())
		return m
	}
	told := func(ctx SpecContext) string {
		GinkgoHelper()
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		condition := meta.FindStatusCondition(component.Status.Conditions, metav1alpha1.ConditionNonDeterministic)
		if condition == nil {
			return ""
		}
		return string(condition.Status) + " " + condition.Reason + ": " + condition.Message
	}
	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		component = createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: chartOf("templates/all.yaml", unique), ResyncSpec: metav1alpha1.ResyncSpec{Interval: &metav1.Duration{}},
			Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		first = restored(ctx)
	})

	It("is reported with its objects and fields, without their values", func(ctx SpecContext) {
		Expect(told(ctx)).To(And(
			HavePrefix("True ValuesKept: "),
			ContainSubstring("Secret login: stringData.password"),
			ContainSubstring("Secret serving: data.cert"), ContainSubstring("Secret serving: data.key"),
			ContainSubstring("ConfigMap settings: data.authority"), ContainSubstring("ConfigMap settings: data.installed"),
			Not(ContainSubstring("data.level")), Not(ContainSubstring("stringData.user")),
			Not(ContainSubstring(first.password())),
		))
	}, SpecTimeout(time.Minute))

	DescribeTable("gets the same values again after its Secrets are deleted", func(ctx SpecContext, stop, start func()) {
		stop()
		Expect(administrator.Delete(ctx, first.login.DeepCopy())).To(Succeed())
		Expect(administrator.Delete(ctx, first.serving.DeepCopy())).To(Succeed())
		start()
		repaired := restored(ctx)
		Expect(repaired.login.UID).NotTo(Equal(first.login.UID))
		Expect(repaired.login.Data).To(Equal(first.login.Data))
		Expect(repaired.serving.Data).To(Equal(first.serving.Data))
		repaired.expectTrust()
	},
		Entry("while the operator runs", func() {}, func() {}, SpecTimeout(time.Minute)),
		Entry("without operator", func() { Expect(stopOperator()).To(Succeed()) }, func() { stopOperator = startOperator() },
			SpecTimeout(2*time.Minute)),
	)

	It("keeps its values after a restart of the operator, which writes nothing", func(ctx SpecContext) {
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		Expect(component.Status.RenderedSet).NotTo(BeEmpty())
		Expect(stopOperator()).To(Succeed())
		before, err := cluster.AuditEvents(ctx)
		Expect(err).NotTo(HaveOccurred())
		stopOperator = startOperator()
		since := func() (testcluster.Events, error) {
			events, err := cluster.AuditEvents(ctx)
			return events[min(len(before),
				len(events)):].Where(func(e testcluster.Event) bool { return e.Namespace == namespace }), err
		}
		recalled := func() (testcluster.Events, error) {
			events, err := since()
			return events.User(operatorUser).Verb("get").Resource("secrets"), err
		}
		Eventually(recalled).WithTimeout(soon).Should(HaveLen(1),
			"a pass must read the Secret with the pinned rendering once")

		By("repairing drift in a later pass")
		Expect(administrator.Delete(ctx, first.login.DeepCopy())).To(Succeed())
		after := restored(ctx)
		Expect(after.login.Data).To(Equal(first.login.Data))
		Expect(after.serving.ResourceVersion).To(Equal(first.serving.ResourceVersion))
		Expect(after.settings.ResourceVersion).To(Equal(first.settings.ResourceVersion))
		Expect(told(ctx)).To(HavePrefix("True ValuesKept: "))
		Expect(component.Status.Revision).To(Equal(int64(1)))
		events, err := since()
		Expect(err).NotTo(HaveOccurred())
		deleted := events.Verb("delete").Resource("secrets")
		Expect(deleted).To(HaveLen(1))
		Expect(events.User(operatorUser).Writes()).To(And(
			Not(BeEmpty()), HaveEach(HaveField("Time", BeTemporally(">", deleted[0].Time)))))
	}, SpecTimeout(2*time.Minute))

	It("generates a new password and a new certificate that its authority signed, if its "+
		"inputs change", func(ctx SpecContext) {
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.Values.Raw = []byte(`{"level":"two"}`) })
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("two"))
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		renewed := restored(ctx)
		Expect(renewed.password()).NotTo(Equal(first.password()))
		Expect(renewed.serving.Data["cert"]).NotTo(Equal(first.serving.Data["cert"]))
		Expect(renewed.settings.Data["authority"]).NotTo(Equal(first.settings.Data["authority"]))
		renewed.expectTrust()
	}, SpecTimeout(time.Minute))
})

var _ = Describe("The definitions in crds/ of a chart", func() {
	It("are upgraded with the chart, and not deleted while foreign instances exist", func(ctx SpecContext) {
		const group = "charts.example.com"
		allow(ctx, group, "list", "watch")
		namespace, elsewhere := newNamespace(ctx), newNamespace(ctx)
		from := chartOf("crds/tugs.yaml", definition(group))
		from.Inline.Files["templates/settings.yaml"] = settings
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: from, RetrySpec: metav1alpha1.RetrySpec{RetryDuration: &metav1.Duration{Duration: time.Second}},
			Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		tug := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Tug", "metadata": map[string]any{"namespace": elsewhere, "name": "theirs"},
			"deck": "red",
		}}
		Expect(administrator.Create(ctx, tug)).To(Succeed())
		Expect(tug.Object).NotTo(HaveKey("deck"),
			"the API server stored the field deck, which only the next version of the definition has")

		change(ctx, component, func(s *v1alpha1.ComponentSpec) {
			s.Source.Inline.Files["crds/tugs.yaml"] = strings.Replace(definition(group), "{type: object}",
				"{type: object, properties: {deck: {type: string}}}", 1)
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Eventually(func() (map[string]any, error) {
			tug.Object["deck"] = "red"
			err := administrator.Update(ctx, tug)
			return tug.Object, err
		}).WithTimeout(soon).Should(HaveKey("deck"))

		Expect(administrator.Delete(ctx, component)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(And(
			HavePrefix("DeletionBlocked ForeignInstances: "), ContainSubstring(elsewhere+"/theirs")))
		Expect(level(ctx, namespace)()).To(Equal("one"), "a dependent was changed")
		Expect(administrator.Delete(ctx, tug)).To(Succeed())
		Eventually(readError(ctx, component)).WithTimeout(soon).Should(Satisfy(apierrors.IsNotFound))
	}, SpecTimeout(2*time.Minute))
})
