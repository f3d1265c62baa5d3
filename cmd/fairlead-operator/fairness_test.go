package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// long is a template that renders for at least some seconds. It calls until once, because the results of functions count
// as output, which is limited.
const long = "{{ $n := until 500 }}{{ range $n }}{{ range $n }}{{ range $n }}{{ end }}{{ end }}{{ end }}\n"

// doubling returns a kustomization whose bases double at each level.
func doubling(levels int) map[string]string {
	files := map[string]string{"kustomization.yaml": "resources: [base-0]\n"}
	for i := range levels {
		files[fmt.Sprintf("base-%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../left-%d, ../right-%d]\n", i, i)
		for _, side := range []string{"left", "right"} {
			files[fmt.Sprintf("%s-%d/kustomization.yaml", side, i)] = fmt.Sprintf(
				"namePrefix: %.1s-\nresources: [../base-%d]\n", side, i+1)
		}
	}
	files[fmt.Sprintf("base-%d/kustomization.yaml", levels)] = "resources: [a.yaml]\n"
	files[fmt.Sprintf("base-%d/a.yaml", levels)] = monitored
	return files
}

// limit is the time limit of a spec.
const limit = 10 * time.Minute

// resultsIn returns the components of a namespace that have a result: they are ready, or their rendering failed.
func resultsIn(ctx context.Context, namespace string) (ready, failed []string) {
	GinkgoHelper()
	list := &v1alpha1.ComponentList{}
	Expect(administrator.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	for _, c := range list.Items {
		condition := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
		switch {
		case condition == nil:
		case c.Status.State == metav1alpha1.StateReady:
			ready = append(ready, c.Name)
		case c.Status.State == metav1alpha1.StateStalled || strings.Contains(condition.Message, "killed"):
			failed = append(failed, c.Name)
		}
	}
	return ready, failed
}

// renderingSeconds returns the time that renderings of a namespace took, by the metrics at an address.
func renderingSeconds(address, namespace string) (seconds float64) {
	GinkgoHelper()
	response, err := http.Get("http://" + address + "/metrics")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(text)) {
		name := fmt.Sprintf(`fairlead_rendering_seconds_total{namespace=%q,reconciler="fairlead.io"} `, namespace)
		if value, ok := strings.CutPrefix(line, name); ok {
			_, err := fmt.Sscan(value, &seconds)
			Expect(err).NotTo(HaveOccurred())
		}
	}
	return seconds
}

var _ = Describe("A tenant whose components render for long", func() {
	var address string
	BeforeEach(func(ctx SpecContext) {
		address = freeAddress()
		restartOperator(ctx, "--rendering-processes=2", "--metrics-bind-address="+address, "--metrics-secure=false")
		expectWork(ctx)
	}, NodeTimeout(time.Minute))

	DescribeTable("does not hold up another tenant", func(ctx SpecContext, files map[string]string) {
		hostile, alone, good := newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)
		timeAlone := timeOfRivals(ctx, alone)
		for i := range rivals {
			createComponent(ctx, hostile, fmt.Sprint("hostile-", i), v1alpha1.ComponentSpec{
				Source: v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: files}},
			})
		}
		DeferCleanup(func(ctx SpecContext) { removeComponents(ctx, hostile) }, NodeTimeout(3*time.Minute))
		// The tenant keeps the renderings busy before the others come.
		Eventually(func() float64 { return renderingSeconds(address, hostile) }).WithTimeout(time.Minute).
			Should(BeNumerically(">", 2))
		timeBeside := timeOfRivals(ctx, good)
		// By then few hostile components have a result, one after the other in the only long place. The stopped renderings of
		// the others did not count as killed.
		ready, failed := resultsIn(ctx, hostile)
		Expect(len(ready)+len(failed)).To(BeNumerically("<=", rivals/4), "ready %v, failed %v", ready, failed)
		Expect(renderingSeconds(address, good)).To(BeNumerically(">", 0))
		AddReportEntry("time of the good components",
			fmt.Sprintf("%s alone, %s beside, results of the hostile: %d ready, %d failed",
				timeAlone, timeBeside, len(ready), len(failed)))
		if measured {
			expectTwiceAtMost(ctx, hostile, timeAlone, timeBeside)
		}
	},
		Entry("by templates", SpecTimeout(limit), map[string]string{"all.yaml": long}),
		Entry("by charts", SpecTimeout(limit), map[string]string{
			"Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0}", "templates/all.yaml": long,
		}),
		Entry("by kustomizations with templates", SpecTimeout(limit), map[string]string{
			".fairlead-kustomize.yaml": "{}", "kustomization.yaml": "resources: [all.yaml]\n", "all.yaml": long,
		}),
		Entry("by kustomizations whose bases double", SpecTimeout(limit), doubling(12)),
	)
})

// removeComponents deletes all components of a namespace, and waits until none of them exists.
func removeComponents(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(administrator.DeleteAllOf(ctx, &v1alpha1.Component{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func(g Gomega) {
		list := &v1alpha1.ComponentList{}
		g.Expect(administrator.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		g.Expect(list.Items).To(BeEmpty())
	}).WithTimeout(2 * time.Minute).Should(Succeed())
}

// expectTwiceAtMost expects that good components need at most twice their time alone. The load of the machine varies, so
// the time alone is measured before and after.
func expectTwiceAtMost(ctx context.Context, hostile string, before, beside time.Duration) {
	GinkgoHelper()
	removeComponents(ctx, hostile)
	after := timeOfRivals(ctx, newNamespace(ctx))
	AddReportEntry("time of the good components alone afterwards", after.String())
	Expect(beside).To(BeNumerically("<=", 2*max(before, after)), "alone: %s before, %s after", before, after)
}

// timeOfRivals creates good components, and returns the time until all of them are Ready.
func timeOfRivals(ctx context.Context, namespace string) time.Duration {
	GinkgoHelper()
	began := time.Now()
	for i := range rivals {
		createComponent(ctx, namespace, fmt.Sprint("good-", i), v1alpha1.ComponentSpec{
			Source: inline("settings.yaml", strings.ReplaceAll(monitored, "name: settings", fmt.Sprint("name: settings-", i))),
		})
	}
	Eventually(func() int {
		ready, _ := resultsIn(ctx, namespace)
		return len(ready)
	}).WithTimeout(5 * time.Minute).Should(Equal(rivals))
	return time.Since(began)
}
