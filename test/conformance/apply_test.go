package conformance_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

var _ = Describe("Applying a component:", func() {
	It("a component with n dependents is applied with at most n and four requests", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "first", configMaps("cm", 20, "a"))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("20/20"))
		w := writes(ctx, operatorName, namespace)
		Expect(w.Resource("configmaps")).To(HaveLen(20))
		Expect(w.Resource("gadgets")).To(HaveLen(3),
			"want three writes to the component: of the finalizer, of the inventory before the first create, and of the status")
	})
})

var _ = Describe("Engines without a controller:", func() {
	It("engine.Engine, which needs no controller, plans a set of manifests without a write, applies it, shows it as a "+
		"tree, and deletes it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		const name = "engine.test.fairlead.io"
		lifetime, stop := context.WithCancel(context.Background())
		defer stop()
		applier, err := engine.New(lifetime, name, cluster.Config(), engine.Options{})
		Expect(err).NotTo(HaveOccurred())
		owner := manifests.Owner{Cluster: "test", Reconciler: name, Kind: "Set", Namespace: namespace, Name: "one"}
		decoded, err := manifests.Decode("set", []byte(configMaps("cm", 3, "a")))
		Expect(err).NotTo(HaveOccurred())
		desired, err := normalise.Manifests(decoded, normalise.Options{
			Reconciler: name, Namespace: namespace, Owner: owner,
			ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
		})
		Expect(err).NotTo(HaveOccurred())
		var recorded []metav1alpha1.InventoryEntry
		pass := engine.Request{
			Owner: owner, Desired: desired, Revision: 1, Wake: func() {}, Now: time.Now(),
			WriteInventory: func(_ context.Context, inventory []metav1alpha1.InventoryEntry) error {
				recorded = inventory
				return nil
			},
		}

		var outcome result.Outcome
		Eventually(ctx, func() (bool, error) {
			outcome, err = applier.Plan(ctx, pass)
			return outcome.Observing, err
		}).Should(BeFalse())
		Expect(outcome.Changes).To(HaveLen(3))
		Expect(recorded).To(BeEmpty())
		_, err = get(ctx, "v1", "ConfigMap", namespace, "cm-0")
		Expect(err).To(HaveOccurred(), "a plan must write nothing, but the object exists")

		outcome, err = applier.Apply(ctx, pass)
		Expect(err).NotTo(HaveOccurred())
		Expect(outcome.Done()).To(BeTrue())
		Expect(recorded).To(HaveLen(3), "all dependents must be recorded before the first write")
		nodes, err := tree.Read(ctx, k8s, outcome.Inventory)
		Expect(err).NotTo(HaveOccurred())
		Expect(nodes).To(HaveEach(HaveField("State", result.NodeReady)))

		pass.Inventory = outcome.Inventory
		outcome, err = applier.Delete(ctx, pass)
		Expect(err).NotTo(HaveOccurred())
		Expect(outcome.Done()).To(BeTrue())
		Expect(outcome.Inventory).To(BeEmpty())
		_, err = get(ctx, "v1", "ConfigMap", namespace, "cm-0")
		Expect(err).To(HaveOccurred())
	})
})
