package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// inventory creates two objects, and returns an inventory with these objects and with objects that do not exist.
func inventory(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"},
		StringData: map[string]string{"password": "s3cret"},
	}
	Expect(k8s.Create(ctx, settings)).To(Succeed())
	Expect(k8s.Create(ctx, secret)).To(Succeed())
	return []string{
		fmt.Sprintf("apps/v1/Deployment/%s/web u=1 o=1", namespace),
		fmt.Sprintf("/v1/ConfigMap/%s/settings u=%s", namespace, settings.UID),
		fmt.Sprintf("/v1/Secret/%s/db u=other", namespace),
		fmt.Sprintf("nowhere.example.com/v1/Widget/%s/w u=1 o=2", namespace),
	}
}

var _ = Describe("tree", onCluster(func() {
	It("shows the live state of recorded dependents", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		status := progressing(web)
		status.Inventory = inventory(ctx, namespace)
		report(ctx, c, status)

		r := fairlead(ctx, namespace, "tree", "shop")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Out).To(MatchRegexp(`(?m)^Component.fairlead.io ` + namespace +
			`/shop: Progressing, 1/2 dependents ready, revision 1$`))
		Expect(r.Out).To(MatchRegexp(`(?m)^0 +ConfigMap +` + namespace + `/settings +Ready$`))
		Expect(r.Out).To(MatchRegexp(`(?m)^0 +Secret +` + namespace +
			`/db +Missing +Replaced: the recorded object \(UID other\) no longer exists`))
		Expect(r.Out).To(MatchRegexp(`(?m)^1 +Deployment.apps +` + namespace + `/web +Missing +NotFound: it does not exist$`))
		Expect(r.Out).To(MatchRegexp(`(?m)^2 +Widget.nowhere.example.com +` + namespace + `/w +Unknown +KindNotServed: `))

		r = fairlead(ctx, namespace, "tree", "components.fairlead.io/shop", "-o", "json")
		Expect(r.Code).To(Equal(0), r.Err)
		var tree show.Tree
		Expect(json.Unmarshal([]byte(r.Out), &tree)).To(Succeed())
		Expect(tree.APIVersion).To(Equal(show.SchemaVersion))
		Expect(tree.Component.State).To(Equal("Progressing"))
		Expect(tree.Dependents).To(HaveLen(4))
		Expect(r.Out).NotTo(ContainSubstring("s3cret"))
	})

	It("shows a dependent that the component waits for although its kind is not served", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		status := progressing(metav1alpha1.DependentReport{
			Dependent: "Widget.nowhere.example.com " + namespace + "/w", Wave: 1, Reason: "KindNotServed",
			Message: "the API server does not serve it",
		})
		status.Inventory = inventory(ctx, namespace)[1:2]
		report(ctx, c, status)
		r := fairlead(ctx, namespace, "tree", "shop")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Out).To(MatchRegexp(`(?m)^1 +Widget.nowhere.example.com +` + namespace +
			`/w +Unknown +KindNotServed: the API server does not serve it$`))
	})

	It("shows a component of another operator, with any form of the type's name", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}}
		Expect(k8s.Create(ctx, g)).To(Succeed())
		r := fairlead(ctx, namespace, "tree", "gadget/g")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(ContainSubstring("no operator has reconciled it yet"))

		*g.GetStatus() = metav1alpha1.Status{
			Reconciler: "gadgets.test.fairlead.io", ObservedGeneration: g.Generation, State: metav1alpha1.StateReady,
			Conditions: readyCondition(metav1.ConditionTrue, "Ready", ""), Inventory: inventory(ctx, namespace)[1:2],
		}
		Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		for _, kind := range []string{
			"gadget", "gadgets", "Gadget", "gadgets.gadgets.example.com",
			"gadgets.v1.gadgets.example.com", "Gadget.v1.gadgets.example.com",
		} {
			r := fairlead(ctx, namespace, "tree", kind+"/g")
			Expect(r.Code).To(Equal(0), r.Err)
			Expect(r.Out).To(And(HavePrefix("Gadget.gadgets.example.com "+namespace+"/g: Ready"), ContainSubstring("settings")))
		}
		r = fairlead(ctx, namespace, "list", "gadgets")
		Expect(r.Out).To(MatchRegexp(`(?m)^` + namespace + ` +g +True +Ready `))
		r = fairlead(ctx, namespace, "apply", "gadget/g", folder("web.yaml", ""))
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring("a folder can only be applied as a component of type components.fairlead.io"))
	})

	It("shows the valid entries of a partly invalid inventory, and fails", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		status := allReady()
		status.Inventory = append(inventory(ctx, namespace)[:2], "what is this?")
		report(ctx, c, status)
		r := fairlead(ctx, namespace, "tree", "comp/shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(ContainSubstring("settings"))
		Expect(r.Err).To(ContainSubstring(`inventory entry "what is this?"`))
	})
}))

