package cli_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// chartWithPods returns the files of a chart with dependents, a dependent with pods, and notes with a look-up.
func chartWithPods() []string {
	return append(shopTemplates(),
		"templates/nightly.yaml", `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: main}]}}}}
`,
		"templates/NOTES.txt", `{{ len (lookup "v1" "Secret" .Release.Namespace "login") }}`)
}

var _ = Describe("a request that the API server forbids", onCluster(func() {
	It("leads to the same exit code with all commands", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		dir := folder(chartWithPods()...)
		applied(ctx, namespace, dir)
		allow(ctx, namespace, "visitor", "fairlead-components-viewer")
		allow(ctx, namespace, "guest", mayView)
		allow(ctx, namespace, "reader", mayView, "fairlead-components-viewer")
		Eventually(ctx, func() int { return fairlead(ctx, namespace, "list", "--as=reader").Code }).Should(Equal(0))
		Eventually(ctx, func() int { return fairlead(ctx, namespace, "why", "configmap/settings", "--as=guest").Code }).
			Should(Equal(3))
		Eventually(ctx, func() int { return fairlead(ctx, namespace, "list", "--as=visitor").Code }).Should(Equal(0))

		shown, hidden := 0, 3
		lines := map[string]int{}
		// The user stranger has no rights.
		for _, line := range []string{
			"apply shop DIR", "apply new DIR", "plan shop", "plan shop DIR", "plan shop --delete", "diff shop", "diff shop DIR",
			"export shop", "delete shop",
			"list", "status shop", "tree shop", "why configmap/settings", "notes shop", "rbac shop", "history shop",
			"events shop", "logs shop",
			"reconcile shop", "suspend shop", "resume shop",
		} {
			lines[line+" --as=stranger"] = hidden
		}
		// The user visitor may only read components.
		for _, line := range []string{
			"apply shop DIR", "plan shop", "plan shop DIR", "plan shop --delete", "diff shop", "diff shop DIR", "export shop",
			"delete shop", "tree shop",
			"why configmap/settings", "notes shop", "rbac shop", "events shop", "events shop -d", "logs shop", "reconcile shop",
			"suspend shop",
		} {
			lines[line+" --as=visitor"] = hidden
		}
		for _, line := range []string{"list", "status shop", "history shop", "rbac shop --dir DIR"} {
			lines[line+" --as=visitor"] = shown
		}
		// The user reader may read all objects except for Secrets. The user guest may not read components either.
		for _, line := range []string{
			"plan shop", "plan shop DIR", "diff shop", "tree shop", "notes shop", "rbac shop",
			"why configmap/settings",
		} {
			lines[line+" --as=reader"] = hidden
		}
		lines["why configmap/settings --as=guest"], lines["export shop --as=reader"] = hidden, shown

		var wrong []string
		for line, want := range lines {
			if r := fairlead(ctx, namespace, strings.Fields(strings.ReplaceAll(line, "DIR", dir))...); r.Code != want {
				wrong = append(wrong, fmt.Sprintf("%s: %d, %s%s", line, r.Code, r.Out, r.Err))
			}
		}
		Expect(wrong).To(BeEmpty())
		Expect(fairlead(ctx, namespace, "plan", "shop", "--as=visitor").Err).To(And(
			ContainSubstring("the next writes of the operator cannot be computed: "), ContainSubstring(`User "visitor" cannot`),
			Not(ContainSubstring("would do nothing"))))
	})

	It("is reported in addition to the objects that can be read", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		applied(ctx, namespace, folder(chartWithPods()...))
		allow(ctx, namespace, "reader", mayView, "fairlead-components-viewer")
		allow(ctx, namespace, "guest", mayView)
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "tree", "shop", "--as=reader") }).Should(And(
			HaveField("Code", 3),
			HaveField("Out", And(MatchRegexp(`ConfigMap +%s/settings +Ready`, namespace),
				MatchRegexp(`Secret +%s/login +Unknown +Forbidden`, namespace))),
			HaveField("Err",
				Equal("fairlead: component.fairlead.io/shop: these objects cannot be read: Secret "+namespace+"/login\n"))))
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "why", "configmap/settings", "--as=guest") }).
			Should(And(
				HaveField("Code", 3), HaveField("Out", ContainSubstring("unknown")),
				HaveField("Err", ContainSubstring("the explanation is incomplete: components.fairlead.io"))))
	})
}))
