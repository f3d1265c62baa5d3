package conformance_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// counterSpec is the spec of a counter.
type counterSpec struct {
	Name string `json:"name"`
	Step int    `json:"step"`
}

// counterState is the observed state of a counter.
type counterState struct {
	Step string `json:"step"`
}

// counters is an author's own reconcile for one dependent: a ConfigMap that it writes with its own client.
type counters struct {
	client client.Client
	// creates and deletes hold calls until they are closed.
	creates, deletes <-chan struct{}
}

func (c counters) read(ctx context.Context, r external.Ref[counterSpec]) (*corev1.ConfigMap, error) {
	found := &corev1.ConfigMap{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: r.Component.GetNamespace(), Name: r.ID}, found)
	if apierrors.IsNotFound(err) {
		return nil, external.ErrNotFound
	}
	return found, err
}

func (c counters) Identify(spec counterSpec) string { return spec.Name }

func (c counters) Observe(ctx context.Context, r external.Ref[counterSpec]) (counterState, error) {
	found, err := c.read(ctx, r)
	if err != nil {
		return counterState{}, err
	}
	return counterState{Step: found.Data["step"]}, nil
}

func (c counters) Match(spec counterSpec, observed counterState) string {
	if observed.Step != string(rune('0'+spec.Step)) {
		return "spec.step"
	}
	return ""
}

func (c counters) Create(
	ctx context.Context, r external.Ref[counterSpec],
) (external.Created[counterState], error) {
	if err := await(ctx, c.creates); err != nil {
		return external.Created[counterState]{}, err
	}
	err := c.client.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Component.GetNamespace(), Name: r.Spec.Name},
		Data:       map[string]string{"step": string(rune('0' + r.Spec.Step))},
	})
	if apierrors.IsAlreadyExists(err) {
		err = external.ErrExists
	}
	return external.Created[counterState]{}, err
}

// await waits until a channel is closed.
func await(ctx context.Context, until <-chan struct{}) error {
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c counters) Update(
	ctx context.Context, r external.Ref[counterSpec], _ counterState,
) (counterState, error) {
	found, err := c.read(ctx, r)
	if err != nil {
		return counterState{}, err
	}
	found.Data["step"] = string(rune('0' + r.Spec.Step))
	return counterState{Step: found.Data["step"]}, c.client.Update(ctx, found)
}

func (c counters) Delete(ctx context.Context, r external.Ref[counterSpec]) error {
	if err := await(ctx, c.deletes); err != nil {
		return err
	}
	found, err := c.read(ctx, r)
	if errors.Is(err, external.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.client.Delete(ctx, found)
}

var _ = Describe("A kind of externals in Kubernetes:", func() {
	It("an author's own reconcile for one dependent takes part in waves, repairs and deletion", func(ctx SpecContext) {
		operator, namespace := newOperatorName(), newNamespace(ctx)
		creates, deletes := make(chan struct{}), make(chan struct{})
		runOperator(operator, operatorOptions{component: component.Options{Externals: []external.Driver{
			external.Of("Counter", counters{client: k8s, creates: creates, deletes: deletes}, external.Options[counterSpec]{
				Poll: 200 * time.Millisecond, Settle: -1, Rate: 1000, Burst: 1000, Timeout: time.Minute,
			}),
		}}})
		counter := func(step string) string {
			return together("apiVersion: external.fairlead.io/v1\nkind: Counter\nmetadata: {name: clicks, annotations: {"+
				settingOf(operator, "export", "step=self.status.step")+"}}\nspec: {name: clicks, step: "+step+"}",
				configMap("after", "a", settingOf(operator, "order", "1")),
				configMap("dependent", "a", settingOf(operator, "depends-on", "Counter.external.fairlead.io clicks")),
				configMap("bound", "${{ step }}", settingOf(operator, "bind", "true")))
		}
		others := func(ctx context.Context) []string {
			var names []string
			for _, name := range []string{"after", "dependent", "bound"} {
				if configMapExists(ctx, namespace, name) {
					names = append(names, name)
				}
			}
			return names
		}
		g := newGadget(ctx, namespace, "app", counter("1"), servedBy(operator))
		clicks := func() string { return stepIn(ctx, namespace, "clicks") }

		By("holding its creation: the next wave, its dependent and the object with its value wait")
		Eventually(ctx, func() string { return entryOf(ctx, g, "clicks").Name }).Should(Equal("clicks"))
		settle(ctx, operator)
		Expect(clicks()).To(BeEmpty())
		Expect(others(ctx)).To(BeEmpty())
		close(creates)
		expectReady(ctx, g)
		Expect(clicks()).To(Equal("1"))
		Expect(others(ctx)).To(HaveLen(3))
		bound := func() string {
			value, _, _ := unstructured.NestedString(mustGet(ctx, "v1", "ConfigMap", namespace, "bound").Object, "data", "value")
			return value
		}
		Expect(bound()).To(Equal("1"))

		changeManifests(ctx, g, counter("2"))
		Eventually(ctx, clicks).Should(Equal("2"))
		Eventually(ctx, bound).Should(Equal("2"))

		By("changing the object behind the back of the operator")
		object := mustGet(ctx, "v1", "ConfigMap", namespace, "clicks")
		patch(ctx, object, `{"data":{"step":"9"}}`)
		Eventually(ctx, clicks).Should(Equal("2"))

		By("deleting it")
		Expect(k8s.Delete(ctx, object)).To(Succeed())
		Eventually(ctx, clicks).Should(Equal("2"))

		expectReady(ctx, g)

		By("holding its deletion: the next wave and its dependent are deleted before it")
		remove(ctx, g)
		Eventually(ctx, func() []string { return others(ctx) }).ShouldNot(ContainElements("after"))
		Eventually(ctx, func() []string { return others(ctx) }).ShouldNot(ContainElements("dependent"))
		settle(ctx, operator)
		Expect(current(ctx, g).DeletionTimestamp).NotTo(BeNil())
		Expect(clicks()).To(Equal("2"))
		close(deletes)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "clicks")).To(BeFalse())
	})
})