var _ = Describe("list", onCluster(func() {
	It("lists components of a namespace or of all, as a table or as JSON", func(ctx SpecContext) {
		here, there := newNamespace(ctx), newNamespace(ctx)
		empty := fairlead(ctx, here, "list")
		Expect(empty).
			To(Equal(result{Err: fmt.Sprintf("There are no components.fairlead.io or gadgets.gadgets.example.com in "+
				"namespace %q.\n", here)}))
		report(ctx, held(ctx, here, "shop"), allReady())
		held(ctx, there, "store")

		r := fairlead(ctx, here, "list")
		Expect(r.Out).To(HavePrefix("NAMESPACE "))
		Expect(r.Out).To(MatchRegexp(`(?m)^` + here + ` +shop +True +Ready +2/2 +1 +\d+s +2 dependents are ready$`))
		Expect(r.Out).NotTo(ContainSubstring("store"))
		r = fairlead(ctx, here, "list", "-A")
		Expect(r.Out).To(MatchRegexp(`(?m)^` + there + ` +store +Unknown +- `))

		var list show.List
		r = fairlead(ctx, here, "list", "-o=json")
		Expect(json.Unmarshal([]byte(r.Out), &list)).To(Succeed())
		Expect(list.Items).To(HaveExactElements(HaveField("Name", "shop")))
	})

	It("lists the components of all types with the category fairlead, under the names that other "+
		"commands take", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		held(ctx, namespace, "shop")
		readyGadget(ctx, namespace, "shop")
		readyGadget(ctx, namespace, "g")
		r := fairlead(ctx, namespace, "list")
		Expect(r.Err).To(BeEmpty())
		Expect(r.Out).To(MatchRegexp(`(?s)\n` + namespace + ` +shop +Unknown .*\n` +
			namespace + ` +gadget.gadgets.example.com/g +True +Ready .*\n` +
			namespace + ` +gadget.gadgets.example.com/shop +True +Ready `))
		Expect(fairlead(ctx, "default", "list", "-A").Out).To(ContainSubstring(" gadget.gadgets.example.com/g "))
		Expect(fairlead(ctx, namespace, "list", "-o", "name").Out).To(Equal(
			"component.fairlead.io/shop\ngadget.gadgets.example.com/g\ngadget.gadgets.example.com/shop\n"))
		var list show.List
		Expect(json.Unmarshal([]byte(fairlead(ctx, namespace, "list", "-o=json").Out), &list)).To(Succeed())
		Expect(list.Operator).To(BeNil())
		Expect(list.Items).To(HaveExactElements(
			And(HaveField("Kind", "Component"), HaveField("Operator", BeNil())),
			And(HaveField("Kind", "Gadget"), HaveField("Operator.State", "NotChecked")),
			And(HaveField("Kind", "Gadget"), HaveField("Operator.State", "NotChecked"))))
		Expect(fairlead(ctx, namespace, "status", "gadget.gadgets.example.com/g").Code).To(Equal(0))
	})

	It("names the types that the person may not list, and lists the others", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		held(ctx, namespace, "shop")
		readyGadget(ctx, namespace, "g")
		allow(ctx, namespace, "reader", mayView, "fairlead-components-viewer")
		Eventually(ctx, func() result { return fairlead(ctx, namespace, "list", "--as=reader") }).Should(And(
			HaveField("Code", 0), HaveField("Out", And(ContainSubstring(" shop "), Not(ContainSubstring("gadget")))),
			HaveField("Err", And(ContainSubstring("not listed: "), ContainSubstring(`cannot list resource "gadgets"`)))))
	})

	It("finds a component of another type if none of the ready-made operator has the name", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		readyGadget(ctx, namespace, "g")
		for _, command := range []string{"status", "tree", "events", "reconcile", "delete"} {
			r := fairlead(ctx, namespace, command, "g")
			Expect(r.Code).To(Equal(1))
			Expect(r.Err).To(Equal(fmt.Sprintf("fairlead: component.fairlead.io/g does not exist in namespace %q; there is "+
				"gadget.gadgets.example.com/g, which is named with its type\n", namespace)))
		}
		Expect(fairlead(ctx, namespace, "status", "h").Err).
			To(Equal(fmt.Sprintf("fairlead: component.fairlead.io/h does not exist in namespace %q\n", namespace)))
	})
}))

