package conformance_test

import (
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
)

// heldAnswer holds the answer to the first request that counts, so the operator is paused at this request.
type heldAnswer struct {
	counts func(*http.Request) bool
	open   chan struct{}
	held   atomic.Bool
}

func (h *heldAnswer) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if h.counts(r) && !h.held.Swap(true) {
			<-h.open
		}
		return response, err
	})
}

var _ = Describe("Operators that are paused with externals:", func() {
	DescribeTable("an operator that was paused between the records of a create and its call does not "+
		"make the call", func(ctx SpecContext, kind string) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		cloud.Put(foreignThing)
		paused := &heldAnswer{open: make(chan struct{}), counts: func(r *http.Request) bool {
			return r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/gadgets/app/status")
		}}
		runOperator(operator, operatorOptions{
			transport: paused.wrap,
			component: component.Options{Externals: cloudKinds(cloud)},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", thing(kind, "one", "a"), servedBy(operator))
		Eventually(ctx, paused.held.Load).Should(BeTrue())
		runCloud(cloud, operator)
		expectReady(ctx, g)
		Expect(ownThings(cloud)).To(Equal([]string{"a"}))
		close(paused.open)
		settle(ctx, operator)
		changeManifests(ctx, g, thing(kind, "one", "b"))
		expectReady(ctx, g)
		Eventually(ctx, func() []string { return ownThings(cloud) }).Should(Equal([]string{"b"}))
		Expect(cloud.Calls("Create")).To(Equal(1))
		expectDeleted(ctx, g, operator, cloud)
	}, Entry("FindableThing", "FindableThing"), Entry("NamedThing", "NamedThing"))
})
