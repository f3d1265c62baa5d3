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
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

var _ = Describe("Dependencies and conditions without a controller:", func() {
	const name = "engine-graph.test.fairlead.io"
	// The view needs the settings. The page is only applied for an exposed component with a title.
	const set = `
apiVersion: v1
kind: ConfigMap
metadata: {name: view, annotations: {engine-graph.test.fairlead.io/depends-on: ConfigMap settings, engine-graph.test.fairlead.io/bind: "true"}}
data: {title: "${{ title }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {engine-graph.test.fairlead.io/export: title=self.data.title}}
data: {title: Shop}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: page
  annotations:
    engine-graph.test.fairlead.io/include-when: parameters.exposed && exports.title == "Shop"`

	var (
		applier *engine.Engine
		pass    engine.Request
	)
	normalised := func(owner manifests.Owner, text string) []manifests.Object {
		GinkgoHelper()
		decoded, err := manifests.Decode("set", []byte(text))
		Expect(err).NotTo(HaveOccurred())
		desired, err := normalise.Manifests(decoded, normalise.Options{
			Reconciler: name, Namespace: owner.Namespace, Owner: owner,
			ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
		})
		Expect(err).NotTo(HaveOccurred())
		return desired
	}
	BeforeEach(func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		lifetime, stop := context.WithCancel(context.Background())
		DeferCleanup(stop)
		var err error
		applier, err = engine.New(lifetime, name, cluster.Config(), engine.Options{})
		Expect(err).NotTo(HaveOccurred())
		owner := manifests.Owner{Cluster: "test", Reconciler: name, Kind: "Set", Namespace: namespace, Name: "one"}
		pass = engine.Request{
			Owner: owner, Desired: normalised(owner, set), Revision: 1, Wake: func() {},
			WriteInventory: func(_ context.Context, inventory []metav1alpha1.InventoryEntry) error {
				pass.Inventory = inventory
				return nil
			},
		}
	})

	// apply makes passes until nothing is left to do, and returns the names of the created objects in their order, and
	// the names of the objects that exist in the end.
	apply := func(ctx SpecContext, parameters map[string]any) (created, existing []string) {
		GinkgoHelper()
		pass.Parameters = parameters
		Eventually(ctx, func(g Gomega) {
			pass.Now = time.Now()
			outcome, err := applier.Apply(ctx, pass)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(outcome.Observing).To(BeFalse())
			pass.Inventory = outcome.Inventory
			for _, change := range outcome.Changes {
				created = append(created, change.Key.Name)
			}
			g.Expect(outcome.Done()).To(BeTrue(), "%v", outcome.Waiting)
		}).Should(Succeed())
		for _, e := range pass.Inventory {
			existing = append(existing, e.Name)
		}
		return created, existing
	}

	It("engine.Engine applies the objects in the order of their dependencies, with the values "+
		"that they bind", func(ctx SpecContext) {
		created, existing := apply(ctx, map[string]any{"exposed": false})
		Expect(created).To(Equal([]string{"settings", "view"}))
		Expect(existing).To(ConsistOf("settings", "view"))
		view, err := get(ctx, "v1", "ConfigMap", pass.Owner.Namespace, "view")
		Expect(err).NotTo(HaveOccurred())
		Expect(view.Object).To(HaveKeyWithValue("data", HaveKeyWithValue("title", "Shop")))
	})

	It("engine.Engine applies and deletes an object by its condition, with the "+
		"parameters of the pass", func(ctx SpecContext) {
		_, existing := apply(ctx, map[string]any{"exposed": true})
		Expect(existing).To(ConsistOf("settings", "view", "page"))
		_, existing = apply(ctx, map[string]any{"exposed": false})
		Expect(existing).To(ConsistOf("settings", "view"))
		_, err := get(ctx, "v1", "ConfigMap", pass.Owner.Namespace, "page")
		Expect(err).To(HaveOccurred())
	})

	It("engine.Engine names an object whose type nobody defines, and applies the other objects", func(ctx SpecContext) {
		pass.Desired = normalised(pass.Owner, together(configMap("plain", "x"),
			"apiVersion: none.example.com/v1\nkind: Thing\nmetadata: {name: thing}"))
		var waiting []result.Waiting
		Eventually(ctx, func() ([]result.Waiting, error) {
			pass.Now = time.Now()
			outcome, err := applier.Apply(ctx, pass)
			waiting = outcome.Waiting
			return waiting, err
		}).Should(HaveLen(1))
		Expect(waiting).To(ConsistOf(And(HaveField("Dependent", HaveSuffix("/thing")), HaveField("Undefined", BeTrue()))))
		Expect(configMapExists(ctx, pass.Owner.Namespace, "plain")).To(BeTrue())
	})

	It("engine.Engine leaves an object as it is if a parameter of its condition is missing", func(ctx SpecContext) {
		apply(ctx, map[string]any{"exposed": true})
		pass.Parameters, pass.Now = nil, time.Now()
		outcome, err := applier.Apply(ctx, pass)
		Expect(err).NotTo(HaveOccurred())
		Expect(outcome.Waiting).To(ContainElement(HaveField("Reason", BeEquivalentTo("ConditionUndecided"))))
		_, err = get(ctx, "v1", "ConfigMap", pass.Owner.Namespace, "page")
		Expect(err).NotTo(HaveOccurred())
	})
})
