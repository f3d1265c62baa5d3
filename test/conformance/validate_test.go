package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// invalidSet is the beginning of the message of a component whose set is refused as a whole.
const invalidSet = "True InvalidManifests: nothing more of this revision is written, because it is invalid: "

// schemaRequests returns the OpenAPI documents that an operator read since a position in the audit log.
func schemaRequests(ctx context.Context, mark auditMark, operator string) []string {
	GinkgoHelper()
	var paths []string
	read := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Where(func(e testcluster.Event) bool {
		return strings.HasPrefix(e.RequestURI, "/openapi/")
	})
	for _, e := range read {
		paths = append(paths, e.RequestURI)
	}
	return paths
}

// serviceAndDeployment renders a Service and a Deployment that it selects.
func serviceAndDeployment(app string) string {
	return together("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: "+app+"}, ports: [{port: 80}]}",
		strings.ReplaceAll(deployment("web"), "{app: web}", "{app: "+app+"}"))
}

// typedDefinition renders a definition of Widgets with a text, and with a part that keeps unknown fields.
func typedDefinition(group string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.` + group + `}
spec:
  group: ` + group + `
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                colour: {type: string}
                port: {x-kubernetes-int-or-string: true}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`
}

func typedWidget(group, name, spec string) string {
	return "apiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: " + name + "}\nspec: " + spec
}

var _ = Describe("Validation before the first write:", func() {
	DescribeTable("nothing of a set with an invalid object is written, and the message names the object and the field",
		func(ctx SpecContext, bad, want string) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", together(configMap("good", "a"), bad))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring(want)))
			Expect(countConfigMaps(ctx, namespace)).To(BeZero())
			Expect(current(ctx, g).Status.Inventory).To(BeEmpty())
			changeManifests(ctx, g, configMap("good", "a"))
			expectReady(ctx, g)
		},
		Entry("a label with a space", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, labels: {a: b c}}", "/bad (metadata.labels"),
		Entry("a number in data", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {a: 5}", "/bad ("),
		Entry("data that is too large", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {a: "+strings.Repeat("x", 1<<20+1)+"}",
			"may not be more than 1048576 bytes"),
		Entry("a misspelt field", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndatum: {a: b}", "datum"),
		Entry("a name with capitals", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad}", "/Bad (metadata.name"),
		Entry("a namespace with capitals", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, namespace: Not_Valid}", "metadata.namespace"),
		Entry("a key with a slash", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {a/b: c}", "data[a/b]"),
		Entry("a label of a pod template", strings.Replace(deployment("bad"), "metadata: {labels: {app: bad}}", "metadata: {labels: {app: bad, b: c d}}", 1),
			"/bad (spec.template"),
		Entry("a quantity with a space",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: bad}\n"+
				"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10 GB}}}", "quantities must match"),
		Entry("bytes that are not encoded", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\nbinaryData: {a: '%%%'}", "illegal base64 data"),
		Entry("an object that the API server does not store",
			"apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nmetadata: {name: bad}\nspec: {token: x}", "cannot be a dependent"),
		Entry("a misspelt field of a container", strings.Replace(deployment("bad"), "image:", "imagee:", 1), "imagee"),
	)

	It("all invalid objects of a set are reported at once", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app", together(configMap("good", "a"),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: 5}",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: two}\ndata: {a b: c2VjcmV0}",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: \"system:three\"}\nrulez: []"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet),
			ContainSubstring("/one ("), ContainSubstring("/two ("), ContainSubstring("/system:three ("), Not(ContainSubstring("c2VjcmV0"))))
	})

	It("objects in a namespace of the same set are validated too", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		more := namespace + "-more"
		g := newGadget(ctx, namespace, "app", together(namespaceManifest(more),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, namespace: "+more+"}\ndata: {a: 5}"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix(invalidSet))
		_, err := get(ctx, "v1", "Namespace", "", more)
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})

	It("a changed selector is found before the Service of the same set moves, and what is applied is still repaired", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(serviceAndDeployment("web"), configMap("settings", "a")))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(serviceAndDeployment("shop"), configMap("settings", "a"), configMap("more", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("spec.selector"), ContainSubstring("immutable")))
		Expect(mustGet(ctx, "v1", "Service", namespace, "web").Object["spec"]).To(HaveKeyWithValue("selector", map[string]any{"app": "web"}))
		Expect(configMapExists(ctx, namespace, "more")).To(BeFalse())

		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "settings") }).Should(BeTrue())

		changeManifests(ctx, g, together(strings.Replace(serviceAndDeployment("shop"), "annotations: {}",
			"annotations: {"+setting("update-policy", "recreate")+"}", 1), configMap("settings", "a")))
		expectReady(ctx, g)
	})

	It("an instance of a type that the same set defines is validated by this definition", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		good := typedWidget(group, "good", `{colour: red, port: http, free: {a: 1}, template: {apiVersion: v1, kind: Pod, spec: {}}}`)
		g := newGadget(ctx, namespace, "app", together(typedDefinition(group), good, typedWidget(group, "bad", `{color: red}`)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("/bad ("), ContainSubstring("spec.color")))
		_, err := get(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		Expect(err).To(MatchError(ContainSubstring("not found")))
		changeManifests(ctx, g, together(typedDefinition(group), good))
		expectReady(ctx, g)
	})

	It("an instance of a version that the definition of the same set does not serve is refused", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(configMap("good", "a"), typedDefinition(group),
			strings.Replace(typedWidget(group, "bad", "{}"), "/v1", "/v2", 1)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("does not serve the version v2")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("a field that the API server drops is no fault, and one event for the revision names it", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		annotated := func(text string) string {
			return strings.Replace(text, "}\nspec", ", annotations: {"+setting("update-policy", "replace")+"}}\nspec", 1)
		}
		g := newGadget(ctx, namespace, "app", together(typedDefinition(group), annotated(typedWidget(group, "w", `{color: red}`)),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dropped, annotations: {"+setting("update-policy", "replace")+"}}\ndatum: {a: b}"))
		expectReady(ctx, g)
		notes := func() []string { return notesOf(ctx, namespace, "FieldsDropped") }
		Eventually(ctx, notes).Should(ConsistOf(And(
			ContainSubstring("ConfigMap "+namespace+"/dropped: datum"), ContainSubstring("/w: spec.color"))))
		changeManifests(ctx, g, together(typedDefinition(group), annotated(typedWidget(group, "w", `{colour: red}`))))
		expectReady(ctx, g)
		Expect(notes()).To(HaveLen(1))
	})

	It("a schema that is outdated refuses nothing, and is read again for the next write", func(ctx SpecContext) {
		namespace, group, operator := newNamespace(ctx), newGroup(), newOperatorName()
		crd := create(ctx, typedDefinition(group))[0]
		size := func() any {
			_ = k8s.Create(ctx, objectIn(typedWidget(group, "probe", "{size: 1}"), namespace))
			o, err := get(ctx, group+"/v1", "Widget", namespace, "probe")
			if err != nil {
				return err.Error()
			}
			remove(ctx, o)
			return o.Object["spec"]
		}
		Eventually(ctx, size).Should(BeEmpty())
		runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", typedWidget(group, "w", "{colour: red}"), servedBy(operator))
		expectReady(ctx, g)
		document := "/openapi/v3/apis/" + group + "/v1"
		Expect(schemaRequests(ctx, mark, operator)).To(ConsistOf(document))

		mark = markAudit(ctx)
		patch(ctx, crd, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
			"type":"object","properties":{"spec":{"type":"object","properties":{"colour":{"type":"string"},"size":{"type":"integer"}}}}}}}]}}`)
		Eventually(ctx, size).Should(HaveKeyWithValue("size", BeEquivalentTo(1)))
		changeManifests(ctx, g, typedWidget(group, "w", "{colour: red, size: 1}"))
		expectReady(ctx, g)
		Expect(schemaRequests(ctx, mark, operator)).To(BeEmpty())
		changeManifests(ctx, g, typedWidget(group, "w", "{colour: red, size: 2}"))
		expectReady(ctx, g)
		Expect(schemaRequests(ctx, mark, operator)).To(ConsistOf(document))
	})

	It("a valid set costs one request for each group and version of its types, a repair none, and a restart none", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		text := together(configMaps("cm", 20, "a"), serviceAndDeployment("web"))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		Expect(schemaRequests(ctx, mark, operator)).To(ConsistOf("/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1"))
		requests := inNamespace(requestsSince(ctx, mark, operator), namespace)
		Expect(requests.Resource("configmaps")).To(HaveLen(20))
		Expect(requests.Resource("services")).To(HaveLen(1))
		Expect(requests.Resource("deployments")).To(HaveLen(1))

		mark = markAudit(ctx)
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "cm-0"))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "cm-0") }).Should(BeTrue())
		Expect(schemaRequests(ctx, mark, operator)).To(BeEmpty())

		stop()
		mark = markAudit(ctx)
		before := passes(operator)
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		Expect(schemaRequests(ctx, mark, operator)).To(BeEmpty())
	})
})

// objectIn returns the object of a manifest in a namespace.
func objectIn(text, namespace string) client.Object {
	GinkgoHelper()
	objects, err := manifests.Decode("test", []byte(text))
	Expect(err).NotTo(HaveOccurred())
	objects[0].SetNamespace(namespace)
	return objects[0]
}
