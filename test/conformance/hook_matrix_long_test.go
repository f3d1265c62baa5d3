//go:build programs && long

package conformance_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("All combinations of the hooks of a chart, for more kinds:", func() {
	for _, kind := range []string{"Job", "Pod", "PersistentVolumeClaim"} {
		It("hooks of a chart of this kind are created and deleted in the same order as by Helm, for all events and "+
			"delete policies: "+kind, func(ctx SpecContext) {
			compareHooks(ctx, matrixOf(kind, hookEvents, hookPolicies))
		}, SpecTimeout(longMatrixTimeout))
	}

	for _, kind := range []string{"Job", "Pod"} {
		for _, policies := range []string{
			"", "hook-failed", "before-hook-creation,hook-failed",
			"before-hook-creation,hook-succeeded", "before-hook-creation,hook-succeeded,hook-failed",
		} {
			It("a hook of a chart that fails, and the hooks before and after it, are created and deleted as by Helm, at "+
				"all events: "+kind+" "+policies, func(ctx SpecContext) {
				for _, event := range failingEvents {
					if policies == "hook-failed" && strings.HasSuffix(event, "-upgrade") {
						continue // Without before-hook-creation, Helm fails because the hook of the installation exists.
					}
					compareFailures(ctx, kind, event, policies)
				}
			}, SpecTimeout(longMatrixTimeout))
		}
	}
})
