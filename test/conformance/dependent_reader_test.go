package conformance_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// hookRead is the result of the last read of a hook.
type hookRead struct {
	names []string
	err   error
}

// hookReadOf returns the result of a List.
func hookReadOf(objects []*unstructured.Unstructured, err error) *hookRead {
	r := &hookRead{err: err}
	for _, o := range objects {
		r.names = append(r.names, o.GetName())
	}
	return r
}

var _ = Describe("The dependents that a hook reads:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	services := schema.GroupKind{Kind: "Service"}
	things := schema.GroupKind{Group: external.Group, Kind: "Thing"}

	// noted returns a hook that keeps the result of a read.
	noted := func(last *atomic.Pointer[hookRead],
		read func(context.Context, component.DependentReader) *hookRead,
	) gadgetHook {
		return func(ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader) error {
			last.Store(read(ctx, dependents))
			return nil
		}
	}
	listed := func(last *atomic.Pointer[hookRead], kind schema.GroupKind) gadgetHook {
		return noted(last, func(ctx context.Context, dependents component.DependentReader) *hookRead {
			return hookReadOf(dependents.List(ctx, kind))
		})
	}

	It("externals of a kind are listed as their last observations show them, without a call and "+
		"without a request", func(ctx SpecContext) {
		cloud := componenttest.NewCloud()
		var before, after atomic.Pointer[hookRead]
		runOperator(operator, operatorOptions{
			component: component.Options{Externals: []external.Driver{
				external.Of("Thing", componenttest.Things{Cloud: cloud},
					external.Options[componenttest.ThingSpec]{Poll: time.Hour}),
			}},
			hooks: gadgetHooks{PreReconcile: listed(&before, things), PostReconcile: listed(&after, things)},
		})
		g := newGadget(ctx, namespace, "app",
			together(thing("Thing", "two", "b"), thing("Thing", "one", "a"), configMap("settings", "a")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(after.Load()).To(Equal(&hookRead{names: []string{"one", "two"}}))

		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(before.Load()).To(Equal(&hookRead{names: []string{"one", "two"}}))
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
	})

	It("objects that the component only observes are read like others, also before the rendering and "+
		"after a restart", func(ctx SpecContext) {
		var before, after, named atomic.Pointer[hookRead]
		key := manifests.Key{Kind: "Service", Namespace: namespace, Name: "db"}
		options := operatorOptions{hooks: gadgetHooks{
			PreReconcile: listed(&before, services),
			PostPass: func(ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader,
				_ component.PassResult,
			) error {
				after.Store(hookReadOf(dependents.List(ctx, services)))
				service, err := dependents.Get(ctx, key)
				r := &hookRead{err: err}
				if err == nil {
					r.names = []string{service.GetLabels()["phase"]}
				}
				named.Store(r)
				return nil
			},
		}}
		stop := runOperator(operator, options)
		observed := "apiVersion: v1\nkind: Service\nmetadata: {name: db, annotations: {" + settingOf(operator,
			"reconcile-policy", "observe") + "}}"
		own := "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}"
		g := newGadget(ctx, namespace, "app", together(observed, own), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HavePrefix("False DependentsNotReady"))
		Eventually(ctx, after.Load).Should(Equal(&hookRead{names: []string{"web"}}), "nobody has created the other Service")
		Eventually(ctx, func() bool { r := named.Load(); return r != nil && apierrors.IsNotFound(r.err) }).Should(BeTrue())

		create(ctx, "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: "+namespace+
			", labels: {phase: open}}\nspec: {ports: [{port: 80}]}")
		expectReady(ctx, g)
		Eventually(ctx, after.Load).Should(Equal(&hookRead{names: []string{"db", "web"}}))
		Eventually(ctx, named.Load).Should(Equal(&hookRead{names: []string{"open"}}))

		stop()
		before.Store(nil)
		stop = runOperator(operator, options)
		Eventually(ctx, before.Load).Should(Equal(&hookRead{names: []string{"db", "web"}}))

		By("the manifest is removed")
		settle(ctx, operator)
		changeManifests(ctx, g, own)
		Eventually(ctx, func() *hookRead { return after.Load() }).Should(Equal(&hookRead{names: []string{"web"}}))
		stop()
	})

	It("a wrong group or kind is an error of its own, which is not retried within seconds", func(ctx SpecContext) {
		var calls atomic.Int64
		wrong := manifests.Key{Group: "apps.example.com", Kind: "Deployment", Namespace: namespace, Name: "web"}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PostReconcile: func(ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader) error {
				calls.Add(1)
				_, err := dependents.Get(ctx, wrong)
				return err
			},
		}})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True HookFailed"), ContainSubstring(
			"read Deployment.apps.example.com: no dependent has this group and kind, and the API server does not serve it; "+
				"correct the key")))
		settle(ctx, operator)
		had := calls.Load()
		Consistently(ctx, calls.Load).WithTimeout(time.Second).Should(Equal(had))
	})

	It("before the dependents are applied, and for served kinds, nothing is found", func(ctx SpecContext) {
		var before, unserved, served, externals atomic.Pointer[hookRead]
		group := newGroup()
		widgets := schema.GroupKind{Group: group, Kind: "Widget"}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PreReconcile: noted(&before, func(ctx context.Context, dependents component.DependentReader) *hookRead {
				if r := before.Load(); r != nil {
					return r // The first result is kept.
				}
				return hookReadOf(dependents.List(ctx, widgets))
			}),
			PostReconcile: func(ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader) error {
				served.Store(hookReadOf(dependents.List(ctx, services)))
				unserved.Store(hookReadOf(dependents.List(ctx, schema.GroupKind{Group: group, Kind: "Gizmo"})))
				externals.Store(hookReadOf(dependents.List(ctx, things)))
				return nil
			},
		}})
		g := newGadget(ctx, namespace, "app", widgetDefinition(group), servedBy(operator))
		expectReady(ctx, g)
		Expect(before.Load()).To(Equal(&hookRead{}), "the definition is not applied yet")
		Expect(served.Load()).To(Equal(&hookRead{}))
		Expect(meta.IsNoMatchError(unserved.Load().err)).To(BeTrue(), "%v", unserved.Load().err)
		Expect(externals.Load().err).
			To(MatchError(ContainSubstring("no handler is registered for externals of the kind Thing; no kind is registered")))
	})
})
