package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// deletePolicy returns the setting of a delete policy.
func deletePolicy(policy string) string { return setting("delete-policy", policy) }

// defaultDelete sets the delete policy of dependents whose manifests set none.
func defaultDelete(policy metav1alpha1.DeletePolicy) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) { g.Spec.Policies.Delete = policy }
}

// traces returns the labels, annotations, finalizers and managed fields of an operator on an object.
func traces(o *unstructured.Unstructured, operator string) []string {
	var found []string
	for _, of := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		for key := range of {
			if strings.HasPrefix(key, operator+"/") {
				found = append(found, key)
			}
		}
	}
	for _, f := range o.GetFinalizers() {
		if strings.HasPrefix(f, operator+"/") {
			found = append(found, "finalizer "+f)
		}
	}
	for _, entry := range o.GetManagedFields() {
		if entry.Manager == operator {
			found = append(found, fmt.Sprintf("%s entry", entry.Operation))
		}
	}
	return found
}

// expectReleasedBy checks that an object has no trace of an operator, except the annotation that names the gadget that
// released the object. The API server lists this annotation as a field of the operator if the object has other fields
// with a manager.
func expectReleasedBy(o *unstructured.Unstructured, operator, namespace, name string) {
	GinkgoHelper()
	annotation := operator + "/released-by"
	Expect(traces(o, operator)).To(HaveEach(BeElementOf(annotation, "Update entry")))
	Expect(o.GetAnnotations()).To(HaveKeyWithValue(annotation, HaveSuffix("/"+namespace+"/"+name)))
	for _, entry := range o.GetManagedFields() {
		if entry.Manager == operator {
			Expect(entry.FieldsV1.GetRawString()).To(MatchJSON(fmt.Sprintf(`{"f:metadata":{"f:annotations":{%s"f:%s":{}}}}`,
				strings.Repeat(`".":{},`, strings.Count(entry.FieldsV1.GetRawString(), `".":{}`)), annotation)))
		}
	}
}

