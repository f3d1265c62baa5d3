package conformance_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Values of own Secrets after a restart:", func() {
	var namespace, operator, group string
	var rendered *chart
	var start func() (stop func())
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, group, rendered = newNamespace(ctx), newOperatorName(), newGroup(), &chart{}
		start = func() func() { return runOperator(operator, operatorOptions{generate: rendered}) }
	})
	// own generates a password unless the Secret exists, and renders a checksum of another generated password, or of the
	// one in the Secret. Many charts render the template of a Secret twice like this.
	const own = `{{ $own := lookup "v1" "Secret" .Release.Namespace "own" }}
apiVersion: v1
kind: Secret
metadata: {name: own}
data: {value: {{ if $own }}{{ $own.data.value }}{{ else }}{{ randAlphaNum 16 | b64enc }}{{ end }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: pods}
data: {checksum: {{ if $own }}{{ sha256sum $own.data.value | quote }}{{ else }}{{ randAlphaNum 16 | sha256sum | quote }}{{ end }}}
---
{{ if .Capabilities.APIVersions.Has "GROUP/v1" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: monitor}
{{ end }}
`
	define := func(ctx context.Context, group string) {
		GinkgoHelper()
		definition := create(ctx, widgetDefinition(group))
		DeferCleanup(func(ctx SpecContext) { _ = k8s.Delete(ctx, definition[0]) })
		awaitDefinitions(ctx)
	}
	// restartWith stops the operator of a component, calls meanwhile, and starts the operator again. It returns the
	// operator's writes in the namespace, and the number of renderings.
	restartWith := func(ctx context.Context, meanwhile func()) (writes []string, renderings int64) {
		GinkgoHelper()
		stop := start()
		g := newGadget(ctx, namespace, "app", strings.ReplaceAll(own, "GROUP", group), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		meanwhile()
		before, mark, made := rendered.renderings.Load(), markAudit(ctx), passes(operator)
		start()
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", made))
		settle(ctx, operator)
		expectReady(ctx, g)
		return story(ctx, mark, operator, namespace), rendered.renderings.Load() - before
	}

	It("types that a chart did not ask for, and that are served since then, cause no rendering and no write after a restart", func(ctx SpecContext) {
		writes, renderings := restartWith(ctx, func() { define(ctx, newGroup()) })
		Expect(writes).To(BeEmpty())
		Expect(renderings).To(BeZero())
	})

	It("a type that a chart asked for, and that is served since then, changes only what the chart renders for it", func(ctx SpecContext) {
		before := map[string]any{}
		writes, _ := restartWith(ctx, func() {
			before = content(ctx, "ConfigMap", namespace, "pods")
			define(ctx, group)
		})
		dependents := slices.DeleteFunc(writes, func(write string) bool { return strings.Contains(write, " secrets/rendered-") })
		Expect(dependents).To(Equal([]string{"patch configmaps/monitor"}))
		Expect(content(ctx, "ConfigMap", namespace, "pods")).To(Equal(before))
	})

	It("a record of the previous version, without what the chart asked for, changes no dependent after a restart with other types", func(ctx SpecContext) {
		writes, renderings := restartWith(ctx, func() {
			sets := keptSets(ctx, namespace)
			Expect(sets).To(HaveLen(1))
			patch(ctx, &sets[0], `{"metadata":{"annotations":{"`+operator+`/record-capabilities":null}}}`)
			define(ctx, newGroup())
		})
		Expect(writes).To(BeEmpty())
		Expect(renderings).To(BeNumerically(">", 0))
	})
})
