package conformance_test

import (
	"context"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// createWidget creates an instance of the type that widgetDefinition defines.
func createWidget(ctx context.Context, namespace, group string, options ...client.CreateOption) error {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Widget",
		"spec": map[string]any{"size": int64(1)},
	}}
	o.SetNamespace(namespace)
	o.SetGenerateName("theirs-")
	return k8s.Create(ctx, o, options...)
}

// isRealDelete reports whether a request deletes a definition and is not a dry run.
func isRealDelete(r *http.Request) bool {
	return r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, probePath+"/") && r.URL.Query().
		Get("dryRun") == ""
}

// forgeEntry adds an object to the inventory in the status of a gadget, as somebody with the right to edit statuses
// can.
func forgeEntry(ctx context.Context, g *gadget.Gadget, entry metav1alpha1.InventoryEntry) {
	GinkgoHelper()
	changed := current(ctx, g)
	changed.Status.Inventory = append(changed.Status.Inventory, entry.String())
	slices.Sort(changed.Status.Inventory)
	changed.Status.InventoryDigest = previousDigest(changed.Status.Inventory)
	Expect(k8s.Status().Update(ctx, changed)).To(Succeed())
}

var _ = Describe("A guard that its component does not need:", func() {
	const rights = "'' | configmaps | get, list, watch, create, patch, delete"
	const definitions = "apiextensions.k8s.io | customresourcedefinitions | get, list, watch, create, patch"
	var namespace, group, operator, user string
	var g *gadget.Gadget

	BeforeEach(func(ctx SpecContext) {
		operator, group, namespace = newOperatorName(), newGroup(), newNamespace(ctx)
		user = serviceAccountUser(namespace, "deployer")
	})
	// start creates a component whose service account may create definitions, and delete them if mayDelete is set.
	start := func(ctx context.Context, o operatorOptions, mayDelete bool) (stop func()) {
		GinkgoHelper()
		permit(ctx, "", operator+"-deployer", user, rights, definitions)
		if mayDelete {
			permit(ctx, "", operator+"-deleter", user, "apiextensions.k8s.io | customresourcedefinitions | delete")
		}
		stop = runOperator(operator, o)
		g = newGadget(ctx, namespace, "app", together(widgetDefinition(group), configMap("settings", "a")),
			servedBy(operator), retrySoon, asServiceAccount("deployer"))
		expectReady(ctx, g)
		return stop
	}
	expectRefused := func(ctx context.Context, message string) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(ContainSubstring("widgets."+group), ContainSubstring(message)))
	}
	// expectUsable waits until no guard exists and the API server accepts instances.
	expectUsable := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(ctx, guardsOf).WithArguments(operator).Should(BeEmpty())
		Eventually(ctx, func() error { return createWidget(ctx, namespace, group, client.DryRunAll) }).Should(Succeed())
	}
	// abandon removes the finalizer from a component that is being deleted, as the message says.
	abandon := func(ctx context.Context) {
		GinkgoHelper()
		patch(ctx, current(ctx, g), `{"metadata":{"finalizers":null}}`)
		expectNotFound(ctx, g)
	}

	It("no guard is set up for a definition that the component's identity may not delete, also if the finalizer is "+
		"then removed", func(ctx SpecContext) {
		start(ctx, operatorOptions{}, false)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectRefused(ctx, `cannot delete resource "customresourcedefinitions"`)
		Expect(guardsOf(ctx, operator)).To(BeEmpty())
		abandon(ctx)
		settle(ctx, operator)
		Expect(requestsSince(ctx, mark, operator).Writes().Resource("validatingadmissionpolicies",
			"validatingadmissionpolicybindings")).To(BeEmpty())
		Expect(createWidget(ctx, namespace, group)).To(Succeed())
		mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
	})

	It("a guard is removed when the API server refuses the deletion of the definition", func(ctx SpecContext) {
		refusing := &meddler{matches: isRealDelete, code: http.StatusForbidden, reason: "Forbidden"}
		refusing.on.Store(true)
		start(ctx, operatorOptions{transport: refusing.wrap}, true)
		remove(ctx, g)
		Eventually(ctx, refusing.count.Load).Should(BeNumerically(">", 0))
		Eventually(ctx, guardsOf).WithArguments(operator).Should(BeEmpty())
		expectRefused(ctx, "not today")
		refusing.on.Store(false)
		expectNotFound(ctx, g)
		Expect(guardsOf(ctx, operator)).To(BeEmpty())
	})

	It("a guard is removed after a restart if the deletion of the definition is then refused", func(ctx SpecContext) {
		broken := &meddler{matches: isProbe, code: http.StatusInternalServerError, reason: "InternalError"}
		broken.on.Store(true)
		stop := start(ctx, operatorOptions{transport: broken.wrap}, true)
		remove(ctx, g)
		Eventually(ctx, guardsOf).WithArguments(operator).Should(HaveLen(2))
		stop()
		remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", operator+"-deleter"))
		runOperator(operator, operatorOptions{})
		expectRefused(ctx, `cannot delete resource "customresourcedefinitions"`)
		expectUsable(ctx)
	})

	It("a guard is removed when its component disappears while the operator runs, and while no "+
		"operator runs", func(ctx SpecContext) {
		broken := &meddler{matches: isProbe, code: http.StatusInternalServerError, reason: "InternalError"}
		broken.on.Store(true)
		stop := start(ctx, operatorOptions{transport: broken.wrap}, true)
		remove(ctx, g)
		Eventually(ctx, guardsOf).WithArguments(operator).Should(HaveLen(2))
		abandon(ctx)
		expectUsable(ctx)

		By("removing the finalizer while no operator runs")
		g = newGadget(ctx, namespace, "app", together(widgetDefinition(group), configMap("settings", "a")),
			servedBy(operator), retrySoon, asServiceAccount("deployer"))
		expectReady(ctx, g)
		remove(ctx, g)
		Eventually(ctx, guardsOf).WithArguments(operator).Should(HaveLen(2))
		stop()
		abandon(ctx)
		Expect(guardsOf(ctx, operator)).To(HaveLen(2))
		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{})
		expectUsable(ctx)
		Expect(verbs(requestsSince(ctx, mark, operator).Writes().Resource("validatingadmissionpolicies",
			"validatingadmissionpolicybindings"))).
			To(Equal([]string{"delete validatingadmissionpolicybindings 200", "delete validatingadmissionpolicies 200"}))
	})

	It("a guard and its refusals name the component, and say when and how the guard "+
		"can be removed", func(ctx SpecContext) {
		broken := &meddler{matches: isProbe, code: http.StatusInternalServerError, reason: "InternalError"}
		broken.on.Store(true)
		start(ctx, operatorOptions{transport: broken.wrap}, true)
		remove(ctx, g)
		Eventually(ctx, guardsOf).WithArguments(operator).Should(HaveLen(2))
		name := strings.Fields(guardsOf(ctx, operator)[0])[1]
		command := "kubectl delete validatingadmissionpolicybindings,validatingadmissionpolicies " + name
		Eventually(ctx, func() error { return createWidget(ctx, namespace, group, client.DryRunAll) }).Should(MatchError(And(
			ContainSubstring("is about to be deleted by "+operator+" for Gadget.gadgets.example.com "+namespace+"/app"),
			ContainSubstring(command))))
		for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
			annotations := mustGet(ctx, "admissionregistration.k8s.io/v1", kind, "", name).GetAnnotations()
			Expect(annotations).To(HaveKeyWithValue(operator+"/guard-of", HaveSuffix("/Gadget/"+namespace+"/app")))
			Expect(annotations).To(HaveKeyWithValue(operator+"/guard-note", ContainSubstring(command)))
		}
		broken.on.Store(false)
		expectNotFound(ctx, g)
	})
})

