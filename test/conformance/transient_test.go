package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Temporary obstacles:", func() {
	exists := func(ctx context.Context, namespace, name string) func() error {
		return func() error { _, err := get(ctx, "v1", "ConfigMap", namespace, name); return err }
	}

	It("if the type of a dependent is not served, the condition names the dependent, the component waits, and the other "+
		"dependents are applied", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(widget(group, "one"), configMap("sibling", "a")))
		missing := "Widget." + group + " is not served, and nothing here defines it; install what defines version v1"
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling,
			"True KindNotServed: waiting until ready: Widget."+group+" one ("+missing+")")
		Eventually(ctx, exists(ctx, namespace, "sibling")).Should(Succeed())
		Expect(current(ctx, g).Status.Waiting).To(HaveExactElements(And(
			HaveField("Reason", "KindNotServed"), HaveField("Message", missing))))
		create(ctx, widgetDefinition(group))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a type that is not served for a long time causes no pass, and the dependents of the type are applied within "+
		"seconds when the type is served", slow, func(ctx SpecContext) {
		namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", widget(group, "one"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, "is not served")
		settle(ctx, operator)
		before := passes(operator)
		Consistently(ctx, func() int { return passes(operator) - before }).WithTimeout(23*time.Second).Should(BeZero(),
			"the operator made passes, although the type is not served; the 23 seconds cover a pause of 16 seconds "+
				"between attempts")
		create(ctx, widgetDefinition(group))
		Eventually(ctx, func() error { _, err := get(ctx, group+"/v1", "Widget", namespace, "one"); return err }).
			WithTimeout(8 * time.Second).Should(Succeed())
	})

	It("a type that nothing defines is named first, before dependents that are not ready", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		pending := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\n" +
			"spec: {accessModes: [ReadWriteOnce], " +
			"storageClassName: none, resources: {requests: {storage: 1Gi}}}"
		var texts []string
		for i := range 11 {
			texts = append(texts, fmt.Sprintf(pending, fmt.Sprintf("a-%d", i)))
		}
		g := newGadget(ctx, namespace, "app", together(append(texts, widget(group, "one"))...))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			"False DependentsNotReady: waiting until ready: Widget."+group+" one (Widget."+group+" is not served")
		Expect(current(ctx, g).Status.Waiting[0].Dependent).To(Equal("Widget." + group + " one"))
		Expect(current(ctx, g).Status.Waiting).To(HaveLen(10))
	})

	It("a type that the component declares is waited for, and is not reported as undefined", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", widget(group, "one"), func(g *gadget.Gadget) {
			g.Spec.ManagedTypes = []metav1alpha1.TypePattern{{Group: group, Kind: "*"}}
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			"False DependentsNotReady: waiting until ready: Widget."+group+" one (Widget."+group+" is not served yet")
	})

	It("a dependent that a failing webhook rejects is retried until the webhook responds "+
		"or is removed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		webhook := create(ctx, fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 1
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  clientConfig: {url: "https://127.0.0.1:1/hook"}`, namespace))[0]
		// The API server calls a webhook only a moment after its configuration is created.
		Eventually(ctx, func() error {
			probe := newConfigMap(namespace, "probe")
			defer func() { _ = k8s.Delete(ctx, probe) }()
			return k8s.Create(ctx, probe)
		}).ShouldNot(Succeed())
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"))
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling,
			And(HavePrefix("True Retrying"), ContainSubstring("hook.example.com")))
		remove(ctx, webhook)
		expectReady(ctx, g)
	})

	It("a definition that another client deletes is created again with its instances", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(widgetDefinition(group), widget(group, "one")))
		expectReady(ctx, g)
		before := mustGet(ctx, group+"/v1", "Widget", namespace, "one").GetUID()
		remove(ctx, mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group))
		Eventually(ctx, func() bool {
			o, err := get(ctx, group+"/v1", "Widget", namespace, "one")
			return err == nil && o.GetUID() != before
		}).Should(BeTrue())
		expectReady(ctx, g)
	})

	It("a namespace of the component that another client deletes is created again with "+
		"its dependents", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		inner := namespace + "-inner"
		g := newGadget(ctx, namespace, "app", together(namespaceManifest(inner), strings.Replace(configMap("settings", "a"),
			"  name:", "  namespace: "+inner+"\n  name:", 1)))
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "ConfigMap", inner, "settings").GetUID()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", inner))
		Eventually(ctx, func() bool {
			o, err := get(ctx, "v1", "ConfigMap", inner, "settings")
			return err == nil && o.GetUID() != before && o.GetDeletionTimestamp() == nil
		}).Should(BeTrue())
		expectReady(ctx, g)
	})

	It("if the operator has no right to read a dependent, the condition names the dependent, the component waits, and "+
		"the other dependents are applied", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		user, err := cluster.User(ctx, operator)
		Expect(err).NotTo(HaveOccurred())
		role := func(resources string) string {
			return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %s}
rules:
- {apiGroups: [gadgets.example.com, events.k8s.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [%s], verbs: ["*"]}`, operator, resources)
		}
		create(ctx, together(role("events, namespaces, configmaps"), fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[1]s}]`, operator)))
		runOperator(operator, operatorOptions{user: user.Config})
		g := newGadget(ctx, namespace, "app", together("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: forbidden}",
			configMap("sibling", "a")),
			servedBy(operator), retrySoon)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("ServiceAccount "+namespace+"/forbidden"),
			ContainSubstring("cannot list")))
		Eventually(ctx, exists(ctx, namespace, "sibling")).Should(Succeed())
		patch(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "ClusterRole", "", operator),
			`{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`)
		expectReady(ctx, g)
	})
})

var _ = Describe("Two operators of the same name:", func() {
	It("two operators of the same name create no dependent twice, and write the same status", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", 30, "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		written := writes(ctx, operator, namespace).Resource("configmaps")
		Expect(written.Code(201)).To(HaveLen(30))
		changeManifests(ctx, g, configMaps("cm", 20, "b"))
		expectReady(ctx, g)
		settle(ctx, operator)
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(20))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})
})

var _ = Describe("Components as dependents:", func() {
	It("a component that is a dependent of another component is applied, waited for and deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		inner := fmt.Sprintf("apiVersion: gadgets.example.com/v1\nkind: Gadget\nmetadata: {name: inner, labels: {%s: %s}}\n"+
			"spec:\n  manifests: |\n    %s",
			operatorLabel, operatorName, strings.ReplaceAll(configMap("settings", "a"), "\n", "\n    "))
		g := newGadget(ctx, namespace, "outer", inner)
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "ConfigMap", namespace, "settings"); return err }).
			Should(Succeed())
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		_, err := get(ctx, "v1", "ConfigMap", namespace, "settings")
		Expect(err).To(HaveOccurred())
	})
})

var _ = Describe("Look-ups that fail:", func() {
	chart := fstest.MapFS{
		"Chart.yaml": {Data: []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n")},
		"templates/copy.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy}\n" +
			`data: {value: {{ (lookup "v1" "ConfigMap" .Release.Namespace "where").data.value }}}`)},
	}
	// render runs an operator and fails its look-up with a status code until the returned refusal is disabled.
	render := func(ctx context.Context, namespace string, code int) (*gadget.Gadget, *refusal) {
		GinkgoHelper()
		generated, err := helm.New(chart, helm.Options{})
		Expect(err).NotTo(HaveOccurred())
		failing := &refusal{method: http.MethodGet, path: "/namespaces/" + namespace + "/configmaps/where", code: code}
		failing.on.Store(true)
		create(ctx, strings.Replace(configMap("where", "a"), "  name:", "  namespace: "+namespace+"\n  name:", 1))
		operator := newOperatorName()
		runOperator(operator, operatorOptions{generate: generated, transport: failing.wrap})
		return newGadget(ctx, namespace, "app", "", servedBy(operator)), failing
	}

	for _, code := range []int{
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
	} {
		It(fmt.Sprintf("a look-up that failed with status %d is retried, although the engine keeps only the text "+
			"of the error", code), func(ctx SpecContext) {
			g, failing := render(ctx, newNamespace(ctx), code)
			expectCondition(ctx, g, metav1alpha1.ConditionReady,
				And(HavePrefix("False Retrying"), ContainSubstring("not today")))
			failing.on.Store(false)
			expectReady(ctx, g)
		})
	}

	It("a look-up without the right to read the object stalls the component", func(ctx SpecContext) {
		g, _ := render(ctx, newNamespace(ctx), 0)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True GenerateFailed"), ContainSubstring("not today")))
	})
})
