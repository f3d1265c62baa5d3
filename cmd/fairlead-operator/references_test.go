package main

import (
	"context"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// soon is much shorter than the interval and the retry interval of the components in these specs, so that only a watch
// can have started a pass.
const soon = time.Minute

// level returns a function that reads the value level in the dependent settings.
func level(ctx context.Context, namespace string) func() (string, error) {
	return func() (string, error) {
		var rendered corev1.ConfigMap
		err := administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &rendered)
		return rendered.Data["level"], err
	}
}

var _ = Describe("A referenced object", func() {
	var namespace string
	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	never := &metav1.Duration{}

	It("starts a pass when a Secret with values is created, changed or deleted", func(ctx SpecContext) {
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), ResyncSpec: metav1alpha1.ResyncSpec{Interval: never},
			RetrySpec:  metav1alpha1.RetrySpec{RetryDuration: &metav1.Duration{Duration: time.Hour}},
			ValuesFrom: []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "db"}},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(HavePrefix("Stalled ReferenceNotFound: Secret " + namespace + "/db "))

		secret := &corev1.Secret{ObjectMeta: named("db"), StringData: map[string]string{"values.yaml": "level: one"}}
		Expect(administrator.Create(ctx, secret)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(level(ctx, namespace)()).To(Equal("one"))

		secret.StringData = map[string]string{"values.yaml": "level: two"}
		Expect(administrator.Update(ctx, secret)).To(Succeed())
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("two"))
		Eventually(func() (int64, error) {
			err := administrator.Get(ctx, client.ObjectKeyFromObject(component), component)
			return component.Status.Revision, err
		}).WithTimeout(soon).Should(Equal(int64(2)))

		Expect(administrator.Delete(ctx, secret)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Stalled ReferenceNotFound: "))
		Consistently(level(ctx, namespace)).WithTimeout(time.Second).Should(Equal("two"), "the dependent was changed")
	}, SpecTimeout(time.Minute))

	It("is in the history: versions of charts, values, and the names of values from Secrets", func(ctx SpecContext) {
		secret := &corev1.Secret{
			ObjectMeta: named("db"),
			StringData: map[string]string{"values.yaml": "password: correct-horse"},
		}
		Expect(administrator.Create(ctx, secret)).To(Succeed())
		chart := func(version string) v1alpha1.Source {
			return v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{
				"Chart.yaml": "{apiVersion: v2, name: shop, version: " + version + "}",
				"templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: \"{{ " +
					".Values.level }}\"}}",
			}}}
		}
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: chart("1.0.0"), Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
			ValuesFrom: []metav1alpha1.ValuesReference{{Kind: metav1alpha1.SecretReference, Name: "db"}},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		latest := func() (metav1alpha1.RevisionRecord, error) {
			if err := administrator.Get(ctx, client.ObjectKeyFromObject(component), component); err != nil {
				return metav1alpha1.RevisionRecord{}, err
			}
			return component.Status.History[0], nil
		}
		Eventually(latest).WithTimeout(soon).Should(And(HaveField("SourceVersion", "shop-1.0.0"),
			HaveField("Changes", BeEmpty())))

		changed := component.DeepCopy()
		changed.Spec.Source, changed.Spec.Values = chart("1.1.0"), &runtime.RawExtension{Raw: []byte(`{"level":"two"}`)}
		Expect(administrator.Patch(ctx, changed, client.MergeFrom(component))).To(Succeed())
		Eventually(latest).WithTimeout(soon).Should(And(HaveField("Revision", int64(2)),
			HaveField("SourceVersion", "shop-1.1.0"),
			HaveField("Changes", ContainElement("level: one → two"))))

		secret.StringData = map[string]string{"values.yaml": "password: battery-staple"}
		Expect(administrator.Update(ctx, secret)).To(Succeed())
		Eventually(latest).WithTimeout(soon).Should(And(HaveField("Revision", int64(3)),
			HaveField("Changes", []string{"Secret db: password: changed"})))
	}, SpecTimeout(time.Minute))

	It("starts a pass when the ConfigMap of the source changes, with files or with an archive", func(ctx SpecContext) {
		files := &corev1.ConfigMap{ObjectMeta: named("src"), Data: map[string]string{"a.yaml": settings}}
		Expect(administrator.Create(ctx, files)).To(Succeed())
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: fromConfigMap(), ResyncSpec: metav1alpha1.ResyncSpec{Interval: never},
			Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))

		archive, err := source.Pack(fstest.MapFS{
			"Chart.yaml":  {Data: []byte("{apiVersion: v2, name: shop, version: 1.0.0}")},
			"values.yaml": {Data: []byte("suffix: -packed")},
			"templates/a.yaml": {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: " +
				"'{{ .Values.level }}{{ .Values.suffix }}'}}")},
		})
		Expect(err).NotTo(HaveOccurred())
		files.Data, files.BinaryData = nil, map[string][]byte{"chart.tgz": archive}
		Expect(administrator.Update(ctx, files)).To(Succeed())
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("one-packed"))
	}, SpecTimeout(time.Minute))

	It("causes no write when only its metadata changes", func(ctx SpecContext) {
		files := &corev1.ConfigMap{ObjectMeta: named("src"), Data: map[string]string{"a.yaml": settings}}
		Expect(administrator.Create(ctx, files)).To(Succeed())
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: fromConfigMap(), ResyncSpec: metav1alpha1.ResyncSpec{Interval: never},
			Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		before := component.Status.DeepCopy()

		files.Labels = map[string]string{"seen": "by-a-person"}
		Expect(administrator.Update(ctx, files)).To(Succeed())
		Consistently(func() (metav1alpha1.Status, error) {
			err := administrator.Get(ctx, client.ObjectKeyFromObject(component), component)
			return component.Status, err
		}).WithTimeout(2 * time.Second).Should(Equal(*before))
	}, SpecTimeout(time.Minute))

	It("can be missing if the reference is optional", func(ctx SpecContext) {
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), ResyncSpec: metav1alpha1.ResyncSpec{Interval: never},
			Values: &runtime.RawExtension{Raw: []byte(`{"color":"red"}`)},
			ValuesFrom: []metav1alpha1.ValuesReference{
				{Kind: metav1alpha1.ConfigMapReference, Name: "always"},
				{Kind: metav1alpha1.ConfigMapReference, Name: "sometimes", Optional: true},
			},
		})
		Expect(administrator.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: named("always"),
			Data:       map[string]string{"values.yaml": "level: one"},
		})).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(level(ctx, namespace)()).To(Equal("one"))
		Expect(administrator.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: named("sometimes"),
			Data:       map[string]string{"values.yaml": "level: two"},
		})).To(Succeed())
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("two"))
	}, SpecTimeout(time.Minute))
})
