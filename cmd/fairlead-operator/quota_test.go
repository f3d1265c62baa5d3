package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/operator"
)

var _ = Describe("A ResourceQuota", func() {
	const counted = corev1.ResourceName("count/components.fairlead.io")

	It("bounds the number of components in a namespace, until an administrator raises it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "components"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counted: resource.MustParse("1")}},
		}
		Expect(administrator.Create(ctx, quota)).To(Succeed())
		// The controller of Kubernetes counts a new type half a minute after its definition was created. A quota from
		// before is counted minutes later, unless it changes.
		setHard := func(limit string) func() (int64, error) {
			return func() (int64, error) {
				if err := administrator.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
					return 0, err
				}
				if _, known := quota.Status.Used[counted]; known && quota.Spec.Hard[counted] == resource.MustParse(limit) {
					return quota.Status.Hard.Name(counted, resource.DecimalSI).Value(), nil
				}
				other := resource.MustParse("0")
				if quota.Spec.Hard[counted] == other {
					other = resource.MustParse(limit)
				}
				if _, known := quota.Status.Used[counted]; known {
					other = resource.MustParse(limit)
				}
				quota.Spec.Hard[counted] = other
				return 0, client.IgnoreNotFound(administrator.Update(ctx, quota))
			}
		}
		Eventually(setHard("1")).WithTimeout(90 * time.Second).WithPolling(time.Second).Should(BeEquivalentTo(1))
		var first *v1alpha1.Component
		// The API server refuses all components until it knows how many there are.
		Eventually(func() error {
			first = quotaComponent(namespace, "first", 1)
			return administrator.Create(ctx, first)
		}).WithTimeout(time.Minute).Should(Succeed())
		// The controller may count at this moment without the first component. Then the API server admits the second.
		var second *v1alpha1.Component
		Eventually(func() error {
			second = quotaComponent(namespace, "second", 1)
			refused := administrator.Create(ctx, second)
			if refused == nil {
				Expect(administrator.Delete(ctx, second)).To(Succeed())
			}
			return refused
		}).WithTimeout(time.Minute).Should(And(
			WithTransform(apierrors.IsForbidden, BeTrue()),
			MatchError(ContainSubstring("exceeded quota: components, requested: %s=1, used: %s=1, limited: %s=1",
				counted, counted, counted))))
		Eventually(status(ctx, first)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))

		Eventually(setHard("2")).WithTimeout(time.Minute).Should(BeEquivalentTo(2))
		Eventually(func() error {
			second = quotaComponent(namespace, "second", 1)
			return administrator.Create(ctx, second)
		}).WithTimeout(time.Minute).Should(Succeed())
		Eventually(status(ctx, second)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
	}, SpecTimeout(5*time.Minute))
})

// quotaComponent returns a component with a number of ConfigMaps.
func quotaComponent(namespace, name string, dependents int) *v1alpha1.Component {
	return &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.ComponentSpec{Source: inline("settings.yaml", configMaps(name, dependents))},
	}
}

// configMaps returns the manifests of a number of ConfigMaps.
func configMaps(name string, number int) string {
	var manifests []string
	for i := range number {
		manifests = append(manifests,
			fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d}}", name, i))
	}
	return strings.Join(manifests, "\n---\n")
}