var _ = Describe("Delete policies:", func() {
	expectOrphan := func(ctx context.Context, namespace, name string, data map[string]any) {
		GinkgoHelper()
		o := mustGet(ctx, "v1", "ConfigMap", namespace, name)
		expectReleasedBy(o, operatorName, namespace, "app")
		Expect(o.GetDeletionTimestamp()).To(BeNil())
		Expect(o.Object["data"]).To(Equal(data))
		Expect(o.GetLabels()).To(HaveKeyWithValue("team", "blue"))
	}
	expectDeleted := func(ctx context.Context, namespace, name string) {
		GinkgoHelper()
		_, err := get(ctx, "v1", "ConfigMap", namespace, name)
		Expect(err).To(MatchError(ContainSubstring("not found")))
	}
	// each renders a ConfigMap for each delete policy, with the policy as name.
	each := func(more ...string) string {
		var texts []string
		for _, policy := range []string{"delete", "orphan", "orphan-on-apply", "orphan-on-delete"} {
			texts = append(texts, configMap(policy, "a", append(more, deletePolicy(policy))...))
		}
		return together(append(texts, configMap("kept", "a"))...)
	}
	intact := map[string]any{"value": "a"}

	forEachPolicy(func(policy string) {
		It("a pruned dependent is orphaned or deleted by its delete policy, and an orphan keeps nothing of the operator but "+
			"the name of the component that released it", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", each(updatePolicy(policy)))
			expectReady(ctx, g)
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "orphan"), `{"data":{"theirs":"b"}}`)
			changeManifests(ctx, g, configMap("kept", "a"))
			expectReady(ctx, g)
			expectOrphan(ctx, namespace, "orphan", map[string]any{"value": "a", "theirs": "b"})
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "orphan").GetManagedFields()).NotTo(BeEmpty(),
				"the managed fields of other managers were removed")
			expectOrphan(ctx, namespace, "orphan-on-apply", intact)
			expectDeleted(ctx, namespace, "delete")
			expectDeleted(ctx, namespace, "orphan-on-delete")
			Expect(current(ctx, g).Status.Inventory).To(HaveLen(1))

			By("making no requests about orphans afterwards")
			settle(ctx, operatorName)
			mark := markAudit(ctx)
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "orphan"), `{"data":{"value":"c"}}`)
			requestPass(ctx, g, operatorName)
			expectReady(ctx, g)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps"))).To(BeEmpty())
		})

		It("a dependent of a deleted component is orphaned or deleted by its delete policy, and an orphan keeps nothing of "+
			"the operator but the name of the component that released it", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", each(updatePolicy(policy)))
			expectReady(ctx, g)
			remove(ctx, g)
			expectNotFound(ctx, g)
			expectOrphan(ctx, namespace, "orphan", intact)
			expectOrphan(ctx, namespace, "orphan-on-delete", intact)
			for _, name := range []string{"delete", "orphan-on-apply", "kept"} {
				expectDeleted(ctx, namespace, name)
			}
		})

		It("a change of a delete policy costs one write that changes only metadata", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", together(deployment("web", updatePolicy(policy)), configMap("kept", "a")))
			expectReady(ctx, g)
			settle(ctx, operatorName)
			before, mark := mustGet(ctx, "apps/v1", "Deployment", namespace, "web"), markAudit(ctx)
			changeManifests(ctx, g, together(deployment("web", updatePolicy(policy), deletePolicy("orphan")),
				configMap("kept", "a")))
			expectReady(ctx, g)
			Expect(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Writes().Resource("deployments")).
				To(HaveLen(1))
			changeManifests(ctx, g, configMap("kept", "a"))
			expectReady(ctx, g)
			web := mustGet(ctx, "apps/v1", "Deployment", namespace, "web")
			Expect(web.GetUID()).To(Equal(before.GetUID()))
			Expect(web.Object["spec"]).To(Equal(before.Object["spec"]))
			expectReleasedBy(web, operatorName, namespace, "app")
		})
	})

	It("an orphan costs two requests, and no pass afterwards", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", 10, "a", settingOf(operator, "delete-policy", "orphan")),
			servedBy(operator))
		expectReady(ctx, g)
		settleAlone(ctx, operator)
		mark, before := markAudit(ctx), passes(operator)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests, g.Spec.AllowEmpty = "", true })
		expectReady(ctx, g)
		settle(ctx, operator)
		requests := inNamespace(requestsSince(ctx, mark, operator), namespace)
		Expect(len(requests)).To(BeNumerically("<=", 2*10+3), "%v", verbs(requests))
		Expect(passes(operator)-before).To(BeNumerically("<=", 2), "the orphaning of the objects must start no further pass")
		Expect(countConfigMaps(ctx, namespace)).To(Equal(10))
	})

	It("the delete policy of the component applies to dependents without their own delete policy, and a change of the "+
		"component's policy costs one write of the status", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"),
			configMap("named", "a", deletePolicy("delete")), claimManifest("data")))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("data"))
		settle(ctx, operatorName)
		mark, revision := markAudit(ctx), current(ctx, g).Status.Revision
		change(ctx, g, defaultDelete(metav1alpha1.DeleteOrphan))
		Eventually(ctx, func() []string { return current(ctx, g).Status.Inventory }).
			Should(ContainElement(And(ContainSubstring("/settings "), ContainSubstring("dp=orphan"))))
		settle(ctx, operatorName)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operatorName), namespace))).
			To(Equal([]string{"update gadgets/status 200"}))
		Expect(current(ctx, g).Status.Revision).To(Equal(revision))

		remove(ctx, g)
		expectNotFound(ctx, g)
		expectOrphan(ctx, namespace, "settings", intact)
		expectDeleted(ctx, namespace, "named")
		Expect(mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "data").GetDeletionTimestamp()).To(BeNil())
	})

	It("the delete policy of the reconciler applies if neither the manifest nor the "+
		"component sets one", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		o := operatorOptions{}
		o.component.Dependents.Policies.Delete = metav1alpha1.DeleteOrphanOnDelete
		runOperator(operator, o)
		silent := newGadget(ctx, namespace, "silent", configMap("silent", "a"), servedBy(operator))
		outspoken := newGadget(ctx, namespace, "outspoken", configMap("outspoken", "a"), servedBy(operator),
			defaultDelete(metav1alpha1.DeleteDelete))
		for _, g := range []*gadget.Gadget{silent, outspoken} {
			expectReady(ctx, g)
			remove(ctx, g)
			expectNotFound(ctx, g)
		}
		expectReleasedBy(mustGet(ctx, "v1", "ConfigMap", namespace, "silent"), operator, namespace, "silent")
		expectDeleted(ctx, namespace, "outspoken")
	})

	It("the delete policy that was recorded at the last apply is followed, although the spec changed while the component "+
		"was suspended", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("first", "a"),
			configMap("second", "a", deletePolicy("orphan"))))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Suspended")
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.Policies.Delete = metav1alpha1.DeleteOrphan
			g.Spec.Manifests = configMap("second", "a", deletePolicy("delete"))
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Suspended")
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectDeleted(ctx, namespace, "first")
		expectOrphan(ctx, namespace, "second", intact)
	})

	It("after the loss of the inventory, the delete policy is read from the object or "+
		"the component", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app",
			together(configMap("default", "a"), configMap("named", "a", operator+"/delete-policy: delete")), servedBy(operator),
			defaultDelete(metav1alpha1.DeleteOrphan))
		expectReady(ctx, g)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		expectReleasedBy(mustGet(ctx, "v1", "ConfigMap", namespace, "default"), operator, namespace, "app")
		expectDeleted(ctx, namespace, "named")
	})

	It("an orphan whose owner label was removed keeps nothing of the operator but the name of the component "+
		"that released it", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator),
			defaultDelete(metav1alpha1.DeleteOrphan))
		expectReady(ctx, g)
		stop()
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"),
			fmt.Sprintf(`{"metadata":{"labels":{"%s/owner-id":null}}}`, operator))
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		expectReleasedBy(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), operator, namespace, "app")
	})
})

