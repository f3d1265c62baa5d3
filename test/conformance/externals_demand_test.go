package conformance_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

var _ = Describe("Externals that are observed on demand:", func() {
	It("a request for a pass and a call of Trigger observe an external at once, and other "+
		"passes do not", func(ctx SpecContext) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		var reconciler *gadgetReconciler
		runOperator(operator, operatorOptions{
			component: component.Options{Externals: []external.Driver{
				external.Of("Thing", componenttest.Things{Cloud: cloud},
					external.Options[componenttest.ThingSpec]{Poll: time.Hour}),
			}},
			built: func(r *gadgetReconciler) { reconciler = r },
		})
		g := newGadget(ctx, newNamespace(ctx), "app", together(thing("Thing", "one", "a"), configMap("settings", "a")),
			servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		spoil := func() {
			made := cloud.Things()[0]
			made.Value = "of another client"
			cloud.Put(made)
		}
		value := func() string { return cloud.Things()[0].Value }

		spoil()
		observed := cloud.Calls("Observe")
		changeManifests(ctx, g, together(thing("Thing", "one", "a"), configMap("settings", "b")))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(cloud.Calls("Observe")).To(Equal(observed))
		Expect(value()).To(Equal("of another client"))

		requestPass(ctx, g, operator)
		Eventually(ctx, value).Should(Equal("a"))
		expectReady(ctx, g)
		settle(ctx, operator)
		spoil()
		reconciler.Trigger(client.ObjectKeyFromObject(g))
		Eventually(ctx, value).Should(Equal("a"))
	})
})
