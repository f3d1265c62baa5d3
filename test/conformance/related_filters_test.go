package conformance_test

import (
	"context"
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Event sources:", func() {
	It("a field selector and filters of created and deleted objects decide who is woken", func(ctx SpecContext) {
		namespace, operator, s := newNamespace(ctx), newOperatorName(), &seen{}
		isLarge := func(c *corev1.ConfigMap) bool { return c.Data["value"] == "large" }
		relation := eventsource.Related("settings", configMapOptions{
			All: true, Whole: true, Added: isLarge, Deleted: isLarge,
			Fields: fields.AndSelectors(
				fields.OneTermEqualSelector("metadata.namespace", namespace),
				fields.OneTermNotEqualSelector("metadata.name", "hidden"),
				fields.OneTermNotEqualSelector("metadata.name", "own"), // the dependent
				fields.OneTermNotEqualSelector("metadata.name", "kube-root-ca.crt"),
			),
		})
		runOperator(operator, operatorOptions{
			hooks: hookSeeing(s, relation), built: withSources(relation),
		})
		g := newGadget(ctx, namespace, "app", configMap("own", "a"), servedBy(operator))
		expectReady(ctx, g)

		By("waking nobody for objects that the filter or the selector leaves out")
		settle(ctx, operator)
		before := passes(operator)
		small := shared(ctx, namespace, "small", "small")
		shared(ctx, namespace, "hidden", "large")
		remove(ctx, small)
		shared(ctx, namespace, "small", "small")
		Consistently(ctx, func() int { return passes(operator) }).Should(Equal(before))

		By("waking the component for other objects, and showing the objects that the filter left out")
		large := shared(ctx, namespace, "large", "large")
		Eventually(ctx, s.of(namespace+"/app")).Should(Equal("large=large small=small"))
		remove(ctx, large)
		Eventually(ctx, s.of(namespace+"/app")).Should(Equal("small=small"))
	})

	It("a hook reads one related object by its name, and no object that is not related", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		shared(ctx, namespace, "shared", "a")
		shared(ctx, namespace, "other", "b")
		relation := eventsource.Related("settings", configMapOptions{
			Whole: true,
			Of: func(*gadget.Gadget) []client.ObjectKey {
				return []client.ObjectKey{{Namespace: namespace, Name: "shared"}, {Namespace: namespace, Name: "missing"}}
			},
		})
		var result atomic.Pointer[string]
		runOperator(operator, operatorOptions{built: withSources(relation), hooks: gadgetHooks{
			PreReconcile: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				text := ""
				for _, name := range []string{"shared", "other", "missing"} {
					found, err := relation.GetNamed(ctx, g, client.ObjectKey{Namespace: namespace, Name: name})
					switch {
					case apierrors.IsNotFound(err):
						text += name + " not found "
					case err != nil:
						return err
					default:
						text += name + "=" + found.Data["value"] + " "
					}
				}
				result.Store(&text)
				return nil
			},
		}})
		g := newGadget(ctx, namespace, "app", configMap("own", "a"), servedBy(operator))
		expectReady(ctx, g)
		Expect(*result.Load()).To(Equal("shared=a other not found missing not found "))
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty(), "the object is kept")
	})
})

var _ = Describe("Hooks:", func() {
	It("a hook compares a live dependent with its manifest of this pass, without a request for "+
		"the manifest", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		key := manifests.Key{Kind: "ConfigMap", Namespace: namespace, Name: "a"}
		var result atomic.Pointer[string]
		runOperator(operator, operatorOptions{hooks: gadgetHooks{
			PostReconcile: func(ctx context.Context, _ *gadget.Gadget, dependents component.DependentReader) error {
				desired, err := component.As[*corev1.ConfigMap](dependents.Desired(key))
				if err != nil {
					return err
				}
				live, err := component.As[*corev1.ConfigMap](dependents.Get(ctx, key))
				if err != nil {
					return err
				}
				_, missing := dependents.Desired(manifests.Key{Kind: "ConfigMap", Namespace: namespace, Name: "b"})
				text := fmt.Sprintln(desired.Data["value"], live.Data["value"], desired.UID == "", live.UID != "",
					apierrors.IsNotFound(missing))
				result.Store(&text)
				return nil
			},
			PreReconcile: func(_ context.Context, _ *gadget.Gadget, dependents component.DependentReader) error {
				var none *unstructured.Unstructured
				found, err := dependents.Desired(key)
				Expect(found).To(Equal(none))
				Expect(err).To(MatchError("the manifest of ConfigMap " + namespace + "/a: this pass has rendered nothing"))
				return nil
			},
		}})
		g := newGadget(ctx, namespace, "app", configMap("a", "1"), servedBy(operator))
		expectReady(ctx, g)
		Expect(*result.Load()).To(Equal("1 1 true true true\n"))
		changeManifests(ctx, g, configMap("a", "2"))
		expectReady(ctx, g)
		Expect(*result.Load()).To(Equal("2 2 true true true\n"))

		By("also in a pass that takes the rendering from the cache")
		settle(ctx, operator)
		result.Store(nil)
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(*result.Load()).To(Equal("2 2 true true true\n"))
		Expect(verbs(requestsSince(ctx, mark, operator))).To(Equal([]string{"get configmaps 200"}),
			"the live object is read once")
	})
})