// setQuota sets an annotation of a namespace.
func setQuota(ctx context.Context, namespace, annotation, value string) {
	GinkgoHelper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotation, value)
	Expect(administrator.Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

// countConfigMaps returns the number of ConfigMaps of the components in a namespace.
func countConfigMaps(ctx context.Context, namespace string) func() (int, error) {
	return func() (int, error) {
		list := &corev1.ConfigMapList{}
		err := administrator.List(ctx, list, client.InNamespace(namespace))
		count := 0
		for i := range list.Items {
			if list.Items[i].Name != "kube-root-ca.crt" {
				count++
			}
		}
		return count, err
	}
}

const afterChange = 20 * time.Second

var _ = Describe("The quotas of a namespace", Ordered, func() {
	ready, exceeded := HavePrefix("Ready Ready: "), HavePrefix("Stalled QuotaExceeded: ")

	BeforeAll(func(ctx SpecContext) { restartOperator(ctx, "--namespace-quotas", "--max-source-bytes=102400") },
		NodeTimeout(2*time.Minute))

	It("bound the dependents of all components together, until the quota is raised", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		setQuota(ctx, namespace, operator.AnnotationMaxDependents, "5")
		first, second := quotaComponent(namespace, "first", 3), quotaComponent(namespace, "second", 3)
		Expect(administrator.Create(ctx, first)).To(Succeed())
		Eventually(status(ctx, first)).WithTimeout(afterChange).Should(ready)
		// An annotation of the component has no effect.
		second.Annotations = map[string]string{operator.AnnotationMaxDependents: "100"}
		Expect(administrator.Create(ctx, second)).To(Succeed())
		Eventually(status(ctx, second)).WithTimeout(afterChange).Should(Equal(fmt.Sprintf(
			"Stalled QuotaExceeded: the annotation fairlead.io/max-dependents of namespace %s, which administrators set, "+
				"allows 5 dependents of all components in namespace %s; the other components have 3, and this component "+
				"renders 3, of which 3 do not exist yet; nothing is written", namespace, namespace)))
		Expect(countConfigMaps(ctx, namespace)()).To(Equal(3))

		setQuota(ctx, namespace, operator.AnnotationMaxDependents, "6")
		Eventually(status(ctx, second)).WithTimeout(afterChange).Should(ready)
		Expect(countConfigMaps(ctx, namespace)()).To(Equal(6))
	}, SpecTimeout(2*time.Minute))

	It("admit a refused component when another component shrinks or is deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		setQuota(ctx, namespace, operator.AnnotationMaxDependents, "5")
		first, second := quotaComponent(namespace, "first", 5), quotaComponent(namespace, "second", 2)
		Expect(administrator.Create(ctx, first)).To(Succeed())
		Eventually(status(ctx, first)).WithTimeout(afterChange).Should(ready)
		Expect(administrator.Create(ctx, second)).To(Succeed())
		Eventually(status(ctx, second)).WithTimeout(afterChange).Should(exceeded)
		change(ctx, first, func(s *v1alpha1.ComponentSpec) { s.Source = inline("settings.yaml", configMaps("first", 3)) })
		Eventually(status(ctx, second)).WithTimeout(afterChange).Should(ready)

		third := quotaComponent(namespace, "third", 2)
		Expect(administrator.Create(ctx, third)).To(Succeed())
		Eventually(status(ctx, third)).WithTimeout(afterChange).Should(exceeded)
		Expect(administrator.Delete(ctx, first)).To(Succeed())
		Eventually(status(ctx, third)).WithTimeout(afterChange).Should(ready)
		Expect(countConfigMaps(ctx, namespace)()).To(Equal(4))
	}, SpecTimeout(2*time.Minute))

	It("are not exceeded by components that are created at the same time", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		setQuota(ctx, namespace, operator.AnnotationMaxDependents, "10")
		var created []*v1alpha1.Component
		for i := range 6 {
			created = append(created, quotaComponent(namespace, fmt.Sprintf("c%d", i), 4))
			Expect(administrator.Create(ctx, created[i])).To(Succeed())
		}
		admitted := 0
		for _, component := range created {
			Eventually(status(ctx, component)).WithTimeout(afterChange).Should(Or(ready, exceeded))
			if line, _ := status(ctx, component)(); strings.HasPrefix(line, "Ready") {
				admitted++
			}
		}
		Expect(admitted).To(Equal(2))
		Expect(countConfigMaps(ctx, namespace)()).To(Equal(8))
	}, SpecTimeout(2*time.Minute))

	It("let a component above a lowered quota repair, shrink and be deleted, but not grow", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		component := quotaComponent(namespace, "shop", 4)
		Expect(administrator.Create(ctx, component)).To(Succeed())
		Eventually(status(ctx, component)).WithTimeout(afterChange).Should(ready)
		setQuota(ctx, namespace, operator.AnnotationMaxDependents, "2")
		lost := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-0"}}
		Expect(administrator.Delete(ctx, lost)).To(Succeed())
		Eventually(countConfigMaps(ctx, namespace)).WithTimeout(afterChange).Should(Equal(4))
		Expect(status(ctx, component)()).To(ready)
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.Source = inline("settings.yaml", configMaps("shop", 5)) })
		Eventually(status(ctx, component)).WithTimeout(afterChange).Should(exceeded)
		Expect(countConfigMaps(ctx, namespace)()).To(Equal(4))
		Expect(administrator.Delete(ctx, component)).To(Succeed())
		Eventually(countConfigMaps(ctx, namespace)).WithTimeout(afterChange).Should(BeZero())
	}, SpecTimeout(2*time.Minute))

	It("bound the bytes of the source of each component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		large := "# " + strings.Repeat("x", 200<<10) + "\n" + configMaps("large", 1)
		files := quotaComponent(namespace, "files", 1)
		files.Spec.Source = inline("settings.yaml", large)
		Expect(administrator.Create(ctx, files)).To(Succeed())
		Eventually(status(ctx, files)).WithTimeout(afterChange).Should(Equal(
			"Stalled QuotaExceeded: the operator's flag --max-source-bytes, which administrators set, or override by the " +
				"annotation fairlead.io/max-source-bytes of namespace " + namespace + ", allows 102400 bytes for the source of " +
				"each component; the source of this component is larger; nothing is written"))
		Expect(countConfigMaps(ctx, namespace)()).To(BeZero())
		setQuota(ctx, namespace, operator.AnnotationMaxSourceBytes, "1Mi")
		Eventually(status(ctx, files)).WithTimeout(afterChange).Should(ready)
		setQuota(ctx, namespace, operator.AnnotationMaxSourceBytes, "much")
		change(ctx, files, func(s *v1alpha1.ComponentSpec) { s.Source = inline("settings.yaml", large+"\n---\n") })
		Eventually(status(ctx, files)).WithTimeout(afterChange).Should(Equal(
			"Stalled QuotaExceeded: the annotation fairlead.io/max-source-bytes of namespace " + namespace +
				", which administrators set, is \"much\": want a number of bytes, such as 10Mi, or 0 for no limit; nothing is " +
				"written"))
		setQuota(ctx, namespace, operator.AnnotationMaxSourceBytes, "0")
		Eventually(status(ctx, files)).WithTimeout(afterChange).Should(ready)
	}, SpecTimeout(2*time.Minute))
})
