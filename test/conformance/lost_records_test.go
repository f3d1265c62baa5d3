package conformance_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Records in Secrets without the right to list Secrets, after the loss of a status:", func() {
	const onSecrets = "'' | secrets | get, list, watch, create, patch, delete"
	var t *tenancy
	BeforeEach(func(ctx SpecContext) {
		t = newTenancy(ctx)
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs, onSecrets)
		permit(ctx, t.namespace, "records", t.operator, onSecrets)
	})
	lose := func(ctx context.Context, text string) *gadget.Gadget {
		GinkgoHelper()
		stop := runOperator(t.operator, t.options)
		g := t.newGadget(ctx, text)
		expectReady(ctx, g)
		stop()
		loseStatus(ctx, g)
		withdraw(ctx, t.namespace, "records")
		return g
	}
	recordNames := func(ctx context.Context, namespace string) (names []string) {
		for _, secret := range records(ctx, namespace) {
			names = append(names, secret.Name)
		}
		return names
	}
	unlisted := func(what string) types.GomegaMatcher {
		return And(HavePrefix("True Forbidden: find "+what+": "),
			ContainSubstring(`User "`+t.operator+`" cannot list resource "secrets"`),
			ContainSubstring(`in the namespace "`+t.namespace+`"; grant it to that user`))
	}

	It("a deletion waits until the Secrets with the objects of deletion phases can be listed, and then applies "+
		"these objects", func(ctx SpecContext) {
		g := lose(ctx, together(configMap("settings", "a"), configMap("before", "a", preDelete(t.operator))))
		remove(ctx, g)
		mark := markAudit(ctx)
		runOperator(t.operator, t.options)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(unlisted("the objects that are applied when the component is deleted"),
				ContainSubstring("remove the operator's finalizer")))
		Expect(countConfigMaps(ctx, t.namespace)).To(Equal(1))
		permit(ctx, t.namespace, "again", t.operator, onSecrets)
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, t.operator, t.namespace)).To(ContainElement("patch configmaps/before"))
	})

	It("Secrets with the objects of deletion phases are found when Secrets can be listed, although earlier passes "+
		"failed to render", func(ctx SpecContext) {
		g := lose(ctx, together(configMap("settings", "a"), configMap("before", "a", preDelete(t.operator))))
		changeManifests(ctx, g, "no manifest")
		stop := runOperator(t.operator, t.options)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True GenerateFailed"))
		stop()
		permit(ctx, t.namespace, "again", t.operator, onSecrets)
		remove(ctx, g)
		mark := markAudit(ctx)
		runOperator(t.operator, t.options)
		expectNotFound(ctx, g)
		Expect(story(ctx, mark, t.operator, t.namespace)).To(ContainElement("patch configmaps/before"))
	})

	It("while Secrets cannot be listed, the generated values of a pinned rendering are not replaced "+
		"by new values", func(ctx SpecContext) {
		t.options.generate = &chart{}
		g := lose(ctx,
			`{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}`)
		made := content(ctx, "Secret", t.namespace, "login")
		runOperator(t.operator, t.options)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, unlisted("the record of the rendered manifests"))
		permit(ctx, t.namespace, "again", t.operator, onSecrets)
		expectReady(ctx, g)
		Expect(content(ctx, "Secret", t.namespace, "login")).To(Equal(made))
	})

	It("a component whose deletion phases can be stored in a new Secret is reconciled, and the old Secret is deleted "+
		"when Secrets can be listed", func(ctx SpecContext) {
		g := lose(ctx, together(configMap("settings", "a"), configMap("before", "a", preDelete(t.operator))))
		previous := records(ctx, t.namespace)[0].Name
		permit(ctx, t.namespace, "writes", t.operator, "'' | secrets | get, create, patch, delete")
		changeManifests(ctx, g, together(configMap("settings", "b"), configMap("before", "b", preDelete(t.operator))))
		runOperator(t.operator, t.options)
		expectReady(ctx, g)
		changeManifests(ctx, g, together(configMap("settings", "c"), configMap("before", "b", preDelete(t.operator))))
		Eventually(ctx, valueOf(ctx, t.namespace, "settings")).Should(Equal("c"))
		Expect(recordNames(ctx, t.namespace)).To(And(HaveLen(2), ContainElement(previous)))
		permit(ctx, t.namespace, "again", t.operator, onSecrets)
		changeManifests(ctx, g, together(configMap("settings", "d"), configMap("before", "b", preDelete(t.operator))))
		Eventually(ctx, func() []string { return recordNames(ctx, t.namespace) }).
			Should(And(HaveLen(1), Not(ContainElement(previous))))
	})

	It("a component without deletion phases is reconciled, and a Secret of earlier phases is deleted when Secrets can be "+
		"listed, also during a deletion", func(ctx SpecContext) {
		g := lose(ctx, together(configMap("settings", "a"), configMap("before", "a", preDelete(t.operator))))
		changeManifests(ctx, g, configMap("settings", "b"))
		runOperator(t.operator, t.options)
		expectReady(ctx, g)
		Expect(recordNames(ctx, t.namespace)).To(HaveLen(1))
		permit(ctx, t.namespace, "again", t.operator, onSecrets)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(recordNames(ctx, t.namespace)).To(BeEmpty())
	})

	It("a component without deletion phases and pinned renderings is reconciled while Secrets "+
		"cannot be listed", func(ctx SpecContext) {
		g := lose(ctx, configMap("settings", "a"))
		runOperator(t.operator, t.options)
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, t.namespace)).To(BeZero())
	})
})
