package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

type (
	gadgetHook  = component.Hook[*gadget.Gadget]
	gadgetHooks = component.Hooks[*gadget.Gadget]
)

// diary records the calls of hooks, and the state of the cluster that the hooks read.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, text)
}

// read returns the recorded entries. Equal entries in a row are returned once.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Compact(slices.Clone(d.entries))
}

func (d *diary) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = nil
}

var _ = Describe("The hooks of a reconciler:", func() {
	settings := func(namespace string) manifests.Key {
		return manifests.Key{Kind: "ConfigMap", Namespace: namespace, Name: "settings"}
	}
	// noted returns a hook that records its name, and whether the ConfigMap settings exists.
	noted := func(d *diary, name string) gadgetHook {
		return func(ctx context.Context, g *gadget.Gadget, dependents component.DependentReader) error {
			_, err := dependents.Get(ctx, settings(g.Namespace))
			switch {
			case apierrors.IsNotFound(err):
				d.note(name + " without")
			case err != nil:
				return err
			default:
				d.note(name + " with")
			}
			return nil
		}
	}

	It("hooks of a reconciler are called at the documented points of a pass, and can read "+
		"live dependents", func(ctx SpecContext) {
		operator, d := newOperatorName(), &diary{}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PreReconcile: noted(d, "PreReconcile"), PostReconcile: noted(d, "PostReconcile"),
			PreDelete: noted(d, "PreDelete"), PostDelete: noted(d, "PostDelete"),
		}})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(d.read()[:2]).To(Equal([]string{"PreReconcile without", "PostReconcile with"}))
		d.clear()
		requestPass(ctx, g, operator)
		Eventually(d.read).Should(Equal([]string{"PreReconcile with", "PostReconcile with"}))
		d.clear()
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(d.read()).To(Equal([]string{"PreDelete with", "PostDelete without"}))
	})

	It("a reconciler with hooks for deletions adds the finalizer in the first pass", func(ctx SpecContext) {
		operator, d := newOperatorName(), &diary{}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PreReconcile: func(_ context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				d.note(fmt.Sprint("held by ", g.Finalizers))
				return nil
			},
			PreDelete: noted(d, "PreDelete"), PostDelete: noted(d, "PostDelete"),
		}})
		mark := markAudit(ctx)
		g := newGadget(ctx, newNamespace(ctx), "app", "no manifest", servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True GenerateFailed")
		requestPass(ctx, g, operator)
		lists := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Verb("list")
		Expect(len(lists)).To(BeNumerically("<", 5), "the operator must not search for dependents if none was ever recorded")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(d.read()).To(Equal([]string{
			"held by [" + operator + "/finalizer]", "PreDelete without",
			"PostDelete without",
		}))
	})

	It("a PostRead hook can set defaults in the spec, which are not persisted", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PostRead: func(_ context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				if g.Spec.Manifests == "" {
					g.Spec.Manifests = configMap("settings", "default")
				}
				g.Status.Port = 1
				return nil
			},
		}})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "default"))
		after := current(ctx, g)
		Expect(after.Spec.Manifests).To(BeEmpty())
		Expect(after.Status.Port).To(BeZero())
		Expect(after.Generation).To(Equal(int64(1)))
	})

	It("a PreDelete hook that fails delays the deletion, and is not called again after its "+
		"first success", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		calls, open := &atomic.Int64{}, &atomic.Bool{}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PreDelete: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				if calls.Add(1); !open.Load() {
					return errors.New("the backup is not finished")
				}
				return nil
			},
		}})
		held := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/hold]}"
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), held), servedBy(operator))
		expectReady(ctx, g)
		Expect(calls.Load()).To(BeZero())
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling,
			"True Retrying: hook PreDelete: the backup is not finished")
		Expect(current(ctx, g).Status.State).To(Equal(metav1alpha1.StateDeleting))
		Eventually(ctx, calls.Load).Should(BeNumerically(">=", 2), "the hook was not called again")
		Expect(countConfigMaps(ctx, namespace)).To(Equal(2))
		open.Store(true)
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(1))
		settle(ctx, operator)
		had := calls.Load()
		requestPass(ctx, g, operator)
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "held"), `{"metadata":{"finalizers":null}}`)
		expectNotFound(ctx, g)
		Expect(calls.Load()).To(Equal(had))
	})

	It("a PreDelete hook is not called while the deletion is blocked", func(ctx SpecContext) {
		namespace, operator, group := newNamespace(ctx), newOperatorName(), newGroup()
		d := &diary{}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{PreDelete: noted(d, "PreDelete")}})
		g := newGadget(ctx, namespace, "app", widgetDefinition(group), servedBy(operator))
		expectReady(ctx, g)
		foreign := create(ctx, strings.Replace(widget(group, "foreign"), "name:", "namespace: "+namespace+", name:", 1))[0]
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True ForeignInstances")
		settle(ctx, operator)
		Expect(d.read()).To(BeEmpty())
		remove(ctx, foreign)
		expectNotFound(ctx, g)
		Expect(d.read()).To(Equal([]string{"PreDelete without"}))
	})

	It("while a PostDelete hook fails, the component is not removed", func(ctx SpecContext) {
		namespace, operator, open := newNamespace(ctx), newOperatorName(), &atomic.Bool{}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PostDelete: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				if !open.Load() {
					return reconcile.TerminalError(errors.New("the account cannot be closed"))
				}
				return nil
			},
		}})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"),
			servedBy(operator), func(g *gadget.Gadget) { g.Spec.RetryInterval = milliseconds(300) })
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True HookFailed"), ContainSubstring("cannot be closed")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		open.Store(true)
		expectNotFound(ctx, g)
	})

	It("a PostReconcile hook that fails keeps the component from being ready, and the applied dependents "+
		"are recorded", func(ctx SpecContext) {
		operator, open := newOperatorName(), &atomic.Bool{}
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PostReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				if !open.Load() {
					return errors.New("the site does not answer")
				}
				return nil
			},
		}})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False Retrying: hook PostReconcile: the site does not answer")
		status := current(ctx, g).Status
		Expect(status.Dependents.Summary).To(Equal("1/1"))
		Expect(status.Inventory).To(ConsistOf(ContainSubstring("u=")))
		open.Store(true)
		expectReady(ctx, g)
	})

	It("a hook that panics does not end the operator", func(ctx SpecContext) {
		operator, broken := newOperatorName(), &atomic.Bool{}
		broken.Store(true)
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PreReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				if broken.Load() {
					panic("a bug")
				}
				return nil
			},
		}})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"),
			servedBy(operator), func(g *gadget.Gadget) { g.Spec.RetryInterval = milliseconds(300) })
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True HookFailed"), ContainSubstring("the hook panicked: a bug")))
		broken.Store(false)
		expectReady(ctx, g)
	})

	It("hooks read dependents of types in the full cache without a request, and other dependents from "+
		"the API server", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var seen atomic.Pointer[unstructured.Unstructured]
		runOperator(operator, operatorOptions{
			component: component.Options{
				Watching: component.Watching{CacheFull: []schema.GroupKind{{Kind: "ConfigMap"}}},
			},
			hooks: gadgetHooks{PostReconcile: func(ctx context.Context, g *gadget.Gadget,
				dependents component.DependentReader,
			) error {
				obj, err := dependents.Get(ctx, settings(g.Namespace))
				if err != nil {
					return err
				}
				seen.Store(obj)
				_, err = dependents.Get(ctx, manifests.Key{Kind: "ServiceAccount", Namespace: g.Namespace, Name: "runner"})
				return err
			}},
		})
		runner := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}"
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), runner), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(Equal([]string{"get serviceaccounts 200"}))
		Expect(seen.Load().Object["data"]).To(HaveKeyWithValue("value", "a"))

		By("reading a change of another client at once, and not reading an object that is no dependent any more")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"other":"b"}}`)
		Eventually(ctx, func() any { return seen.Load().Object["data"] }).Should(HaveKeyWithValue("other", "b"))
		changeManifests(ctx, g, runner)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False Retrying"), ContainSubstring("not found")))
	})
})
