package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
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
	return together("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: "+app+
		"}, ports: [{port: 80}]}",
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

// ruledDefinition renders a definition of Widgets whose spec has a field for each rule about values.
func ruledDefinition(group string) string {
	head, _, _ := strings.Cut(typedDefinition(group), "            spec:\n")
	return head + `            spec:
              type: object
              required: [colour, mode]
              properties:
                colour: {type: string, minLength: 3, maxLength: 5, pattern: '^[a-z]+$'}
                mode: {type: string, default: fast, enum: [fast, slow]}
                count: {type: integer, minimum: 1, maximum: 5}
                list: {type: array, maxItems: 2, items: {type: string}}
                labels: {type: object, maxProperties: 1, additionalProperties: {type: string}}
                empty: {type: string, nullable: true}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                pod: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
                inner: {type: object, required: [a, b], properties: {a: {type: string}, b: {type: string, default: c}}}
                one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
                address: {type: string, format: ipv4}`
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
		Entry("a label with a space", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, labels: {a: b c}}",
			"/bad (metadata.labels"),
		Entry("a number in data", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {a: 5}", "/bad ("),
		Entry("data that is too large", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {a: "+
			strings.Repeat("x", 1<<20+1)+"}",
			"may not be more than 1048576 bytes"),
		Entry("a misspelt field", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndatum: {a: b}", "datum"),
		Entry("a name with capitals", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad}", "/Bad (metadata.name"),
		Entry("a namespace with capitals", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, namespace: Not_Valid}",
			"metadata.namespace"),
		Entry("a key with a slash", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {a/b: c}", "data[a/b]"),
		Entry("a label of a pod template", strings.Replace(deployment("bad"), "metadata: {labels: {app: bad}}",
			"metadata: {labels: {app: bad, b: c d}}", 1),
			"/bad (spec.template"),
		Entry("a quantity with a space",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: bad}\n"+
				"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10 GB}}}", "quantities must match"),
		Entry("bytes that are not encoded", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\nbinaryData: {a: '%%%'}",
			"illegal base64 data"),
		Entry("an object that the API server does not store",
			"apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nmetadata: {name: bad}\nspec: {token: x}",
			"cannot be a dependent"),
		Entry("a binding of a pod", "apiVersion: v1\nkind: Binding\nmetadata: {name: bad}\ntarget: {kind: Node, name: a}",
			"cannot be a dependent"),
		Entry("an eviction", "apiVersion: policy/v1\nkind: Eviction\nmetadata: {name: bad}",
			"only a subresource of other types"),
		Entry("a scale", "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: bad}\nspec: {replicas: 1}",
			"only a subresource of other types"),
		Entry("an access review",
			"apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nmetadata: {name: bad}\nspec: {user: a}",
			"cannot be a dependent"),
		Entry("a Deployment without a selector", strings.Replace(deployment("bad"), "  selector: {matchLabels: {app: bad}}\n",
			"", 1), "spec.selector"),
		Entry("a container without a name", strings.Replace(deployment("bad"), "name: main", "tty: true", 1),
			"spec.template.spec.containers[0].name"),
		Entry("an image pull policy that does not exist", strings.Replace(deployment("bad"), "image:",
			"imagePullPolicy: Often, image:", 1), "imagePullPolicy"),
		Entry("a role binding without a role",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: bad}", "roleRef"),
		Entry("a misspelt field of a container", strings.Replace(deployment("bad"), "image:", "imagee:", 1), "imagee"),
	)

	It("all invalid objects of a set are reported at once", func(ctx SpecContext) {
		g := newGadget(ctx, newNamespace(ctx), "app", together(configMap("good", "a"),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: 5}",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: two}\ndata: {a b: c2VjcmV0}",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: \"system:three\"}\nrulez: []"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet),
			ContainSubstring("/one ("), ContainSubstring("/two ("), ContainSubstring("/system:three ("),
			Not(ContainSubstring("c2VjcmV0"))))
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

	It("a changed selector is found before the Service of the same set moves, and what is applied is "+
		"still repaired", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(serviceAndDeployment("web"), configMap("settings", "a")))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(serviceAndDeployment("shop"), configMap("settings", "a"), configMap("more", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("spec.selector"),
			ContainSubstring("immutable")))
		Expect(mustGet(ctx, "v1", "Service", namespace, "web").Object["spec"]).To(HaveKeyWithValue("selector",
			map[string]any{"app": "web"}))
		Expect(configMapExists(ctx, namespace, "more")).To(BeFalse())

		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "settings") }).Should(BeTrue())

		changeManifests(ctx, g, together(strings.Replace(serviceAndDeployment("shop"), "annotations: {}",
			"annotations: {"+setting("update-policy", "recreate")+"}", 1), configMap("settings", "a")))
		expectReady(ctx, g)
	})

	It("an instance of a type that the same set defines is validated by this definition", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		good := typedWidget(group, "good",
			`{colour: red, port: http, free: {a: 1}, template: {apiVersion: v1, kind: Pod, spec: {}}}`)
		g := newGadget(ctx, namespace, "app", together(typedDefinition(group), good,
			typedWidget(group, "bad", `{color: red}`)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix(invalidSet), ContainSubstring("/bad ("),
			ContainSubstring("spec.color")))
		_, err := get(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		Expect(err).To(MatchError(ContainSubstring("not found")))
		changeManifests(ctx, g, together(typedDefinition(group), good))
		expectReady(ctx, g)
	})

	for _, inSet := range []bool{true, false} {
		where := map[bool]string{true: "that the same set defines", false: "that the API server serves"}[inSet]
		It("a custom resource with an invalid value is refused before the first write, and every value that the API server "+
			"accepts is accepted, for a type "+where,
			func(ctx SpecContext) {
				namespace, group := newNamespace(ctx), newGroup()
				definition := ruledDefinition(group)
				if !inSet {
					create(ctx, definition)
					Eventually(ctx, func() error {
						return k8s.Create(ctx, objectIn(typedWidget(group, "probe", "{colour: red}"), namespace), client.DryRunAll)
					}).Should(Succeed())
					definition = configMap("another", "a")
				}
				set := func(widgets ...string) string {
					return together(append([]string{definition, configMap("good", "a")}, widgets...)...)
				}
				var widgets []string
				var reported []gomegatypes.GomegaMatcher
				for i, c := range []struct{ spec, field string }{
					{"{mode: fast}", "spec.colour"},
					{"{colour: red, mode: idle}", "spec.mode"},
					{"{colour: r}", "spec.colour"},
					{"{colour: RED}", "spec.colour"},
					{"{colour: red, count: 6}", "spec.count"},
					{"{colour: red, list: [a, b, c]}", "spec.list"},
					{"{colour: red, labels: {a: b, c: d}}", "spec.labels"},
					{"{colour: red, port: true}", "spec.port"},
					{"{colour: red, pod: {apiVersion: v1}}", "spec.pod.kind"},
					{"{colour: red, inner: {}}", "spec.inner.a"},
				} {
					name := fmt.Sprintf("bad-%d", i)
					widgets = append(widgets, typedWidget(group, name, c.spec))
					reported = append(reported, ContainElement(And(HaveField("Dependent", HaveSuffix("/"+name)),
						HaveField("Message", ContainSubstring(c.field)))))
				}
				g := newGadget(ctx, namespace, "app", set(widgets...))
				expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix(invalidSet))
				Expect(current(ctx, g).Status.Waiting).To(And(append(reported, HaveLen(len(reported)))...))
				Expect(countConfigMaps(ctx, namespace)).To(BeZero())
				changeManifests(ctx, g, set(typedWidget(group, "good",
					`{colour: red, count: 1, list: [a], labels: {a: b}, empty: null, port: http,
					free: {a: [1, {b: c}]}, pod: {apiVersion: v1, kind: Pod, spec: {a: b}}, inner: {a: b}, one: {b: a}, address: 10.0.0.1}`)))
				expectReady(ctx, g)
			})
	}

	It("an object with holes is validated without the fields that have them", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		bound := func(text string) string {
			return strings.Replace(text, "metadata: {name: bound", "metadata: {name: bound, annotations: {"+setting("bind",
				"true")+"}", 1)
		}
		set := func(labels, pod, widget string) string {
			return together(ruledDefinition(group), configMap("source", "red", setting("export", "v=self.data.value")),
				bound("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bound, labels: {a: "+labels+
					"}}\ndata: {value: '${{ v }}', other: a}"),
				strings.Replace(deployment("web", setting("bind", "true")), "nginx:1\"", "nginx:${{ v }}\", "+pod, 1),
				bound(strings.Replace(typedWidget(group, "bound", widget), "{name: bound}", "{name: bound }", 1)))
		}
		g := newGadget(ctx, namespace, "app", set("b c", "imagePullPolicy: Often", "{colour: '${{ v }}', count: 9}"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix(invalidSet), ContainSubstring("/bound (metadata.labels"),
				ContainSubstring("imagePullPolicy"), ContainSubstring("spec.count")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		changeManifests(ctx, g, set("b", "imagePullPolicy: Always", "{colour: '${{ v }}', count: 5}"))
		Eventually(ctx, func() any {
			widget, err := get(ctx, group+"/v1", "Widget", namespace, "bound")
			if err != nil {
				return err
			}
			return widget.Object["spec"]
		}).Should(HaveKeyWithValue("colour", "red"))
	})

	DescribeTable("an invalid object of a deletion phase is refused with the set, before "+
		"its first write", func(ctx SpecContext, phase string) {
		namespace := newNamespace(ctx)
		hook := func(label string) string {
			return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, labels: {a: " + label + "}, annotations: {" +
				setting("phase", phase) + "}}"
		}
		g := newGadget(ctx, namespace, "app", together(configMap("good", "a"), hook("b c")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix(invalidSet), ContainSubstring("/hook (metadata.labels")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		forecast, err := foresee(ctx, current(ctx, g), together(configMap("good", "a"), hook("b c")))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Waiting).To(ContainElement(HaveField("Message", ContainSubstring("metadata.labels"))))
		changeManifests(ctx, g, together(configMap("good", "a"), hook("b")))
		expectReady(ctx, g)
		remove(ctx, g)
	},
		Entry("pre-delete", "pre-delete"),
		Entry("post-delete", "post-delete"),
	)

	It("a webhook of the set may complete the objects of a type of the set, so their values "+
		"are not judged", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		webhook := "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: " +
			group + "}\n" +
			"webhooks: [{name: a." + group +
			", admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, timeoutSeconds: 1, " +
			"clientConfig: {url: \"https://127.0.0.1:9\"}, rules: [{apiGroups: [" + group +
			"], apiVersions: [v1], operations: [CREATE], resources: [widgets]}]}]"
		g := newGadget(ctx, namespace, "app", together(ruledDefinition(group), webhook,
			typedWidget(group, "bad", `{mode: fast}`)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("spec.colour"))
		mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
	})

	It("objects without a field that the schema calls required cost no dry run if the API server "+
		"accepts them", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		pod := strings.Replace(deployment("web"), `image: "nginx:1"`,
			`image: "nginx:1", imagePullPolicy: "", livenessProbe: {httpGet: {port: 80, httpHeaders: [{name: a}]}}`, 1)
		g := newGadget(ctx, namespace, "app", together(pod,
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a}\nroleRef: {kind: Role, name: a}",
			"apiVersion: v1\nkind: LimitRange\nmetadata: {name: a}\nspec: {}",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {}",
			"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: "+namespace+"}",
			"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a}\naddressType: IPv4",
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n"+
				"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
			"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}",
			"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 1}",
			"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"+
				"spec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}}",
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\n"+
				"spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: "+
				"[{name: a, image: a}]}}}",
			"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [{host: a.example.com}]}",
		), servedBy(operator))
		Eventually(ctx, func() int { return len(current(ctx, g).Status.Inventory) }).Should(Equal(13))
		dryRuns := requestsSince(ctx, mark, operator).
			Where(func(e testcluster.Event) bool { return strings.Contains(e.RequestURI, "dryRun") })
		Expect(dryRuns).To(BeEmpty())
	})

	It("an instance of a version that the definition of the same set does not serve is refused", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		g := newGadget(ctx, namespace, "app", together(configMap("good", "a"), typedDefinition(group),
			strings.Replace(typedWidget(group, "bad", "{}"), "/v1", "/v2", 1)))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix(invalidSet), ContainSubstring("does not serve the version v2")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("a field that the API server drops is no fault, and one event for the revision names it", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		annotated := func(text string) string {
			return strings.Replace(text, "}\nspec", ", annotations: {"+setting("update-policy", "replace")+"}}\nspec", 1)
		}
		g := newGadget(ctx, namespace, "app", together(typedDefinition(group),
			annotated(typedWidget(group, "w", `{color: red}`)),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dropped, annotations: {"+setting("update-policy", "replace")+
				"}}\ndatum: {a: b}"))
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

	It("a valid set costs one request for each group and version of its types, a repair none, and a "+
		"restart none", func(ctx SpecContext) {
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
