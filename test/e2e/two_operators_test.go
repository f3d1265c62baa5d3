package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

const (
	gadgetReconciler = "gadgets.example.com"
	gadgetAgent      = "gadget-operator"
)

// startGadgetOperator runs the operator for gadgets, an operator of an author, until the spec ends.
func startGadgetOperator(ctx context.Context) {
	GinkgoHelper()
	config := rest.CopyConfig(cluster.Config())
	config.UserAgent = gadgetAgent
	mgr, err := gadget.NewManager(config, gadgetReconciler, gadget.Generate, component.Options{SkipNameValidation: true})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Expect(<-ended).To(Succeed())
	})
}

// newGadget returns a gadget. It is not created yet.
func newGadget(namespace, name, manifests string) *gadget.Gadget {
	return &gadget.Gadget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       gadget.GadgetSpec{Manifests: manifests, RetryInterval: &metav1.Duration{Duration: time.Second}},
	}
}

// readyOf returns a function that reads the condition Ready of a Component or a Gadget.
func readyOf(ctx context.Context, owner client.Object) func() (string, error) {
	return func() (string, error) {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(owner), owner); err != nil {
			return "", err
		}
		switch o := owner.(type) {
		case *v1alpha1.Component:
			return condition(o, o.Status), nil
		case *gadget.Gadget:
			return condition(o, o.Status.Status), nil
		}
		return "", nil
	}
}

func get[T client.Object](ctx context.Context, o T, namespace, name string) T {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)).To(Succeed())
	return o
}

func exists(ctx context.Context, o client.Object) func() (bool, error) {
	return func() (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(o), o)
		return err == nil, client.IgnoreNotFound(err)
	}
}

// owners returns the reconcilers whose owner labels are on an object.
func owners(o client.Object) (found []string) {
	for _, name := range []string{reconciler, gadgetReconciler} {
		if _, labelled := o.GetLabels()[name+"/"+manifests.LabelOwnerID]; labelled {
			found = append(found, name)
		}
	}
	return found
}

