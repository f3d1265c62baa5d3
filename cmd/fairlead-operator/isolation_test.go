package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// hungry is a template whose manifest contains one value of 33 MB. The value is within the limits of templates, and
// decoding it takes more than 128 MiB.
const hungry = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: {{ repeat 33000000 "a" }}}}`

var _ = Describe("A rendering that needs too much memory", func() {
	It("stalls its own component until the component is mended, and the operator goes on", func(ctx SpecContext) {
		restartOperator(ctx, "--rendering-memory-bytes=134217728", "--rendering-processes=1")
		hostile := createComponent(ctx, newNamespace(ctx), "hostile", v1alpha1.ComponentSpec{
			Source: inline("settings.yaml", hungry),
		})
		// While the hostile component is rendered again and again, others are rendered in their turn.
		good := createComponent(ctx, newNamespace(ctx), "good", v1alpha1.ComponentSpec{
			Source: inline("settings.yaml", monitored),
		})
		Eventually(status(ctx, good)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		const killed = "Stalled RenderingKilled: the rendering was killed: it needed more than 128 MiB of memory; " +
			"this happened 3 times in a row, so nothing is rendered until the inputs change"
		Eventually(status(ctx, hostile)).WithTimeout(60 * time.Second).Should(HavePrefix(killed))

		change(ctx, hostile, func(spec *v1alpha1.ComponentSpec) { spec.Source = inline("settings.yaml", monitored) })
		Eventually(status(ctx, hostile)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
	}, SpecTimeout(3*time.Minute))
})
