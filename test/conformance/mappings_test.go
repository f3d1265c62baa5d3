package conformance_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// observed returns a wrapper of transports. The wrapper calls saw for each request, and then passes the request on.
// Before that, the function transport wraps the transport, unless transport is nil.
func observed(
	transport func(http.RoundTripper) http.RoundTripper, saw func(*http.Request),
) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		if transport != nil {
			next = transport(next)
		}
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			saw(r)
			return next.RoundTrip(r)
		})
	}
}

var _ = Describe("API groups that get another version later:", func() {
	var namespace, group, operator string

	BeforeEach(func(ctx SpecContext) {
		namespace, group, operator = newNamespace(ctx), newGroup(), newOperatorName()
	})
	// unfollowed fails the lists and watches of all definitions, as for an operator with few rights. It does not fail
	// requests with a selector, because these are the watches on dependents.
	unfollowed := func(next http.RoundTripper) http.RoundTripper {
		refuse := &meddler{code: http.StatusForbidden, reason: "Forbidden", matches: func(r *http.Request) bool {
			defining := strings.HasSuffix(r.URL.Path, "/customresourcedefinitions") || strings.HasSuffix(r.URL.Path,
				"/apiservices")
			return r.Method == http.MethodGet && defining && r.URL.Query().Get("labelSelector") == ""
		}}
		refuse.on.Store(true)
		return refuse.wrap(next)
	}

	// No version of the group serves the kind Gizmo yet. So the operator searches it in the existing version, v1alpha1.
	DescribeTable("a kind in a new version of a group is found, and its definition is deleted, by an "+
		"operator that", func(ctx SpecContext, o operatorOptions) {
		var searches atomic.Int64
		o.transport = observed(o.transport, func(r *http.Request) {
			if r.URL.Path == "/apis/"+group+"/v1alpha1" {
				searches.Add(1)
			}
		})
		runOperator(operator, o)
		first := strings.Replace(widgetDefinition(group), "name: v1", "name: v1alpha1", 1)
		own := gizmo(widget(group, "own"))
		g := newGadget(ctx, namespace, "app", together(first, own), servedBy(operator), retrySoon)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("Gizmo"))
		Eventually(ctx, func() int64 {
			requestPass(ctx, g, operator)
			return searches.Load()
		}).WithPolling(time.Second).Should(BeNumerically(">", 1))

		changeManifests(ctx, g, together(first, gizmo(widgetDefinition(group))))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
	},
		Entry("watches definitions", operatorOptions{}),
		Entry("has no right to watch definitions", operatorOptions{transport: unfollowed}),
	)

	It("many kinds that are not served yet do not cause a full discovery for each kind", func(ctx SpecContext) {
		var readings atomic.Int64
		runOperator(operator, operatorOptions{transport: observed(nil, func(r *http.Request) {
			if r.URL.Path == "/apis" {
				readings.Add(1)
			}
		})})
		var set []string
		for i := range 10 {
			kind := strings.NewReplacer("Widget", fmt.Sprintf("Kind%d", i), "widgets", fmt.Sprintf("kind%ds", i))
			set = append(set, kind.Replace(widgetDefinition(group)), kind.Replace(widget(group, "own")))
		}
		g := newGadget(ctx, namespace, "app", together(set...), servedBy(operator))
		expectReady(ctx, g)
		// The mapper reads discovery once, and the capabilities once, and both read it again after a burst of events.
		Expect(readings.Load()).To(BeNumerically("<=", 6))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})
