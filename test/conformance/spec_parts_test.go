package conformance_test

import (
	"context"
	"strings"
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
	"github.com/fairlead-io/fairlead/pkg/manifests"
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
	metav1alpha1.KubeConfigSpec     `json:",inline"`
	metav1alpha1.IgnoreSpec         `json:",inline"`
	metav1alpha1.ManagedTypesSpec   `json:",inline"`
	metav1alpha1.ExportsSpec        `json:",inline"`
	metav1alpha1.EmptySpec          `json:",inline"`
	metav1alpha1.DependencySpec     `json:",inline"`
	metav1alpha1.ConsentSpec        `json:",inline"`

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

// crates contains a client of crates, and an operator that reconciles them.
type crates struct {
	client.Client
	operator string
}

// serveCrates defines the type of crates, and runs an operator.
func serveCrates(ctx context.Context) crates {
	GinkgoHelper()
	definition := create(ctx, crateDefinition)[0]
	DeferCleanup(func(ctx context.Context) {
		remove(ctx, definition)
		Eventually(ctx, func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(definition), definition) }).
			ShouldNot(Succeed())
	})
	gv := schema.GroupVersion{Group: "parts.example.com", Version: "v1"}
	scheme, err := gadget.Scheme()
	Expect(err).NotTo(HaveOccurred())
	scheme.AddKnownTypeWithName(gv.WithKind("Crate"), &crate{})
	scheme.AddKnownTypeWithName(gv.WithKind("CrateList"), &crateList{})
	metav1.AddToGroupVersion(scheme, gv)
	c := crates{operator: newOperatorName()}
	c.Client, err = client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, func() error { return c.List(ctx, &crateList{}) }).Should(Succeed())

	mgr, err := ctrl.NewManager(cluster.Config(), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: new(5 * time.Second),
	})
	Expect(err).NotTo(HaveOccurred())
	options := component.Options{SkipNameValidation: true}
	Expect(component.NewReconciler[*crate](c.operator, gadget.Generate, options).SetupWithManager(mgr)).To(Succeed())
	start(mgr)
	return c
}

// status reads a crate, and returns its status.
func (c crates) status(ctx context.Context, of *crate) metav1alpha1.Status {
	Expect(c.Get(ctx, client.ObjectKeyFromObject(of), of)).To(Succeed())
	return of.Status
}

// state returns the state, and whether it is that of the current generation.
func (c crates) state(ctx context.Context, of *crate) func() string {
	return func() string {
		s := c.status(ctx, of)
		if s.ObservedGeneration != of.Generation {
			return ""
		}
		return string(s.State)
	}
}

// messages returns the messages of the conditions of a crate.
func (c crates) messages(ctx context.Context, of *crate) func() string {
	return func() string {
		text := ""
		for _, condition := range c.status(ctx, of).Conditions {
			text += condition.Message + "\n"
		}
		return text
	}
}

func (c crates) edit(ctx context.Context, of *crate, change func(*crateSpec)) {
	GinkgoHelper()
	c.status(ctx, of)
	before, _ := of.DeepCopyObject().(client.Object)
	patch := client.MergeFrom(before)
	change(&of.Spec)
	Expect(c.Patch(ctx, of, patch)).To(Succeed())
}