var _ = Describe("Two operators with components of the same name in the same namespace:", func() {
	const name = "twin"
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		startOperator(identity.Kubeconfig)
		startGadgetOperator(ctx)
	})

	// The component and the gadget each have a ConfigMap and a Secret. The name blue of one kind is the name green of the
	// other.
	const (
		ofComponent = "{apiVersion: v1, kind: ConfigMap, metadata: {name: blue}, data: {by: component}}\n---\n" +
			"{apiVersion: v1, kind: Secret, metadata: {name: green}, stringData: {by: component}}\n"
		ofGadget = "{apiVersion: v1, kind: ConfigMap, metadata: {name: green}, data: {by: gadget}}\n---\n" +
			"{apiVersion: v1, kind: Secret, metadata: {name: blue}, stringData: {by: gadget}}\n"
	)

	It("two operators apply, repair and delete their dependents without changing each "+
		"other's dependents", func(ctx SpecContext) {
		before := audit(ctx)
		c, g := newComponent(namespace, name, ofComponent, `{}`), newGadget(namespace, name, ofGadget)
		Expect(admin.Create(ctx, c)).To(Succeed())
		Expect(admin.Create(ctx, g)).To(Succeed())
		Eventually(ctx, readyOf(ctx, c)).Should(HavePrefix("True Ready: 2 "))
		Eventually(ctx, readyOf(ctx, g)).Should(HavePrefix("True Ready: 2 "))
		Expect(owners(get(ctx, &corev1.ConfigMap{}, namespace, "blue"))).To(ConsistOf(reconciler))
		Expect(owners(get(ctx, &corev1.Secret{}, namespace, "green"))).To(ConsistOf(reconciler))
		Expect(owners(get(ctx, &corev1.ConfigMap{}, namespace, "green"))).To(ConsistOf(gadgetReconciler))
		Expect(owners(get(ctx, &corev1.Secret{}, namespace, "blue"))).To(ConsistOf(gadgetReconciler))

		for _, color := range []string{"blue", "green"} {
			Expect(admin.Delete(ctx, get(ctx, &corev1.ConfigMap{}, namespace, color))).To(Succeed())
		}
		for _, color := range []string{"blue", "green"} {
			Eventually(ctx, exists(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: color}})).
				Should(BeTrue())
		}

		Eventually(ctx, readyOf(ctx, g)).Should(HavePrefix("True Ready: 2 "))
		left := []client.Object{
			get(ctx, &corev1.ConfigMap{}, namespace, "green"),
			get(ctx, &corev1.Secret{}, namespace, "blue"),
		}
		Expect(admin.Delete(ctx, c)).To(Succeed())
		Eventually(ctx, exists(ctx, c)).Should(BeFalse())
		Expect(exists(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blue"}})()).
			To(BeFalse())
		for _, o := range left {
			version := o.GetResourceVersion()
			Expect(exists(ctx, o)()).To(BeTrue())
			Expect(o.GetResourceVersion()).To(Equal(version))
		}
		Expect(admin.Delete(ctx, g)).To(Succeed())
		Eventually(ctx, exists(ctx, g)).Should(BeFalse())

		requests := audit(ctx)[len(before):].Writes().Resource("configmaps.", "secrets.")
		Expect(names(requests.UserAgent("fairlead-operator"))).To(ConsistOf("configmaps/blue", "secrets/green"))
		Expect(names(requests.UserAgent(gadgetAgent))).To(ConsistOf("configmaps/green", "secrets/blue"))
	}, SpecTimeout(time.Minute))

	const wanted = "{apiVersion: v1, kind: ConfigMap, metadata: {name: wanted}}"
	componentWanting := func() client.Object {
		c := newComponent(namespace, name, wanted, `{}`)
		c.Spec.RetryDuration = &metav1.Duration{Duration: time.Second}
		return c
	}
	gadgetWanting := func() client.Object { return newGadget(namespace, name, wanted) }

	DescribeTable("two operators do not take over a dependent from each other, if",
		func(ctx SpecContext, first, second func() client.Object, firstName string) {
			owner, other := first(), second()
			Expect(admin.Create(ctx, owner)).To(Succeed())
			Eventually(ctx, readyOf(ctx, owner)).Should(HavePrefix("True Ready"))
			held := get(ctx, &corev1.ConfigMap{}, namespace, "wanted")

			Expect(admin.Create(ctx, other)).To(Succeed())
			Eventually(ctx, readyOf(ctx, other)).Should(And(
				HavePrefix("False "+metav1alpha1.ReasonOwnershipConflict), ContainSubstring("ConfigMap "+namespace+"/wanted"),
				ContainSubstring("owned by "+firstName+namespace+"/"+name)))
			Expect(get(ctx, &corev1.ConfigMap{}, namespace, "wanted")).To(Equal(held))
			Eventually(ctx, readyOf(ctx, owner)).Should(HavePrefix("True Ready"))

			By("deleting the owner that does not have the dependent")
			Expect(admin.Delete(ctx, other)).To(Succeed())
			Eventually(ctx, exists(ctx, other)).Should(BeFalse())
			Expect(get(ctx, &corev1.ConfigMap{}, namespace, "wanted")).To(Equal(held))

			By("deleting the owner of the dependent, while the other owner waits for the dependent")
			other = second()
			Expect(admin.Create(ctx, other)).To(Succeed())
			Eventually(ctx, readyOf(ctx, other)).Should(HavePrefix("False " + metav1alpha1.ReasonOwnershipConflict))
			Expect(admin.Delete(ctx, owner)).To(Succeed())
			Eventually(ctx, exists(ctx, owner)).Should(BeFalse())
			Eventually(ctx, readyOf(ctx, other)).Should(HavePrefix("True Ready"))
			Expect(owners(get(ctx, &corev1.ConfigMap{}, namespace, "wanted"))).To(HaveLen(1))
			Expect(admin.Delete(ctx, other)).To(Succeed())
			Eventually(ctx, exists(ctx, other)).Should(BeFalse())
		},
		Entry("the component is created first", componentWanting, gadgetWanting, "Component.fairlead.io ",
			SpecTimeout(time.Minute)),
		Entry("the gadget is created first", gadgetWanting, componentWanting, "Gadget.gadgets.example.com ",
			SpecTimeout(time.Minute)),
	)
})