// readyGadget creates a component of another operator, with the status of a Ready one.
func readyGadget(ctx context.Context, namespace, name string) *gadget.Gadget {
	GinkgoHelper()
	g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(k8s.Create(ctx, g)).To(Succeed())
	*g.GetStatus() = metav1alpha1.Status{
		Reconciler: "gadgets.test.fairlead.io", ObservedGeneration: g.Generation, State: metav1alpha1.StateReady,
		Conditions: readyCondition(metav1.ConditionTrue, "Ready", ""),
	}
	Expect(k8s.Status().Update(ctx, g)).To(Succeed())
	return g
}

var _ = Describe("completion", onCluster(func() {
	It("completes the names of existing components and dependents", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		held(ctx, namespace, "shop")
		held(ctx, namespace, "store")
		flags := connected(namespace)
		complete := func(args ...string) string {
			return run(ctx, append([]string{flags[0], "__complete"}, append(flags[1:], args...)...)...).Out
		}
		Expect(complete("tree", "s")).To(HavePrefix("shop\nstore\n:4\n"))
		Expect(k8s.Create(ctx, &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}})).To(Succeed())
		Expect(complete("tree", "")).To(HavePrefix("shop\nstore\ngadgets.gadgets.example.com/g\n:4\n"))
		Expect(complete("status", "gad")).
			To(HavePrefix("gadgets.gadgets.example.com/g\ngadgets.gadgets.example.com/\n:4\n"))
		Expect(complete("delete", "comp/sh")).To(HavePrefix("comp/shop\n:4\n"))
		Expect(complete("status", "comp")).To(HavePrefix("components.fairlead.io/\n:6\n"),
			"the completion of the type must not end with a blank")
		Expect(complete("list", "")).To(HavePrefix("components.fairlead.io\ngadgets.gadgets.example.com\n:4\n"))
		Expect(complete("tree", "--namespace", namespace)).To(HavePrefix(namespace + "\n"))
		Expect(complete("tree", "--context", "")).To(MatchRegexp(`^\S+\n:4\n`))
		Expect(complete("events", "shop", "--types", "")).To(HavePrefix("Normal\nWarning\n"))
		Expect(complete("apply", "shop", "")).To(HavePrefix(":0\n"))
		Expect(complete("apply", "shop", ".", "--generator", "")).To(HavePrefix("Helm\nKustomize\nGoTemplate\n"))

		report(ctx, shopIn(ctx, namespace), withWorkloads(namespace))
		Expect(complete("logs", "shop", "dep")).To(HavePrefix("deployment/web\n:4\n"))
		Expect(complete("logs", "store", "dep")).To(HavePrefix(":4\n"),
			"got completions although no operator has reconciled the component")
		plugin := append([]string{"/usr/bin/kubectl_complete-fairlead"}, flags[1:]...)
		Expect(run(ctx, append(plugin, "tree", "sh")...).Out).To(HavePrefix("shop\n:4\n"),
			"the completion as the plugin kubectl fairlead is wrong")
	})

	It("gives up if no cluster responds", SpecTimeout(20*time.Second), func(ctx SpecContext) {
		r := run(ctx, "fairlead", "__complete", "--server=https://192.0.2.1", "tree", "")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Out", HavePrefix(":4\n"))))
		Expect(ctx.Err()).NotTo(HaveOccurred())
	})
}))

// withWorkloads returns a status with dependents, one of which has pods.
func withWorkloads(namespace string) metav1alpha1.Status {
	status := allReady()
	status.Inventory = []string{"apps/v1/Deployment/" + namespace + "/web u=1", "/v1/ConfigMap/" + namespace +
		"/settings u=1"}
	return status
}