var _ = Describe("Orphans that are rendered again:", func() {
	// adoptsNothing gives a gadget a list that names no object.
	adoptsNothing := func(g *gadget.Gadget) { g.Spec.Adopt = []metav1alpha1.AdoptRule{} }

	forEachPolicy(func(policy string) {
		It("an object that a component released comes back without an entry, to a later revision and to a component that is "+
			"created again", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			both := together(configMap("settings", "a", updatePolicy(policy), deletePolicy("orphan")), configMap("other", "a"))
			g := newGadget(ctx, namespace, "app", both, adoptsNothing)
			expectReady(ctx, g)
			before := mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID()
			expectBack := func(g *gadget.Gadget) {
				GinkgoHelper()
				expectReady(ctx, g)
				back := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
				Expect(back.GetUID()).To(Equal(before))
				Expect(back.GetLabels()).To(HaveKey(operatorName + "/owner-id"))
				Expect(back.GetAnnotations()).NotTo(HaveKey(operatorName + "/released-by"))
			}

			By("a later revision")
			changeManifests(ctx, g, configMap("other", "a"))
			expectReady(ctx, g)
			expectReleasedBy(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), operatorName, namespace, "app")
			changeManifests(ctx, g, both)
			expectBack(g)

			By("a component that is created again")
			remove(ctx, g)
			expectNotFound(ctx, g)
			expectBack(newGadget(ctx, namespace, "app", both, adoptsNothing))
		})
	})

	It("an object that a component released does not come to a component of another name, nor against the mark of "+
		"another tool", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := configMap("settings", "a", deletePolicy("orphan"))
		g := newGadget(ctx, namespace, "app", text, adoptsNothing)
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		other := newGadget(ctx, namespace, "other", text, adoptsNothing)
		expectCondition(ctx, other, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		remove(ctx, other)
		expectNotFound(ctx, other)
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"),
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"shop"}}}`)
		again := newGadget(ctx, namespace, "app", text, adoptsNothing)
		expectCondition(ctx, again, metav1alpha1.ConditionStalled,
			ContainSubstring("it belongs to the Helm release shop/web"))
	})

	It("a released object that another component adopts loses the mark of its release", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := configMap("settings", "a", deletePolicy("orphan"))
		g := newGadget(ctx, namespace, "app", text)
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		other := newGadget(ctx, namespace, "other", text)
		expectReady(ctx, other)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetAnnotations()).
			NotTo(HaveKey(operatorName + "/released-by"))
	})

	It("a kept Secret with a generated value that comes back keeps the value, after a changed look-up and in a "+
		"new revision", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{generate: &chart{}})
		const other = "{apiVersion: v1, kind: Secret, metadata: {name: other}, data: {password: {{ randAlphaNum 16 | " +
			"b64enc }}}}\n---\n"
		login := "{apiVersion: v1, kind: Secret, metadata: {name: login, annotations: {" + settingOf(operator,
			"delete-policy", "orphan") +
			"}}, data: {password: {{ randAlphaNum 16 | b64enc }}}}\n"
		gated := other + `{{ if lookup "v1" "ConfigMap" .Release.Namespace "switch" }}` + login + "{{ end }}"
		Expect(k8s.Create(ctx, newConfigMap(namespace, "switch"))).To(Succeed())
		g := newGadget(ctx, namespace, "app", gated, servedBy(operator), adoptsNothing)
		expectReady(ctx, g)
		kept, pinned := content(ctx, "Secret", namespace, "login"), content(ctx, "Secret", namespace, "other")
		marks := func() map[string]string { return mustGet(ctx, "v1", "Secret", namespace, "login").GetAnnotations() }

		By("a changed look-up")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "switch"))
		Eventually(ctx, marks).Should(HaveKey(operator + "/released-by"))
		Expect(k8s.Create(ctx, newConfigMap(namespace, "switch"))).To(Succeed())
		Eventually(ctx, marks).Should(And(HaveKey(operator+"/owner-id"), Not(HaveKey(operator+"/released-by"))))
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(kept))
		Expect(content(ctx, "Secret", namespace, "other")).To(Equal(pinned))

		By("a new revision")
		changeManifests(ctx, g, other)
		expectReady(ctx, g)
		Expect(marks()).To(HaveKey(operator + "/released-by"))
		changeManifests(ctx, g, other+login)
		expectReady(ctx, g)
		Expect(marks()).To(HaveKey(operator + "/owner-id"))
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(kept))
		Expect(content(ctx, "Secret", namespace, "other")).NotTo(Equal(pinned), "new inputs render new values")
	})

	It("an orphan that is rendered again is adopted if its adoption policy permits this, and keeps the changes of "+
		"other clients", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		both := together(configMap("settings", "a", deletePolicy("orphan")), configMap("kept", "a"))
		g := newGadget(ctx, namespace, "app", both)
		expectReady(ctx, g)
		uid := mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID()
		changeManifests(ctx, g, configMap("kept", "a"))
		expectReady(ctx, g)
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"data":{"theirs":"b"}}`)

		By("refusing the adoption with the adoption policy never")
		changeManifests(ctx, g, together(configMap("settings", "a", setting("adoption-policy", "never")),
			configMap("kept", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))

		changeManifests(ctx, g, both)
		expectReady(ctx, g)
		adopted := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		Expect(adopted.GetUID()).To(Equal(uid))
		Expect(adopted.Object["data"]).To(Equal(map[string]any{"value": "a", "theirs": "b"}))
		Expect(traces(adopted, operatorName)).NotTo(BeEmpty())

		By("removing a field that the manifest drops after the adoption")
		changeManifests(ctx, g, strings.Replace(both, `data: {value: "a"}`, `data: {other: "c"}`, 1))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).
			To(Equal(map[string]any{"other": "c", "theirs": "b"}))
	})
})

