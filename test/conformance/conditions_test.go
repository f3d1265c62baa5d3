package conformance_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The conditions of dependents:", func() {
	exposed := func(value string) func(*gadget.Gadget) {
		return func(g *gadget.Gadget) { g.Spec.Parameters = map[string]string{"exposed": value} }
	}
	condition := func(name, expression string) string { return setting(name, expression) }
	ingress := "apiVersion: networking.k8s.io/v1\nkind: Ingress\n" +
		"metadata: {name: page, annotations: {" + condition("include-when", "parameters.exposed == 'yes'") + "}}\n" +
		"spec: {defaultBackend: {service: {name: page, port: {number: 80}}}}"

	It("an Ingress is deleted as soon as its condition include-when is false, although the Deployment "+
		"is not ready", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(heldDeployment("page"), ingress), exposed("yes"))
		found := func() error {
			_, err := get(ctx, "networking.k8s.io/v1", "Ingress", namespace, "page")
			return err
		}
		Eventually(ctx, found).Should(Succeed())
		// The Deployment changes no more.
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("Available: 0/1")))
		settle(ctx, operatorName)
		mark := markAudit(ctx)
		change(ctx, g, exposed("no"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("page")))
		expectDeletedInOnePass(ctx, mark, namespace, "ingresses")
		Expect(found()).To(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(ctx, func() []string { return current(ctx, g).Status.Inventory }).Should(HaveLen(1))
		Expect(leftOut(ctx, g)).To(Equal([]string{"Ingress.networking.k8s.io " + namespace + "/page Excluded " +
			"its condition include-when is false: parameters.exposed == 'yes' (parameters.exposed is \"no\")"}))
		change(ctx, g, exposed("yes"))
		Eventually(ctx, found).Should(Succeed())
		Eventually(ctx, func() []string { return leftOut(ctx, g) }).Should(BeEmpty())
	})

	It("an Ingress is deleted in the pass in which its condition include-when becomes false, although an "+
		"apply failed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		const failing = "apiVersion: v1\nkind: Service\nmetadata: {name: page}\nspec: {ports: [{port: 0}]}"
		g := newGadget(ctx, namespace, "app", together(ingress, failing), exposed("yes"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True DependentFailed")
		settle(ctx, operatorName)
		mustGet(ctx, "networking.k8s.io/v1", "Ingress", namespace, "page")
		mark := markAudit(ctx)
		change(ctx, g, exposed("no"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "True DependentFailed")
		expectDeletedInOnePass(ctx, mark, namespace, "ingresses")
		Eventually(ctx, func() []string {
			return leftOut(ctx,
				g)
		}).Should(ConsistOf(HavePrefix("Ingress.networking.k8s.io " + namespace + "/page Excluded")))
	})

	It("a condition without a value neither applies nor deletes its dependent, and the "+
		"component waits", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		conditional := configMap("conditional", "a", condition("include-when", "parameters.exposed == 'yes'"))
		g := newGadget(ctx, namespace, "app", together(conditional, configMap("plain", "a")), exposed("yes"))
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "ConfigMap", namespace, "conditional")
		mark := markAudit(ctx)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Parameters = nil })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
			HavePrefix("False DependentsNotReady"), ContainSubstring("conditional"),
			ContainSubstring("reads a parameter that is not set")))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "conditional").GetUID()).To(Equal(before.GetUID()))
		Expect(recordedAsLeftOut(ctx, g)).To(BeEmpty())
		Expect(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps").Writes()).To(BeEmpty())

		By("another controller holds the deletion of the excluded object")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "conditional"),
			`{"metadata":{"finalizers":["example.com/hold"]}}`)
		change(ctx, g, exposed("no"))
		Eventually(ctx, func() []string { return recordedAsLeftOut(ctx, g) }).Should(Equal([]string{"conditional"}))
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "conditional"), `{"metadata":{"finalizers":null}}`)
		expectReady(ctx, g)
		Expect(configMapExists(ctx, namespace, "conditional")).To(BeFalse())
		Expect(recordedAsLeftOut(ctx, g)).To(BeEmpty())
	})

	It("a deletion evaluates no condition: it deletes objects whose condition has no value, or is false, also after a "+
		"lost inventory", func(ctx SpecContext) {
		operator := newOperatorName()
		set := func(name, value string) string { return settingOf(operator, name, value) }
		stop := runOperator(operator, operatorOptions{})
		deploy := func(edits ...func(*gadget.Gadget)) *gadget.Gadget {
			GinkgoHelper()
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", together(
				configMap("conditional", "a", set("include-when", "parameters.exposed == 'yes'")),
				configMap("active", "a", set("active-when", "parameters.exposed == 'yes'")),
				configMap("below", "a", set("depends-on", "ConfigMap conditional")),
				configMap("source", "off", set("export", "mode=self.data.value"), set("reconcile-policy", "create-only")),
				configMap("by-value", "a", set("include-when", "exports.mode == 'off'"))),
				append(edits, exposed("yes"), servedBy(operator))...)
			expectReady(ctx, g)
			Expect(countConfigMaps(ctx, namespace)).To(Equal(5))
			change(ctx, g, func(g *gadget.Gadget) { g.Spec.Parameters = nil })
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "source"), `{"data":{"value":null}}`)
			expectUndecided(ctx, g, "conditional")
			expectUndecided(ctx, g, "by-value")
			settle(ctx, operator)
			Expect(countConfigMaps(ctx, namespace)).To(Equal(5))
			return g
		}
		deletes := func(ctx context.Context, mark auditMark, namespace string) {
			GinkgoHelper()
			told := writesIn(ctx, mark, operator, namespace)
			Expect(told).To(ConsistOf("delete configmaps/conditional", "delete configmaps/active", "delete configmaps/below",
				"delete configmaps/source", "delete configmaps/by-value"))
			Expect(indexOf(told, "delete configmaps/below")).
				To(BeNumerically("<", indexOf(told, "delete configmaps/conditional")))
		}
		known, lost := deploy(), deploy()

		mark := markAudit(ctx)
		remove(ctx, known)
		expectNotFound(ctx, known)
		deletes(ctx, mark, known.Namespace)

		By("the inventory is lost, and the condition is false by now")
		stop()
		loseStatus(ctx, lost)
		change(ctx, lost, exposed("no"))
		mark = markAudit(ctx)
		remove(ctx, lost)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, lost)
		deletes(ctx, mark, lost.Namespace)
	})

	It("an object that depends on an object whose condition has no value is not created meanwhile", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		set := func(name, value string) string { return settingOf(operator, name, value) }
		g := newGadget(ctx, namespace, "app", together(
			configMap("conditional", "a", set("include-when", "parameters.exposed == 'yes'")),
			configMap("below", "a", set("depends-on", "ConfigMap conditional"))), servedBy(operator), exposed("yes"))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Parameters = nil })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("reads a parameter that is not set"))
		Expect(k8s.Delete(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "below"))).To(Succeed())
		settle(ctx, operator)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "below")).To(BeFalse())
		Expect(configMapExists(ctx, namespace, "conditional")).To(BeTrue())
		change(ctx, g, exposed("yes"))
		expectReady(ctx, g)
		Expect(configMapExists(ctx, namespace, "below")).To(BeTrue())
	})

	It("each object of a bulk is included by its own condition, a group waits for the included ones alone, and "+
		"conditions cost no request at rest", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		set := func(name, value string) string { return settingOf(operator, name, value) }
		workers := func(names ...string) func(*gadget.Gadget) {
			return func(g *gadget.Gadget) {
				g.Spec.Parameters = map[string]string{"workers": " " + strings.Join(names, " ") + " "}
			}
		}
		var texts []string
		for _, name := range []string{"one", "two", "three"} {
			texts = append(texts, configMap(name, "x", set("depends-on-group", "workers"),
				set("include-when", "parameters.workers.contains(' "+name+" ')"), set("active-when", "served('ConfigMap')")))
		}
		texts = append(texts, configMap("after", "x", set("depends-on", "@workers")))
		g := newGadget(ctx, namespace, "app", together(texts...), workers("one", "three"), servedBy(operator))
		expectReady(ctx, g)
		exist := func() (found []string) {
			for _, name := range []string{"one", "two", "three", "after"} {
				if configMapExists(ctx, namespace, name) {
					found = append(found, name)
				}
			}
			return found
		}
		Expect(exist()).To(Equal([]string{"one", "three", "after"}))
		change(ctx, g, workers("two"))
		expectReady(ctx, g)
		Expect(exist()).To(Equal([]string{"two", "after"}))
		settle(ctx, operator)

		By("making a pass, and restarting the operator")
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
		stop()
		mark = markAudit(ctx)
		runAgain(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).To(BeEmpty(),
			"a condition over parameters reads no object")
	})

	It("an error of a condition is reported before anything is written", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("a", "x", condition("include-when", "parameter.exposed")),
			configMap("b", "x", condition("active-when", "served('Pod'"))))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			ContainSubstring("ConfigMap a: annotation "+operatorName+"/include-when"),
			ContainSubstring("line 1, column 1: undeclared reference to 'parameter'"),
			ContainSubstring("ConfigMap b: annotation "+operatorName+"/active-when"), ContainSubstring("Syntax error")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("a condition reads exported values: a missing value decides nothing, and a new value includes or excludes "+
		"without a rendering", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		set := func(name, value string) string { return settingOf(operator, name, value) }
		g := newGadget(ctx, namespace, "app", together(
			configMap("source", "off", set("export", "mode=self.data.value"), set("reconcile-policy", "create-only")),
			configMap("extra", "x", set("include-when", "exports.mode == 'on'")),
			configMap("below", "x", set("depends-on", "ConfigMap extra")),
			configMap("later", "x", set("order", "1"))), servedBy(operator))
		expectReady(ctx, g)
		Expect(configMapExists(ctx, namespace, "later")).To(BeTrue())
		Expect(configMapExists(ctx, namespace, "extra")).To(BeFalse())
		const off = `its condition include-when is false: exports.mode == 'on' (exports.mode is "off")`
		excluded := []string{
			"ConfigMap " + namespace + "/extra Excluded " + off,
			"ConfigMap " + namespace + "/below Excluded it depends on ConfigMap " + namespace +
				"/extra, which is left out: " + off,
		}
		Expect(leftOut(ctx, g)).To(ConsistOf(excluded))
		revision := current(ctx, g).Status.Revision
		put := func(patched string) {
			GinkgoHelper()
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "source"), patched)
		}

		put(`{"data":{"value":"on"}}`)
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "below") }).Should(BeTrue())
		expectReady(ctx, g)
		Expect(leftOut(ctx, g)).To(BeEmpty())
		extra := mustGet(ctx, "v1", "ConfigMap", namespace, "extra")

		By("the value vanishes")
		mark := markAudit(ctx)
		put(`{"data":{"value":null}}`)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("waits for export mode: the object has no self.data.value yet")))
		settle(ctx, operator)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "extra").GetUID()).To(Equal(extra.GetUID()))
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes()).To(BeEmpty())

		put(`{"data":{"value":"off"}}`)
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(2))
		expectReady(ctx, g)
		Expect(writesIn(ctx, mark, operator, namespace)).
			To(Equal([]string{"delete configmaps/below", "delete configmaps/extra"}))
		Expect(current(ctx, g).Status.Revision).To(Equal(revision))
		Expect(leftOut(ctx, g)).To(ConsistOf(excluded))
	})

	It("a condition reads the value of an object that the component only observes, with one read for each change, and "+
		"deletes nothing when that object vanishes", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		set := func(name, value string) string { return settingOf(operator, name, value) }
		mark := markAudit(ctx)
		reads := func() []string {
			GinkgoHelper()
			return verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").
				Where(named("theirs")))
		}
		once := []string{"get configmaps 200"}
		g := newGadget(ctx, namespace, "app", together(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, annotations: {"+
				set("reconcile-policy", "observe")+", "+set("export", "mode=self.data.value")+"}}",
			configMap("extra", "x", set("include-when", "exports.mode == 'on'")), configMap("plain", "x")), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("the component only observes it")))
		expectUndecided(ctx, g, "extra")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "plain") }).Should(BeTrue())
		Expect(reads()).To(BeEmpty(), "an absent object is not read")
		put := func(value string) {
			GinkgoHelper()
			mark = markAudit(ctx)
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "theirs"), `{"data":{"value":"`+value+`"}}`)
		}

		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: "+namespace+
			"}\ndata: {value: 'off'}")
		expectReady(ctx, g)
		Expect(configMapExists(ctx, namespace, "extra")).To(BeFalse())
		Expect(leftOut(ctx, g)).To(Equal([]string{"ConfigMap " + namespace + "/extra Excluded " +
			`its condition include-when is false: exports.mode == 'on' (exports.mode is "off")`}))
		Expect(reads()).To(Equal(once))

		put("on")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "extra") }).Should(BeTrue())
		settle(ctx, operator)
		expectReady(ctx, g)
		Expect(reads()).To(Equal(once))
		Expect(writesIn(ctx, mark, operator, namespace)).To(Equal([]string{"create configmaps/extra"}))

		put("off")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "extra") }).Should(BeFalse())
		settle(ctx, operator)
		expectReady(ctx, g)
		Expect(reads()).To(Equal(once))
		Expect(writesIn(ctx, mark, operator, namespace)).To(Equal([]string{"delete configmaps/extra"}))

		By("the object vanishes")
		put("on")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "extra") }).Should(BeTrue())
		settle(ctx, operator)
		mark = markAudit(ctx)
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "theirs"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("the component only observes it")))
		expectUndecided(ctx, g, "extra")
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "extra")).To(BeTrue())
		Expect(writesIn(ctx, mark, operator, namespace)).To(BeEmpty())

		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: "+namespace+
			"}\ndata: {value: 'on'}")
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "extra")).To(BeFalse())
		Expect(inNamespace(requestsSince(ctx, 0, operator), namespace).Resource("configmaps").Where(named("theirs")).
			Writes()).To(BeEmpty())
	})

	It("an object that is left out says by which condition, without values of parameters with "+
		"secret names", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(
			configMap("backup", "x", condition("active-when", "served('Backup.example.com')")),
			configMap("open", "x", condition("include-when", "parameters.password == 'open'")),
			configMap("plain", "x")), func(g *gadget.Gadget) { g.Spec.Parameters = map[string]string{"password": "geheim"} })
		expectReady(ctx, g)
		Expect(leftOut(ctx, g)).To(ConsistOf(
			"ConfigMap "+namespace+"/backup Inactive its condition active-when is false: served('Backup.example.com') "+
				"(the API server does not serve Backup.example.com)",
			"ConfigMap "+namespace+"/open Excluded its condition include-when is false: parameters.password == 'open'"))
	})

	It("a condition that reads an export holds up later waves, and a preview goes on", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := together(balancedService(namespace, condition("export", "ip=self.status.loadBalancer.ingress[0].ip")),
			configMap("extra", "x", condition("include-when", "exports.ip != ''")), configMap("later", "x", order(1)))
		g := newGadget(ctx, namespace, "app", configMap("later", "x", order(1)))
		expectReady(ctx, g)
		settle(ctx, operatorName)
		forecast, err := foresee(ctx, current(ctx, g), together(text, configMap("last", "x", order(2))))
		Expect(err).NotTo(HaveOccurred())
		Expect(turns(forecast)).To(Equal([][]string{{"create services/db"}, {"create configmaps/last"}}), "%+v", forecast)
		Expect(forecast.Waiting).To(ContainElement(HaveField("Reason", "ConditionUndecided")))

		changeManifests(ctx, g, together(text, configMap("last", "x", order(2))))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Service", namespace, "db"); return err }).Should(Succeed())
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring("waits for export ip")))
		settle(ctx, operatorName)
		Expect(configMapExists(ctx, namespace, "last")).To(BeFalse())
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(3))
	})

	It("an applied object whose condition active-when becomes false stays as it is until the condition is true again, "+
		"and nothing waits for it", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		set := func(name, value string) string { return settingOf(operator, name, value) }
		manifests := func(value string) string {
			return together(
				configMap("active", value, set("active-when", "parameters.exposed == 'yes'")),
				configMap("below", "a", set("depends-on", "ConfigMap active")), configMap("later", value, set("order", "1")))
		}
		g := newGadget(ctx, namespace, "app", manifests("a"), servedBy(operator), exposed("yes"))
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "ConfigMap", namespace, "active")
		settle(ctx, operator)

		By("the condition becomes false")
		mark := markAudit(ctx)
		change(ctx, g, exposed("no"))
		expectReady(ctx, g)
		const inactive = `its condition active-when is false: parameters.exposed == 'yes' (parameters.exposed is "no")`
		Expect(leftOut(ctx, g)).To(ConsistOf(
			"ConfigMap "+namespace+"/active Inactive "+inactive,
			"ConfigMap "+namespace+"/below Inactive it depends on ConfigMap "+namespace+"/active, which is left out: "+inactive))
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(3))
		Expect(recordedAsLeftOut(ctx, g)).To(ConsistOf("active", "below"))
		Expect(countConfigMaps(ctx, namespace)).To(Equal(3))

		By("others change the object and delete the object that depends on it, and the manifest changes")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "active"), `{"data":{"value":"theirs"}}`)
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "below"))
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		expectReady(ctx, g)
		Expect(writesIn(ctx, mark, operator, namespace)).To(BeEmpty())
		changeManifests(ctx, g, manifests("b"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(writesIn(ctx, mark, operator, namespace)).To(Equal([]string{"update configmaps/later"}),
			"the later wave waits for neither object")
		left := mustGet(ctx, "v1", "ConfigMap", namespace, "active")
		Expect(left.GetUID()).To(Equal(before.GetUID()))
		Expect(field(left, "data", "value")).To(Equal("theirs"))

		By("the condition becomes true again")
		mark = markAudit(ctx)
		change(ctx, g, exposed("yes"))
		expectReady(ctx, g)
		settle(ctx, operator)
		// The missing object below is repaired, and a repair does not wait for dependencies.
		Expect(writesIn(ctx, mark, operator, namespace)).To(ConsistOf("update configmaps/active", "create configmaps/below"))
		after := mustGet(ctx, "v1", "ConfigMap", namespace, "active")
		Expect(after.GetUID()).To(Equal(before.GetUID()))
		Expect(field(after, "data", "value")).To(Equal("b"))
		Expect(leftOut(ctx, g)).To(BeEmpty())
		Expect(recordedAsLeftOut(ctx, g)).To(BeEmpty())

		By("the component is deleted while the condition is false")
		change(ctx, g, exposed("no"))
		Eventually(ctx, func() []string { return leftOut(ctx, g) }).Should(HaveLen(2))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("an applied object whose definition is deleted stays in the inventory, nothing waits for it, and it is applied "+
		"when its type is served again", func(ctx SpecContext) {
		namespace, operator, group := newNamespace(ctx), newOperatorName(), newGroup()
		runOperator(operator, operatorOptions{})
		one := strings.Replace(widget(group, "one"), "name: one",
			"name: one, annotations: {"+settingOf(operator, "active-when", "served('Widget."+group+"')")+"}", 1)
		manifests := func(value string) string {
			return together(one, configMap("later", value, settingOf(operator, "order", "1")))
		}
		exists := func() error {
			_, err := get(ctx, group+"/v1", "Widget", namespace, "one")
			return err
		}
		definition := create(ctx, widgetDefinition(group))[0]
		g := newGadget(ctx, namespace, "app", manifests("a"), servedBy(operator))
		Eventually(ctx, exists).WithTimeout(time.Minute).Should(Succeed())
		expectReady(ctx, g)

		remove(ctx, definition)
		expectNotFound(ctx, definition)
		Eventually(ctx, func() []string { return leftOut(ctx, g) }).WithTimeout(time.Minute).Should(Equal([]string{
			"Widget." + group + " " + namespace + "/one Inactive its condition active-when is false: served('Widget." +
				group + "') " +
				"(the API server does not serve Widget." + group + ")",
		}))
		expectReady(ctx, g)
		changeManifests(ctx, g, manifests("b"))
		expectReady(ctx, g)
		Expect(field(mustGet(ctx, "v1", "ConfigMap", namespace, "later"), "data", "value")).To(Equal("b"),
			"the later wave does not wait")
		Expect(current(ctx, g).Status.Inventory).To(ContainElement(And(ContainSubstring(group), ContainSubstring(namespace))))

		create(ctx, widgetDefinition(group))
		Eventually(ctx, exists).WithTimeout(time.Minute).Should(Succeed())
		expectReady(ctx, g)
		Eventually(ctx, func() []string { return leftOut(ctx, g) }).Should(BeEmpty())
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(exists()).To(MatchError(apierrors.IsNotFound, "not found"))
	})

	It("an object whose definition was deleted while no operator ran stays in the inventory", func(ctx SpecContext) {
		namespace, operator, group := newNamespace(ctx), newOperatorName(), newGroup()
		stop := runOperator(operator, operatorOptions{})
		one := strings.Replace(widget(group, "one"), "name: one",
			"name: one, annotations: {"+settingOf(operator, "active-when", "served('Widget."+group+"')")+"}", 1)
		definition := create(ctx, widgetDefinition(group))[0]
		g := newGadget(ctx, namespace, "app", together(one, configMap("plain", "a")), servedBy(operator))
		expectReady(ctx, g)
		recorded := current(ctx, g).Status.Inventory
		Expect(recorded).To(ContainElement(ContainSubstring(group)))
		stop()

		remove(ctx, definition)
		expectNotFound(ctx, definition)
		runOperator(operator, operatorOptions{})
		changeManifests(ctx, g, together(one, configMap("plain", "b")))
		expectReady(ctx, g)
		Expect(field(mustGet(ctx, "v1", "ConfigMap", namespace, "plain"), "data", "value")).To(Equal("b"))
		Expect(leftOut(ctx, g)).To(HaveLen(1))
		Expect(current(ctx, g).Status.Inventory).To(ContainElement(And(ContainSubstring(group), ContainSubstring(namespace))))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("an object without conditions stays in the inventory while its type is not served, although it is pruned at once",
		func(ctx SpecContext) {
			namespace, operator, group := newNamespace(ctx), newOperatorName(), newGroup()
			runOperator(operator, operatorOptions{})
			one := strings.Replace(widget(group, "one"), "name: one",
				"name: one, annotations: {"+settingOf(operator, "prune-policy", "at-once")+"}", 1)
			definition := create(ctx, widgetDefinition(group))[0]
			g := newGadget(ctx, namespace, "app", together(one, configMap("plain", "a")), servedBy(operator))
			expectReady(ctx, g)

			remove(ctx, definition)
			expectNotFound(ctx, definition)
			changeManifests(ctx, g, together(one, configMap("plain", "b")))
			expectCondition(ctx, g, metav1alpha1.ConditionReconciling, "is not served")
			Eventually(ctx, func() (value any) {
				return field(mustGet(ctx, "v1", "ConfigMap", namespace, "plain"), "data", "value")
			}).Should(Equal("b"))
			isRecorded := And(ContainSubstring(group), ContainSubstring(namespace))
			Expect(current(ctx, g).Status.Inventory).To(ContainElement(isRecorded))

			create(ctx, widgetDefinition(group))
			Eventually(ctx, func() error {
				_, err := get(ctx, group+"/v1", "Widget", namespace, "one")
				return err
			}).WithTimeout(time.Minute).Should(Succeed())
			expectReady(ctx, g)
			changeManifests(ctx, g, configMap("plain", "b"))
			expectReady(ctx, g)
			_, err := get(ctx, group+"/v1", "Widget", namespace, "one")
			Expect(err).To(MatchError(apierrors.IsNotFound, "not found"))
			remove(ctx, g)
			expectNotFound(ctx, g)
		})

	It("a dependent whose type is not served is left out until the type is served", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		one := strings.Replace(widget(group, "one"), "name: one",
			"name: one, annotations: {"+condition("active-when", "served('Widget."+group+"')")+"}", 1)
		g := newGadget(ctx, namespace, "app", together(one, configMap("plain", "a")))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(1))
		create(ctx, widgetDefinition(group))
		Eventually(ctx, func() error {
			_, err := get(ctx, group+"/v1", "Widget", namespace, "one")
			return err
		}).WithTimeout(time.Minute).Should(Succeed())
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})

// expectUndecided waits until the status reports that the condition of an object has no value.
func expectUndecided(ctx context.Context, g *gadget.Gadget, name string) {
	GinkgoHelper()
	Eventually(ctx, func() []metav1alpha1.DependentReport { return current(ctx, g).Status.Waiting }).
		Should(ContainElement(And(
			HaveField("Dependent", HaveSuffix("/"+name)), HaveField("Reason", "ConditionUndecided"))))
}

// expectDeletedInOnePass expects that the first pass since a mark deleted one object of a resource, and that this pass
// and later ones wrote nothing else but the status. A pass writes the status at its end.
func expectDeletedInOnePass(ctx context.Context, mark auditMark, namespace, resource string) {
	GinkgoHelper()
	writes := verbs(succeeded(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Writes()))
	Expect(slices.Compact(writes)).To(HaveExactElements("delete "+resource+" 200", "update gadgets/status 200"))
}

// leftOut returns the objects that a component leaves out, with reasons and messages.
func leftOut(ctx context.Context, g *gadget.Gadget) (texts []string) {
	GinkgoHelper()
	for _, r := range current(ctx, g).Status.LeftOut {
		texts = append(texts, r.Dependent+" "+r.Reason+" "+r.Message)
	}
	return texts
}

// recordedAsLeftOut returns the names of the objects whose inventory entries say that a condition leaves them out.
func recordedAsLeftOut(ctx context.Context, g *gadget.Gadget) (names []string) {
	GinkgoHelper()
	entries, err := metav1alpha1.ParseInventory(current(ctx, g).Status.Inventory)
	Expect(err).NotTo(HaveOccurred())
	for _, e := range entries {
		if e.LeftOut {
			names = append(names, e.Name)
		}
	}
	return names
}