// stepIn returns the step in a ConfigMap, and an empty text if it does not exist.
func stepIn(ctx context.Context, namespace, name string) string {
	object, err := get(ctx, "v1", "ConfigMap", namespace, name)
	if err != nil {
		return ""
	}
	data, _ := object.Object["data"].(map[string]any)
	step, _ := data["step"].(string)
	return step
}

var _ = Describe("The library with externals:", func() {
	key := manifests.Key{Group: external.Group, Kind: "Thing", Name: "one"}

	It("a hook reads an external as its last observation shows it", func(ctx SpecContext) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		read := make(chan error, 1)
		reported := func(ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader) error {
			object, err := dependents.Get(ctx, key)
			if err == nil {
				defer GinkgoRecover()
				thing := cloud.Things()[0]
				Expect(object.Object).To(And(
					HaveKeyWithValue("kind", "Thing"), HaveKeyWithValue("id", thing.ID),
					HaveKeyWithValue("spec", map[string]any{"value": "a"}),
					HaveKeyWithValue("status", HaveKeyWithValue("value", "a")),
				))
				Expect(string(object.GetUID())).To(Equal(thing.Token))
			}
			select {
			case read <- err:
			default:
			}
			return nil
		}
		runOperator(operator, operatorOptions{
			component: component.Options{Externals: []external.Driver{
				external.Of("Thing", componenttest.Things{Cloud: cloud},
					external.Options[componenttest.ThingSpec]{Poll: time.Hour}),
			}},
			hooks: gadgetHooks{PostReconcile: reported, PostDelete: func(
				ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader,
			) error {
				defer GinkgoRecover()
				_, err := dependents.Get(ctx, key)
				Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
				return nil
			}},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", thing("Thing", "one", "a"), servedBy(operator))
		expectReady(ctx, g)
		Eventually(ctx, read).Should(Receive(BeNil()))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("an Engine refuses externals, and changes nothing", func(ctx SpecContext) {
		const name = "engine-externals.test.fairlead.io"
		lifetime, stop := context.WithCancel(context.Background())
		DeferCleanup(stop)
		applier, err := engine.New(lifetime, name, cluster.Config(), engine.Options{})
		Expect(err).NotTo(HaveOccurred())
		namespace := newNamespace(ctx)
		owner := manifests.Owner{Cluster: "test", Reconciler: name, Kind: "Set", Namespace: namespace, Name: "one"}
		decoded, err := manifests.Decode("set", []byte(thing("Thing", "one", "a")+"---\n"+configMap("settings", "a")))
		Expect(err).NotTo(HaveOccurred())
		desired, err := normalise.Manifests(decoded, normalise.Options{
			Reconciler: name, Namespace: namespace, Owner: owner,
			ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
		})
		Expect(err).NotTo(HaveOccurred())
		want := MatchError(ContainSubstring(
			"an Engine handles no dependents outside Kubernetes, and the set or its inventory contains " +
				"Thing.external.fairlead.io one"))
		_, err = applier.Apply(ctx, engine.Request{Owner: owner, Desired: desired})
		Expect(err).To(want)
		_, err = applier.Plan(ctx, engine.Request{Owner: owner, Desired: desired})
		Expect(err).To(want)
		_, err = applier.Delete(ctx, engine.Request{Owner: owner, Inventory: []metav1alpha1.InventoryEntry{
			{Group: external.Group, Version: external.Version, Kind: "Thing", Name: "one", External: true},
		}})
		Expect(err).To(want)
		Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
	})
})
