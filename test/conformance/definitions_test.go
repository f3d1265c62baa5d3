package conformance_test

import (
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Definitions and foreign instances:", func() {
	It("an existing definition that the component renders but did not adopt does not block the deletion of the "+
		"component, and stays with its instances", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		create(ctx, widgetDefinition(group))
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Widget", namespace, "none"); return err }).
			Should(MatchError(ContainSubstring("not found")))
		create(ctx, strings.Replace(widget(group, "theirs"), "{name:", "{namespace: "+namespace+", name:", 1))
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group, setting("adoption-policy", "never")),
			configMap("settings", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, metav1alpha1.ReasonOwnershipConflict)
		remove(ctx, g)
		expectNotFound(ctx, g)
		crd := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		Expect(crd.GetDeletionTimestamp()).To(BeNil())
		mustGet(ctx, group+"/v1", "Widget", namespace, "theirs")
	})

	It("instances are listed again right before a definition is deleted, and an instance that was created during the "+
		"pass blocks the deletion", func(ctx SpecContext) {
		namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
		var once sync.Once
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/configmaps/settings") {
					once.Do(func() {
						defer GinkgoRecover()
						create(ctx, strings.Replace(widget(group, "theirs"), "{name:", "{namespace: "+namespace+", name:", 1))
					})
				}
				return next.RoundTrip(r)
			})
		}})
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group), configMap("settings", "a")),
			servedBy(operator))
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True ForeignInstances"),
			ContainSubstring(namespace+"/theirs")))
		crd := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		Expect(crd.GetDeletionTimestamp()).To(BeNil())
		remove(ctx, mustGet(ctx, group+"/v1", "Widget", namespace, "theirs"))
		expectNotFound(ctx, g)
	})
})