var _ = Describe("Foreign objects that somebody enters into the inventory of a component:", func() {
	var namespace, group, operator string
	var g *gadget.Gadget
	var stop func()

	BeforeEach(func(ctx SpecContext) {
		operator, group, namespace = newOperatorName(), newGroup(), newNamespace(ctx)
		stop = runOperator(operator, operatorOptions{})
		g = newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator), retrySoon)
		expectReady(ctx, g)
	})
	// theirs creates a definition that belongs to nobody, and enters it into the inventory.
	theirs := func(ctx context.Context) client.Object {
		GinkgoHelper()
		stop()
		definition := create(ctx, widgetDefinition(group))[0]
		forgeEntry(ctx, g, metav1alpha1.InventoryEntry{
			Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: "widgets." + group,
			UID: definition.GetUID(), Types: []string{"Widget." + group},
		})
		return definition
	}
	expectUnchanged := func(ctx context.Context, mark auditMark, before client.Object) {
		GinkgoHelper()
		now := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", before.GetName())
		Expect(now.GetUID()).To(Equal(before.GetUID()))
		Expect(now.GetDeletionTimestamp()).To(BeNil())
		Expect(verbs(requestsSince(ctx, mark, operator).Writes().Resource(
			"customresourcedefinitions", "validatingadmissionpolicies", "validatingadmissionpolicybindings"))).To(BeEmpty())
	}

	It("a foreign definition is neither guarded nor deleted when the component is deleted", func(ctx SpecContext) {
		definition := theirs(ctx)
		mark := markAudit(ctx)
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		expectUnchanged(ctx, mark, definition)
		Expect(createWidget(ctx, namespace, group)).To(Succeed())
	})

	It("a foreign definition is neither guarded nor pruned", func(ctx SpecContext) {
		definition := theirs(ctx)
		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() []string { return current(ctx, g).Status.Inventory }).Should(HaveLen(1))
		expectReady(ctx, g)
		expectUnchanged(ctx, mark, definition)
	})

	It("a foreign object is not deleted, although its UID is entered", func(ctx SpecContext) {
		stop()
		other := newNamespace(ctx)
		object := create(ctx, configMapIn(other, "theirs", "a"))[0]
		forgeEntry(ctx, g, metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: other, Name: "theirs",
			UID: object.GetUID(),
		})
		mark := markAudit(ctx)
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", other, "theirs").GetResourceVersion()).To(Equal(object.GetResourceVersion()))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), other).Writes())).To(BeEmpty())
	})

	It("an object of another component is not deleted, although its UID is entered", func(ctx SpecContext) {
		other := newGadget(ctx, namespace, "other", configMap("theirs", "a"), servedBy(operator))
		expectReady(ctx, other)
		stop()
		object := mustGet(ctx, "v1", "ConfigMap", namespace, "theirs")
		forgeEntry(ctx, g, metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "theirs",
			UID: object.GetUID(),
		})
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "theirs").GetResourceVersion()).
			To(Equal(object.GetResourceVersion()))
	})
})
