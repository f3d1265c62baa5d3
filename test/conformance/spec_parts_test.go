package conformance_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// crate is a component that has no optional interface of its own: its spec consists of parts.
type crate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   crateSpec           `json:"spec"`
	Status metav1alpha1.Status `json:"status,omitzero"`
}

type crateSpec struct {
	metav1alpha1.PlacementSpec      `json:",inline"`
	metav1alpha1.SuspendSpec        `json:",inline"`
	metav1alpha1.PoliciesSpec       `json:",inline"`
	metav1alpha1.RetrySpec          `json:",inline"`
	metav1alpha1.TimeoutSpec        `json:",inline"`
	metav1alpha1.ServiceAccountSpec `json:",inline"`

	Manifests string `json:"manifests"`
}

type crateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []crate `json:"items"`
}

func (c *crate) GetParameters() (map[string]any, error) {
	return map[string]any{"manifests": c.Spec.Manifests}, nil
}
func (c *crate) GetStatus() *metav1alpha1.Status { return &c.Status }
func (c *crate) GetSpec() any                    { return &c.Spec }

func (c *crate) DeepCopyObject() runtime.Object {
	out := &crate{TypeMeta: c.TypeMeta, Spec: c.Spec}
	c.DeepCopyInto(&out.ObjectMeta)
	c.Status.DeepCopyInto(&out.Status)
	return out
}

func (l *crateList) DeepCopyObject() runtime.Object {
	out := &crateList{TypeMeta: l.TypeMeta}
	l.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		if c, ok := l.Items[i].DeepCopyObject().(*crate); ok {
			out.Items = append(out.Items, *c)
		}
	}
	return out
}

const crateDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.parts.example.com}
spec:
  group: parts.example.com
  names: {kind: Crate, listKind: CrateList, plural: crates, singular: crate}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

var _ = Describe("The parts of a spec:", func() {
	It("a component whose spec embeds parts is placed, suspended, limited and impersonated as they say", func(ctx SpecContext) {
		definition := create(ctx, crateDefinition)[0]
		DeferCleanup(func(ctx context.Context) { remove(ctx, definition) })
		gv := schema.GroupVersion{Group: "parts.example.com", Version: "v1"}
		scheme, err := gadget.Scheme()
		Expect(err).NotTo(HaveOccurred())
		scheme.AddKnownTypeWithName(gv.WithKind("Crate"), &crate{})
		scheme.AddKnownTypeWithName(gv.WithKind("CrateList"), &crateList{})
		metav1.AddToGroupVersion(scheme, gv)
		crates, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() error { return crates.List(ctx, &crateList{}) }).Should(Succeed())

		mgr, err := ctrl.NewManager(cluster.Config(), ctrl.Options{
			Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: new(5 * time.Second),
		})
		Expect(err).NotTo(HaveOccurred())
		options := component.Options{SkipNameValidation: true}
		Expect(component.NewReconciler[*crate](newOperatorName(), gadget.Generate, options).SetupWithManager(mgr)).To(Succeed())
		start(mgr)

		namespace, elsewhere := newNamespace(ctx), newNamespace(ctx)
		c := &crate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tea"}, Spec: crateSpec{
			Manifests: configMap("leaves", "green"),
		}}
		c.Spec.TargetNamespace, c.Spec.Suspend, c.Spec.DeletePolicy = elsewhere, true, metav1alpha1.DeleteOrphan
		Expect(crates.Create(ctx, c)).To(Succeed())
		status := func() metav1alpha1.Status {
			Expect(crates.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			return c.Status
		}
		edit := func(change func(*crateSpec)) {
			GinkgoHelper()
			status()
			before, _ := c.DeepCopyObject().(client.Object)
			patch := client.MergeFrom(before)
			change(&c.Spec)
			Expect(crates.Patch(ctx, c, patch)).To(Succeed())
		}
		state := func() string { s := status(); return string(s.State) + " " + s.Reconciler }
		Eventually(ctx, state).Should(HavePrefix("Suspended"))
		Expect(countConfigMaps(ctx, elsewhere)).To(BeZero())

		By("applying in the namespace of the spec, and starting no revision when a part changes")
		edit(func(s *crateSpec) { s.Suspend = false })
		Eventually(ctx, state).Should(HavePrefix("Ready"))
		Expect(configMapExists(ctx, elsewhere, "leaves")).To(BeTrue())
		edit(func(s *crateSpec) { s.TimeoutDuration, s.UpdatePolicy = seconds(30), metav1alpha1.UpdateSSAOverride })
		Eventually(ctx, func() bool { s := status(); return s.ObservedGeneration == c.Generation }).Should(BeTrue())
		Expect(status().Revision).To(Equal(int64(1)))

		By("acting as the service account of the spec")
		edit(func(s *crateSpec) {
			s.ServiceAccount, s.RetryDuration, s.Manifests = "porter", milliseconds(200), configMap("leaves", "black")
		})
		Eventually(ctx, state).Should(HavePrefix("Stalled"))
		Expect(status().Conditions).To(ContainElement(HaveField("Message", ContainSubstring("system:serviceaccount:"+namespace+":porter"))))
		edit(func(s *crateSpec) { s.ServiceAccount = "" })
		Eventually(ctx, state).Should(HavePrefix("Ready"))

		By("keeping the dependents, as the delete policy of the spec says")
		Expect(crates.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, func() error { return crates.Get(ctx, client.ObjectKeyFromObject(c), c) }).ShouldNot(Succeed())
		Expect(configMapExists(ctx, elsewhere, "leaves")).To(BeTrue())
	})
})
