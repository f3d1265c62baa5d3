package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Changes during a pass with many dependents:", func() {
	const writers = 4
	// during starts a component with 200 dependents, blocks its writes after the first ones, makes a change, and releases
	// the writes when the operator has received the change.
	during := func(ctx context.Context, change func(*gadget.Gadget), shown func(client.Object) bool) (g *gadget.Gadget,
		operator string,
	) {
		GinkgoHelper()
		namespace, known := newNamespace(ctx), &hearsay{of: shown}
		held := newToll(namespace)
		operator = newOperatorName()
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{Writers: writers}},
			transport: held.wrap,
			newCache:  known.newCache,
		})
		g = newGadget(ctx, namespace, "app", configMaps("old", 200, "a"), servedBy(operator))
		held.await(ctx, writers)
		change(g)
		Eventually(ctx, known.everybody).Should(BeTrue())
		close(held.paid)
		return g, operator
	}
	applies := func(ctx context.Context, operator, namespace, prefix string) testcluster.Events {
		GinkgoHelper()
		return writes(ctx, operator, namespace).Resource("configmaps").Where(func(e testcluster.Event) bool {
			return e.Verb != "delete" && strings.HasPrefix(e.Name, prefix)
		})
	}
	// underWay matches the writes that had started before the change. A waiting write may have got a free slot at that
	// moment.
	underWay := Or(HaveLen(writers), HaveLen(writers+1))

	It("a change of the spec ends a pass: running writes are completed, and the new "+
		"manifests are applied", func(ctx SpecContext) {
		g, operator := during(ctx,
			func(g *gadget.Gadget) { changeManifests(ctx, g, configMaps("new", 10, "b")) },
			func(o client.Object) bool { return o.GetGeneration() > 1 })
		expectReady(ctx, g)
		old := applies(ctx, operator, g.Namespace, "old")
		Expect(old).To(underWay)
		Expect(succeeded(old)).To(HaveLen(len(old)))
		Expect(applies(ctx, operator, g.Namespace, "new")).To(HaveLen(10))
		Expect(countConfigMaps(ctx, g.Namespace)).To(Equal(10))
	})

	It("a deletion of the component ends a pass, and no dependent stays", func(ctx SpecContext) {
		g, operator := during(ctx,
			func(g *gadget.Gadget) { remove(ctx, g) },
			func(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() })
		expectNotFound(ctx, g)
		Expect(applies(ctx, operator, g.Namespace, "old")).To(underWay)
		Expect(countConfigMaps(ctx, g.Namespace)).To(BeZero())
	})

	It("a change of the component other than spec and deletion does not end a pass", func(ctx SpecContext) {
		g, operator := during(ctx,
			func(g *gadget.Gadget) {
				patch(ctx, current(ctx, g), `{"metadata":{"labels":{"example.com/tier":"one"}}}`)
			},
			func(o client.Object) bool { return o.GetLabels()["example.com/tier"] == "one" })
		expectReady(ctx, g)
		Expect(applies(ctx, operator, g.Namespace, "old")).To(HaveLen(200))
	})
})

var _ = Describe("Specs that change with each write to a dependent:", func() {
	It("a component whose spec changes with each write to a dependent is applied completely, and becomes ready for its "+
		"last generation", func(ctx SpecContext) {
		const dependents = 12
		namespace, operator, shown, resting := newNamespace(ctx), newOperatorName(), &atomic.Int64{}, &atomic.Bool{}
		watch := component.Watch{Object: &gadget.Gadget{}, Map: func(_ context.Context, o client.Object) []reconcile.Request {
			if o.GetNamespace() == namespace {
				shown.Store(o.GetGeneration())
			}
			return nil
		}}
		isWrite := writesTo(namespace, "configmaps")
		restless := func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if isWrite(r) && !resting.Load() {
					defer GinkgoRecover()
					edited := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
					changeManifests(ctx, edited, configMaps("cm", dependents, fmt.Sprint(sequence.Add(1))))
					Eventually(ctx, shown.Load).Should(BeNumerically(">=", edited.Generation))
				}
				return next.RoundTrip(r)
			})
		}
		g := newGadget(ctx, namespace, "app", configMaps("cm", dependents, "first"), servedBy(operator))
		runOperator(operator, operatorOptions{
			component: component.Options{
				Limits:   component.Limits{Writers: 1},
				Watching: component.Watching{Watches: []component.Watch{watch}},
			},
			transport: restless,
		})
		Eventually(ctx, func() metav1alpha1.State { return current(ctx, g).Status.State }).
			Should(Equal(metav1alpha1.StateReady))
		Expect(ownedConfigMaps(ctx, operator, namespace)).To(HaveLen(dependents))
		resting.Store(true)
		expectReady(ctx, g)
	})
})

var _ = Describe("Changes before the status is written:", func() {
	It("if the component changes before a pass writes the status, the changes of this pass are still reported, and the "+
		"pass is not counted as failed", func(ctx SpecContext) {
		namespace, operator, exporter := newNamespace(ctx), newOperatorName(), tracetest.NewInMemoryExporter()
		late := &intruder{method: http.MethodPut, path: "/gadgets/app/status"}
		runOperator(operator, operatorOptions{transport: late.wrap, component: component.Options{
			Telemetry: component.Telemetry{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))},
		}})
		g := newGadget(ctx, namespace, "app", together(configMap("one", "a"), configMap("two", "a")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		late.arm(0, func() {
			changeManifests(ctx, &gadget.Gadget{ObjectMeta: g.ObjectMeta},
				together(configMap("one", "b"), configMap("two", "b")))
		})
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = together(configMap("one", "b"), configMap("two", "a")) })
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "Applied") }).Should(
			ContainElement(ContainSubstring("apply ConfigMap " + namespace + "/one")))
		expectReady(ctx, g)
		outcomes := map[string]codes.Code{}
		for _, span := range exporter.GetSpans() {
			if span.Name == "pass" {
				outcomes[attributeOf(span, "fairlead.outcome")] = span.Status.Code
			}
		}
		Expect(outcomes).To(And(HaveKeyWithValue("Interrupted", codes.Unset), HaveKeyWithValue("Ready", codes.Unset)))
	})
})
