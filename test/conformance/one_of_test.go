package conformance_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// otherWrite is a write of another client: a strategic merge patch under a field manager. unowned is set if the managed
// fields of the client are lost after that.
type otherWrite struct {
	manager, patch string
	unowned        bool
}

func (w otherWrite) to(ctx context.Context, o *unstructured.Unstructured) {
	GinkgoHelper()
	if w.manager == "" {
		return
	}
	kind := types.StrategicMergePatchType
	if o.GetKind() == "CustomResourceDefinition" {
		kind = types.MergePatchType
	}
	Expect(k8s.Patch(ctx, o, client.RawPatch(kind, []byte(w.patch)), client.FieldOwner(w.manager))).To(Succeed())
	if !w.unowned {
		return
	}
	Eventually(ctx, func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.SetManagedFields(slices.DeleteFunc(
			o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == w.manager }))
		return k8s.Update(ctx, o)
	}).Should(Succeed())
}

// exclusion is an object whose second manifest excludes a field that the object has by then.
type exclusion struct {
	name, apiVersion, kind string
	// before and after are the specs of both manifests.
	before, after string
	other         otherWrite
	// path is the value that has the one-of, and want its value in the end.
	path []string
	want any
}

type mapping = map[string]any

// exclusions returns the objects. CA stands for a bundle of certificates.
func exclusions(group string) []exclusion {
	const template = `selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "x:1"}]}}`
	pod := func(fields string) string {
		return `replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {` + fields + "}}"
	}
	definition := "group: " + group + ", scope: Namespaced, names: {kind: Widget, plural: widgets}, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}], conversion: "
	return []exclusion{
		{
			name: "web", apiVersion: "apps/v1", kind: "Deployment", path: []string{"spec", "strategy"},
			want:   mapping{"type": "Recreate"},
			before: "replicas: 0, " + template, after: "replicas: 0, strategy: {type: Recreate}, " + template,
		},
		{
			name: "reset", apiVersion: "apps/v1", kind: "Deployment", path: []string{"spec", "strategy"},
			want:   mapping{"type": "Recreate"},
			before: "replicas: 0, " + template, after: "replicas: 0, strategy: {type: Recreate, rollingUpdate: null}, " +
				template,
		},
		{
			name: "db", apiVersion: "apps/v1", kind: "StatefulSet", path: []string{"spec", "updateStrategy"},
			want:   mapping{"type": "OnDelete"},
			before: "replicas: 0, " + template, after: "replicas: 0, updateStrategy: {type: OnDelete}, " + template,
		},
		{
			name: "files", apiVersion: "apps/v1", kind: "Deployment", path: []string{"spec", "template", "spec", "volumes"},
			before: pod(`volumes: [{name: first}, {name: second}], containers: [{name: a, image: "x:1"}]`),
			after: pod(
				`volumes: [{name: first}, {name: second, emptyDir: null, configMap: {name: c}}], containers: [{name: a, image: "x:1"}]`),
			want: []any{
				mapping{"name": "first", "emptyDir": mapping{}},
				mapping{"name": "second", "configMap": mapping{"name": "c", "defaultMode": int64(420)}},
			},
		},
		{
			name: "settings", apiVersion: "apps/v1", kind: "StatefulSet",
			path: []string{"spec", "template", "spec", "containers"},
			before: pod(
				`containers: [{name: a, image: "x:1", env: [{name: E}], terminationMessagePath: /t, imagePullPolicy: Always}]`),
			other: otherWrite{
				manager: "kubectl-set",
				patch:   `{"spec":{"template":{"spec":{"containers":[{"name":"a","env":[{"name":"E","value":"x"}]}]}}}}`,
			},
			after: pod(`containers: [{name: a, image: "x:1", terminationMessagePath: /t, imagePullPolicy: Always, ` +
				`env: [{name: E, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}]`),
			want: []any{mapping{
				"name": "a", "image": "x:1", "terminationMessagePath": "/t", "terminationMessagePolicy": "File",
				"resources": mapping{}, "imagePullPolicy": "Always",
				"env": []any{mapping{"name": "E", "valueFrom": mapping{"configMapKeyRef": mapping{"name": "c", "key": "k"}}}},
			}},
		},
		{
			name: "unprobed", apiVersion: "apps/v1", kind: "Deployment",
			path:   []string{"spec", "template", "spec", "containers"},
			before: pod(`containers: [{name: a, image: "x:1", livenessProbe: {tcpSocket: {port: 80}}}]`),
			after:  pod(`containers: [{name: a, image: "x:1", livenessProbe: null}]`),
			want: []any{mapping{
				"name": "a", "image": "x:1", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
				"resources": mapping{}, "imagePullPolicy": "IfNotPresent",
			}},
		},
		{
			name: "few", apiVersion: "policy/v1", kind: "PodDisruptionBudget", path: []string{"spec"},
			before: "selector: {matchLabels: {a: b}}", other: otherWrite{
				manager: "lost", patch: `{"spec":{"minAvailable":1}}`,
				unowned: true,
			},
			after: "selector: {matchLabels: {a: b}}, maxUnavailable: 1",
			want:  mapping{"maxUnavailable": int64(1), "selector": mapping{"matchLabels": mapping{"a": "b"}}},
		},
		{
			name: "widgets." + group, apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
			path: []string{"spec", "conversion"},
			before: definition +
				"{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: " +
				"a, namespace: b}}}}",
			other: otherWrite{
				manager: "cert-manager-cainjector",
				patch: fmt.Sprintf(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":%q}}}}}`,
					base64.StdEncoding.EncodeToString(cluster.Config().CAData)),
			},
			after: definition + "{strategy: None}", want: mapping{"strategy": "None"},
		},
	}
}

