package conformance_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// toll holds back the matching requests. A request is sent when the spec releases it by a call of pay.
type toll struct {
	applies func(*http.Request) bool
	paid    chan struct{}
	arrived chan struct{}
}

// newToll returns a toll for the writes to ConfigMaps in a namespace.
func newToll(namespace string) *toll {
	return &toll{applies: writesTo(namespace, "configmaps"), paid: make(chan struct{}), arrived: make(chan struct{}, 1000)}
}

func (t *toll) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if t.applies(r) {
			t.arrived <- struct{}{}
			select {
			case <-t.paid:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return next.RoundTrip(r)
	})
}

// await waits until n further matching requests have arrived.
func (t *toll) await(ctx context.Context, n int) {
	GinkgoHelper()
	for range n {
		Eventually(ctx, t.arrived).Should(Receive())
	}
}

// pay releases n requests, in the order of their arrival.
func (t *toll) pay(ctx context.Context, n int) {
	GinkgoHelper()
	for range n {
		Eventually(ctx, t.paid).Should(BeSent(struct{}{}))
	}
}

var _ = Describe("The limit of concurrent writes:", func() {
	const writers = 4

	It("components share the limit of concurrent writes fairly: a small component is applied as soon as a large one has "+
		"released one slot", func(ctx SpecContext) {
		large, small, operator := newNamespace(ctx), newNamespace(ctx), newOperatorName()
		held := newToll(large)
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{Writers: writers}},
			transport: held.wrap,
		})
		newGadget(ctx, large, "app", configMaps("cm", 100, "a"), servedBy(operator))
		held.await(ctx, writers)
		g := newGadget(ctx, small, "app", configMaps("cm", 20, "a"), servedBy(operator))
		Consistently(ctx, func() int { return countConfigMaps(ctx, small) }).Should(BeZero())
		held.pay(ctx, 1)
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, large)).To(Equal(1))
	})

	It("a component can use all slots of the limit of concurrent writes if no other "+
		"component writes", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		held := newToll(namespace)
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{Writers: writers}},
			transport: held.wrap,
		})
		g := newGadget(ctx, namespace, "app", configMaps("cm", 10, "a"), servedBy(operator))
		held.await(ctx, writers)
		Consistently(ctx, held.arrived).ShouldNot(Receive())
		held.pay(ctx, 10)
		expectReady(ctx, g)
	})
})