var _ = Describe("The parts of a spec:", func() {
	It("a component whose spec embeds parts is placed, suspended, limited and "+
		"impersonated as they say", func(ctx SpecContext) {
		crates := serveCrates(ctx)
		namespace, elsewhere := newNamespace(ctx), newNamespace(ctx)
		c := &crate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tea"}, Spec: crateSpec{
			Manifests: configMap("leaves", "green"),
		}}
		c.Spec.TargetNamespace, c.Spec.Suspend, c.Spec.DeletePolicy = elsewhere, true, metav1alpha1.DeleteOrphan
		Expect(crates.Create(ctx, c)).To(Succeed())
		status := func() metav1alpha1.Status { return crates.status(ctx, c) }
		edit := func(change func(*crateSpec)) { crates.edit(ctx, c, change) }
		state := func() string { s := status(); return string(s.State) + " " + s.Reconciler }
		Eventually(ctx, state).Should(HavePrefix("Suspended"))
		Expect(countConfigMaps(ctx, elsewhere)).To(BeZero())

		By("applying in the namespace of the spec, and starting no revision when a part changes")
		edit(func(s *crateSpec) { s.Suspend = false })
		Eventually(ctx, state).Should(HavePrefix("Ready"))
		Expect(configMapExists(ctx, elsewhere, "leaves")).To(BeTrue())
		edit(func(s *crateSpec) {
			s.TimeoutDuration, s.UpdatePolicy = seconds(30), metav1alpha1.UpdateSSAOverride
			s.DependsOn = []metav1alpha1.Dependency{{Name: "water"}}
			s.AllowDependents = []metav1alpha1.Consent{{Namespace: elsewhere}}
		})
		Eventually(ctx, func() bool { s := status(); return s.ObservedGeneration == c.Generation }).Should(BeTrue())
		Expect(status().Revision).To(Equal(int64(1)))

		By("waiting with new inputs for the components of the spec")
		edit(func(s *crateSpec) { s.Manifests = configMap("leaves", "white") })
		Eventually(ctx, crates.messages(ctx, c)).Should(ContainSubstring(
			namespace + "/water: it does not exist (spec.dependsOn[0])"))
		Expect(status().Revision).To(Equal(int64(1)))
		edit(func(s *crateSpec) { s.DependsOn = nil })
		Eventually(ctx, func() int64 { return status().Revision }).Should(Equal(int64(2)))
		Eventually(ctx, state).Should(HavePrefix("Ready"))

		By("acting as the service account of the spec")
		edit(func(s *crateSpec) {
			s.ServiceAccount, s.RetryDuration, s.Manifests = "porter", milliseconds(200), configMap("leaves", "black")
		})
		Eventually(ctx, state).Should(HavePrefix("Stalled"))
		Expect(status().Conditions).To(ContainElement(HaveField("Message",
			ContainSubstring("system:serviceaccount:"+namespace+":porter"))))
		edit(func(s *crateSpec) { s.ServiceAccount = "" })
		Eventually(ctx, state).Should(HavePrefix("Ready"))

		By("keeping the dependents, as the delete policy of the spec says")
		Expect(crates.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, func() error { return crates.Get(ctx, client.ObjectKeyFromObject(c), c) }).ShouldNot(Succeed())
		Expect(configMapExists(ctx, elsewhere, "leaves")).To(BeTrue())
	})

	It("a component whose spec embeds parts exports, ignores fields, becomes empty, has another cluster and more "+
		"types as they say", func(ctx SpecContext) {
		crates := serveCrates(ctx)
		namespace := newNamespace(ctx)
		leaves := func(value string) string {
			return configMap("leaves", value, crates.operator+"/export: color=self.data.value")
		}
		c := &crate{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tea"},
			Spec:       crateSpec{Manifests: leaves("green")},
		}
		c.Spec.ExportNames = []string{"color"}
		c.Spec.Ignore = []metav1alpha1.IgnoreRule{{
			Target: &metav1alpha1.ObjectTarget{Kind: "ConfigMap"},
			Paths:  []string{"data.value"},
		}}
		Expect(crates.Create(ctx, c)).To(Succeed())
		Eventually(ctx, crates.state(ctx, c)).Should(Equal("Ready"))

		By("publishing the export, and leaving the field of the rule to others")
		exported := func() string { return string(crates.status(ctx, c).Exports["color"].Raw) }
		Eventually(ctx, exported).Should(Equal(`"green"`))
		crates.edit(ctx, c, func(s *crateSpec) { s.Manifests = leaves("black") })
		Eventually(ctx, crates.state(ctx, c)).Should(Equal("Ready"))
		Expect(exported()).To(Equal(`"green"`))

		By("refusing an empty rendering until the spec allows it")
		crates.edit(ctx, c, func(s *crateSpec) { s.Manifests, s.ExportNames = "", nil })
		Eventually(ctx, crates.state(ctx, c)).Should(Equal("Stalled"))
		Expect(configMapExists(ctx, namespace, "leaves")).To(BeTrue())
		crates.edit(ctx, c, func(s *crateSpec) { s.EmptyAllowed = true })
		Eventually(ctx, crates.state(ctx, c)).Should(Equal("Ready"))
		Expect(configMapExists(ctx, namespace, "leaves")).To(BeFalse())

		By("reading the kubeconfig of the spec")
		remote := &crate{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "remote"},
			Spec:       crateSpec{Manifests: leaves("red")},
		}
		remote.Spec.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: "far-away"}}
		Expect(crates.Create(ctx, remote)).To(Succeed())
		Eventually(ctx, crates.messages(ctx, remote)).Should(ContainSubstring("far-away"))
		Expect(configMapExists(ctx, namespace, "leaves")).To(BeFalse())

		By("keeping the component while there is a foreign instance of a type of the spec")
		definition := create(ctx, strings.NewReplacer("crates", "lids", "crate", "lid", "Crate",
			"Lid").Replace(crateDefinition))[0]
		DeferCleanup(func(ctx context.Context) { remove(ctx, definition) })
		lid := "{apiVersion: parts.example.com/v1, kind: Lid, metadata: {name: foreign, namespace: " + namespace + "}}"
		var foreign client.Object
		Eventually(ctx, func(g Gomega) {
			decoded, err := manifests.Decode("lid.yaml", []byte(lid))
			g.Expect(err).NotTo(HaveOccurred())
			foreign = decoded[0]
			g.Expect(k8s.Create(ctx, foreign)).To(Succeed())
		}).Should(Succeed())
		crates.edit(ctx, c, func(s *crateSpec) {
			s.ManagedTypes = []metav1alpha1.TypePattern{{Group: "parts.example.com", Kind: "Lid"}}
			s.Manifests = configMap("leaves", "white")
		})
		Eventually(ctx, crates.state(ctx, c)).Should(Equal("Ready"))
		Expect(crates.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, func() string { return string(crates.status(ctx, c).State) }).Should(Equal("DeletionBlocked"))
		Expect(configMapExists(ctx, namespace, "leaves")).To(BeTrue())
		remove(ctx, foreign)
		Expect(crates.Delete(ctx, remote)).To(Succeed())
		for _, deleted := range []*crate{c, remote} {
			Eventually(ctx, func() error { return crates.Get(ctx, client.ObjectKeyFromObject(deleted), deleted) }).
				ShouldNot(Succeed())
		}
	})
})