// manifest renders the object with one of its specs.
func (e exclusion) manifest(spec, policy string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, annotations: {%s}}\nspec: {%s}", e.apiVersion,
		e.kind, e.name, updatePolicy(policy), spec)
}

// live reads the object.
func (e exclusion) live(ctx context.Context, namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	if e.kind == "CustomResourceDefinition" {
		namespace = ""
	}
	return mustGet(ctx, e.apiVersion, e.kind, namespace, e.name)
}

var _ = Describe("Fields that exclude each other:", func() {
	for _, policy := range inPlacePolicies {
		It("a field that a default, a previous manager or an injector has set goes away if the manifest excludes it, with "+
			"the update policy "+policy, func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			rows := exclusions(newGroup())
			var gadgets []*gadget.Gadget
			for i, e := range rows {
				gadgets = append(gadgets, newGadget(ctx, namespace, fmt.Sprintf("app-%d", i), e.manifest(e.before, policy)))
			}
			for i, e := range rows {
				expectReady(ctx, gadgets[i])
				e.other.to(ctx, e.live(ctx, namespace))
			}
			for i, e := range rows {
				By(e.kind + " " + e.name)
				forecast, err := foresee(ctx, current(ctx, gadgets[i]), e.manifest(e.after, policy))
				Expect(err).NotTo(HaveOccurred())
				Expect(forecast.Waiting).NotTo(ContainElement(HaveField("Failed", true)))

				changeManifests(ctx, gadgets[i], e.manifest(e.after, policy))
				expectReady(ctx, gadgets[i])
				live := e.live(ctx, namespace)
				Expect(field(live, e.path...)).To(Equal(e.want))
				Expect(managers(live)).To(ContainElement(ownEntry(policy)))

				By("not writing it again")
				mark := markAudit(ctx)
				requestPass(ctx, gadgets[i], operatorName)
				Expect(requestsSince(ctx, mark, operatorName).Where(func(r testcluster.Event) bool { return r.Name == e.name }).
					Writes()).To(BeEmpty())
			}
			for _, g := range gadgets {
				remove(ctx, g)
				expectNotFound(ctx, g)
			}
		})
	}

	It("an operator that was killed between both writes applies the manifest at its next start", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		text := func(strategy string) string {
			return strings.Replace(heldDeployment("web"), "replicas: 1", "replicas: 0"+strategy, 1)
		}
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", text(""), servedBy(operator))
		expectReady(ctx, g)
		stop()
		// The refused apply and its dry run count, too.
		c := &crash{counts: writesTo(namespace, "deployments"), after: 3, unanswered: true}
		stop = runOperator(operator, operatorOptions{transport: c.wrap})
		changeManifests(ctx, g, text("\n  strategy: {type: Recreate}"))
		Eventually(ctx, c.crashed.Load).Should(BeTrue())
		stop()
		between := mustGet(ctx, "apps/v1", "Deployment", namespace, "web")
		Expect(field(between, "spec", "strategy", "type")).To(Equal("RollingUpdate"))

		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		Expect(field(mustGet(ctx, "apps/v1", "Deployment", namespace, "web"), "spec", "strategy")).
			To(Equal(mapping{"type": "Recreate"}))
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("deployments").Writes()).To(HaveLen(1))
	})

	DescribeTable("a field that somebody else needs stays, and the message names its manager and a command:",
		func(ctx SpecContext, operation, says string) {
			namespace := newNamespace(ctx)
			text := func(strategy string) string {
				return strings.Replace(heldDeployment("web"), "replicas: 1", "replicas: 0"+strategy, 1)
			}
			g := newGadget(ctx, namespace, "app", text(""), retryLate)
			expectReady(ctx, g)
			live := mustGet(ctx, "apps/v1", "Deployment", namespace, "web")
			if operation == "Apply" {
				theirs := &unstructured.Unstructured{Object: mapping{
					"apiVersion": "apps/v1", "kind": "Deployment", "metadata": mapping{"name": "web", "namespace": namespace},
					"spec": mapping{"strategy": mapping{"rollingUpdate": mapping{"maxSurge": int64(3)}}},
				}}
				Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(theirs), client.FieldOwner("rollouts"),
					client.ForceOwnership)).To(Succeed())
			} else {
				otherWrite{manager: "rollouts", patch: `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":3}}}}`}.to(ctx, live)
			}
			mark := markAudit(ctx)
			changeManifests(ctx, g, text("\n  strategy: {type: Recreate}"))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled,
				And(HavePrefix("True DependentFailed"), ContainSubstring(says), ContainSubstring(
					`kubectl patch -n `+namespace+` deployment.apps web --type=json `+
						`-p '[{"op":"remove","path":"/spec/strategy/rollingUpdate"},{"op":"add","path":"/spec/strategy/type","value":"Recreate"}]'`)))
			Expect(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("deployments").Writes()).
				To(HaveEach(HaveField("Code", http.StatusUnprocessableEntity)))
			Expect(field(mustGet(ctx, "apps/v1", "Deployment", namespace, "web"), "spec", "strategy", "rollingUpdate",
				"maxSurge")).To(Equal(int64(3)))

			By("applying after the command")
			Expect(k8s.Patch(ctx, live, client.RawPatch(types.JSONPatchType, []byte(
				`[{"op":"remove","path":"/spec/strategy/rollingUpdate"},{"op":"add","path":"/spec/strategy/type","value":"Recreate"}]`)))).To(Succeed())
			expectReady(ctx, g)
		},
		Entry("by a server-side apply", "Apply",
			"the manifest excludes spec.strategy.rollingUpdate of the object, and the field manager rollouts owns it"),
		Entry("by an update", "Update",
			"the manifest excludes spec.strategy.rollingUpdate of the object, and the field manager rollouts owns it"),
	)

	It("all fields that somebody else needs are named with their managers, and one command "+
		"removes them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := func(strategy, security string) string {
			manifest := strings.Replace(heldDeployment("web"), "replicas: 1", "replicas: 0"+strategy, 1)
			return strings.Replace(manifest, "terminationGracePeriodSeconds", security+"terminationGracePeriodSeconds", 1)
		}
		g := newGadget(ctx, namespace, "app", text("", ""), retryLate)
		expectReady(ctx, g)
		for manager, spec := range map[string]mapping{
			"rollouts": {"strategy": mapping{"rollingUpdate": mapping{"maxSurge": int64(3)}}},
			"canary": {
				"strategy": mapping{"rollingUpdate": mapping{"maxUnavailable": int64(0)}},
				"template": mapping{"spec": mapping{"securityContext": mapping{
					"seccompProfile": mapping{"type": "Localhost", "localhostProfile": "a.json"},
				}}},
			},
		} {
			theirs := &unstructured.Unstructured{Object: mapping{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": mapping{"name": "web", "namespace": namespace},
				"spec": spec,
			}}
			Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(theirs), client.FieldOwner(manager),
				client.ForceOwnership)).To(Succeed())
		}
		changeManifests(ctx, g, text("\n  strategy: {type: Recreate}",
			"securityContext: {seccompProfile: {type: RuntimeDefault}}\n      "))
		const command = `[{"op":"remove","path":"/spec/strategy/rollingUpdate"},` +
			`{"op":"remove","path":"/spec/template/spec/securityContext/seccompProfile/localhostProfile"},` +
			`{"op":"add","path":"/spec/strategy/type","value":"Recreate"},` +
			`{"op":"add","path":"/spec/template/spec/securityContext/seccompProfile/type","value":"RuntimeDefault"}]`
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed"), ContainSubstring(
			"the manifest excludes spec.strategy.rollingUpdate of the object, and the field managers canary, rollouts own "+
				"it; it excludes "+
				"spec.template.spec.securityContext.seccompProfile.localhostProfile of the object, and the field manager "+
				"canary owns it; "+
				"stop whatever sets the fields, and remove them: kubectl patch -n "+namespace+
				" deployment.apps web --type=json -p '"+command+"'")))

		By("applying after the command")
		live := mustGet(ctx, "apps/v1", "Deployment", namespace, "web")
		Expect(k8s.Patch(ctx, live, client.RawPatch(types.JSONPatchType, []byte(command)))).To(Succeed())
		expectReady(ctx, g)
	})

	It("certificates that an injector set for an API stay, and the message names the injector "+
		"and a command", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		text := func(spec string) string {
			return fmt.Sprintf("{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.%[1]s}, "+
				"spec: {group: %[1]s, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: a, "+
				"namespace: b}%[2]s}}", group, spec)
		}
		g := newGadget(ctx, namespace, "app", text(""), retryLate)
		Eventually(ctx, func() error {
			_, err := get(ctx, "apiregistration.k8s.io/v1", "APIService", "", "v1."+group)
			return err
		}).Should(Succeed())
		patch := fmt.Sprintf(`{"spec":{"caBundle":%q}}`, base64.StdEncoding.EncodeToString(cluster.Config().CAData))
		otherWrite{manager: "cert-manager-cainjector", patch: patch}.to(ctx, mustGet(ctx, "apiregistration.k8s.io/v1",
			"APIService", "", "v1."+group))
		changeManifests(ctx, g, text(", insecureSkipTLSVerify: true"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed"),
			ContainSubstring("the manifest excludes spec.caBundle of the object, and the field manager "+
				"cert-manager-cainjector owns it"),
			ContainSubstring(`kubectl patch apiservice.apiregistration.k8s.io v1.`+group+` --type=json `+
				`-p '[{"op":"remove","path":"/spec/caBundle"},{"op":"add","path":"/spec/insecureSkipTLSVerify","value":true}]'`)))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("the message about a refused custom resource names the fields that others have set, their managers "+
		"and a command", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		definition := strings.Replace(widgetDefinition(group),
			"spec: {type: object, x-kubernetes-preserve-unknown-fields: true}",
			`spec: {type: object, properties: {a: {type: string}, b: {type: string}, c: {type: string}}, `+
				`x-kubernetes-validations: [{rule: "!(has(self.a) && has(self.b))", message: "only one of a and b"}]}`, 1)
		widget := func(spec string) string {
			return fmt.Sprintf("apiVersion: %s/v1\nkind: Widget\nmetadata: {name: one}\nspec: {%s}", group, spec)
		}
		g := newGadget(ctx, namespace, "app", together(definition, widget("c: x")), retryLate)
		expectReady(ctx, g)
		Expect(k8s.Patch(ctx, mustGet(ctx, group+"/v1", "Widget", namespace, "one"),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"b":"x"}}`)), client.FieldOwner("tuner"))).To(Succeed())
		changeManifests(ctx, g, together(definition, widget("c: x, a: x")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("only one of a and b"),
				ContainSubstring("the object also has spec.b (of the field manager tuner), which the manifest does not set; "+
					"if the manifest excludes it, stop whatever sets it, and remove it: kubectl edit -n "+namespace+" widget."+
					group+" one")))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a refusal for another reason costs no further request", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		text := strings.Replace(heldDeployment("web"), "replicas: 1", "replicas: 0\n  strategy: {type: Recreate}", 1)
		g := newGadget(ctx, namespace, "app", text, retryLate)
		expectReady(ctx, g)
		settle(ctx, operatorName)
		mark := markAudit(ctx)
		changeManifests(ctx, g, strings.Replace(text, "replicas: 0", "replicas: -1", 1))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True DependentFailed"), ContainSubstring("spec.replicas")))
		Expect(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("deployments")).To(HaveLen(1))
	})
})