var _ = Describe("Orphaned definitions:", func() {
	It("foreign instances do not block the orphaning of a definition, and the component's own "+
		"instances are deleted", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group, deletePolicy("orphan")),
			widget(group, "ours")))
		Eventually(ctx, func() error {
			_, err := get(ctx, group+"/v1", "Widget", namespace, "ours")
			return err
		}).Should(Succeed())
		create(ctx, strings.Replace(widget(group, "theirs"), "{name", "{namespace: "+namespace+", name", 1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		_, err := get(ctx, group+"/v1", "Widget", namespace, "ours")
		Expect(err).To(MatchError(ContainSubstring("not found")))
		mustGet(ctx, group+"/v1", "Widget", namespace, "theirs")
		definition := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		Expect(definition.GetDeletionTimestamp()).To(BeNil())
		expectReleasedBy(definition, operatorName, namespace, "app")
	})
})

var _ = Describe("Orphaned namespaces:", func() {
	It("an orphaned namespace stays with the foreign objects in it, and the other dependents in "+
		"it are deleted", func(ctx SpecContext) {
		home := newNamespace(ctx)
		inner := home + "-inner"
		g := newGadget(ctx, home, "app", together(strings.Replace(namespaceManifest(inner), "{name",
			fmt.Sprintf("{annotations: {%s}, name", deletePolicy("orphan")), 1),
			within(inner, configMap("ours", "a"))))
		expectReady(ctx, g)
		create(ctx, within(inner, configMap("theirs", "a")))
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectReleasedBy(mustGet(ctx, "v1", "Namespace", "", inner), operatorName, home, "app")
		mustGet(ctx, "v1", "ConfigMap", inner, "theirs")
		_, err := get(ctx, "v1", "ConfigMap", inner, "ours")
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})

	It("a namespace is not deleted while it contains an orphaned dependent", func(ctx SpecContext) {
		home := newNamespace(ctx)
		inner := home + "-inner"
		g := newGadget(ctx, home, "app", together(namespaceManifest(inner),
			within(inner, configMap("ours", "a", deletePolicy("orphan-on-delete")))), retrySoon)
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("Namespace "+inner),
			ContainSubstring("ConfigMap "+inner+"/ours")))
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetDeletionTimestamp()).To(BeNil())
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", inner, "ours"))
		expectNotFound(ctx, g)
	})
})
