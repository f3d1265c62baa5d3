package conformance_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// toll holds the requests that it is for, each until somebody pays for it.
type toll struct {
	applies func(*http.Request) bool
	paid    chan struct{}
	arrived chan struct{}
}

// newToll returns one for the writes to ConfigMaps in a namespace.
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

// await returns when n more requests are held.
func (t *toll) await(ctx context.Context, n int) {
	GinkgoHelper()
	for range n {
		Eventually(ctx, t.arrived).Should(Receive())
	}
}

// pay lets n requests go on, those that are held first.
func (t *toll) pay(ctx context.Context, n int) {
	GinkgoHelper()
	for range n {
		Eventually(ctx, t.paid).Should(BeSent(struct{}{}))
	}
}

var _ = Describe("Components that write at once", func() {
	const writers = 4

	It("share the bound on requests: a small one is done as soon as a large one has let go of a single slot", func(ctx SpecContext) {
		large, small, operator := newNamespace(ctx), newNamespace(ctx), newOperatorName()
		held := newToll(large)
		runOperator(operator, operatorOptions{component: component.Options{Writers: writers}, transport: held.wrap})
		newGadget(ctx, large, "app", configMaps("cm", 100, "a"), servedBy(operator))
		held.await(ctx, writers)
		g := newGadget(ctx, small, "app", configMaps("cm", 20, "a"), servedBy(operator))
		Consistently(ctx, func() int { return countConfigMaps(ctx, small) }).Should(BeZero())
		held.pay(ctx, 1)
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, large)).To(Equal(1))
	})

	It("leave it to one that is alone", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		held := newToll(namespace)
		runOperator(operator, operatorOptions{component: component.Options{Writers: writers}, transport: held.wrap})
		g := newGadget(ctx, namespace, "app", configMaps("cm", 10, "a"), servedBy(operator))
		held.await(ctx, writers)
		Consistently(ctx, held.arrived).ShouldNot(Receive())
		held.pay(ctx, 10)
		expectReady(ctx, g)
	})
})
