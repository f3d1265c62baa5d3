package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// updatePolicies are all update policies.
var updatePolicies = []string{"replace", "recreate", "ssa-merge", "ssa-override"}

// maker describes another tool that creates and changes objects.
type maker struct{ name, manager, operation string }

// makers are the tools whose objects are adopted.
var makers = []maker{
	{"kubectl create", "kubectl-create", "Update"},
	{"kubectl apply", "kubectl-client-side-apply", "Update"},
	{"kubectl apply --server-side", "kubectl", "Apply"},
	{"helm install", "helm", "Update"},
}

// write creates or updates an object from YAML in the way of the tool.
func (m maker) write(ctx context.Context, namespace, text string) {
	GinkgoHelper()
	objects, err := manifests.Decode("test", []byte(text))
	Expect(err).NotTo(HaveOccurred())
	o := objects[0]
	o.SetNamespace(namespace)
	annotations := map[string]string{}
	switch m.name {
	case "kubectl apply":
		annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	case "helm install":
		annotations["meta.helm.sh/release-name"] = "shop"
		o.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	}
	if len(annotations) > 0 {
		o.SetAnnotations(annotations)
	}
	if m.operation == "Apply" {
		Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(m.manager))).To(Succeed())
		return
	}
	Expect(k8s.Create(ctx, o, client.FieldOwner(m.manager))).To(Succeed())
}

// managers lists the field managers of an object as "manager operation", without subresources.
func managers(o *unstructured.Unstructured) []string {
	var found []string
	for _, e := range o.GetManagedFields() {
		if e.Subresource == "" {
			found = append(found, fmt.Sprintf("%s %s", e.Manager, e.Operation))
		}
	}
	slices.Sort(found)
	return found
}

// ownEntry returns the operator's entry in the managed fields under an update policy.
func ownEntry(policy string) string {
	if policy == "replace" {
		return operatorName + " Update"
	}
	return operatorName + " Apply"
}

// dataOf reads the data of the ConfigMap settings.
func dataOf(ctx context.Context, namespace string) any {
	GinkgoHelper()
	return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]
}

// settingsMap renders the ConfigMap settings. data is in flow style.
func settingsMap(data string, annotations ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  annotations: {%s}\ndata: {%s}",
		strings.Join(annotations, ", "), data)
}

var _ = Describe("Objects of other tools:", func() {
	for _, m := range makers {
		for _, policy := range updatePolicies {
			It("an object of "+m.name+" is adopted with the update policy "+policy+
				", and fields that the manifest drops later are removed", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				m.write(ctx, namespace, settingsMap("a: x, b: x, theirs: x"))
				g := newGadget(ctx, namespace, "app", settingsMap("a: x, b: x", updatePolicy(policy)),
					adopting(metav1alpha1.AdoptRule{Kind: "ConfigMap", Name: "settings"}))
				expectReady(ctx, g)

				adopted := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
				if policy == "ssa-override" {
					Expect(adopted.Object["data"]).To(Equal(map[string]any{"a": "x", "b": "x"}))
					Expect(managers(adopted)).To(ConsistOf(ownEntry(policy)))
					Expect(adopted.GetAnnotations()).NotTo(Or(HaveKey(ContainSubstring("last-applied")),
						HaveKey(ContainSubstring("helm"))))
					Expect(adopted.GetLabels()).To(HaveLen(1), "the adopted object must have only one label, the owner label")
				} else {
					Expect(adopted.Object["data"]).To(Equal(map[string]any{"a": "x", "b": "x", "theirs": "x"}))
					Expect(managers(adopted)).To(ConsistOf(ownEntry(policy), m.manager+" "+m.operation))
				}

				changeManifests(ctx, g, settingsMap("a: x", updatePolicy(policy)))
				expectReady(ctx, g)
				Expect(dataOf(ctx, namespace)).To(And(HaveKeyWithValue("a", "x"), Not(HaveKey("b"))))
			})
		}
	}

	Context("an adoption keeps the defaults of a field that the manifest sets to an empty map", func() {
		const set = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  updateStrategy: {type: RollingUpdate, rollingUpdate: {}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: "nginx:1"}]}`
		// adopt lets an operator whose requests pass through transport adopt a StatefulSet.
		adopt := func(ctx context.Context, namespace string, transport func(http.RoundTripper) http.RoundTripper) {
			GinkgoHelper()
			maker{"helm install", "helm", "Update"}.write(ctx, namespace, set)
			before := mustGet(ctx, "apps/v1", "StatefulSet", namespace, "web")
			operator := newOperatorName()
			runOperator(operator, operatorOptions{transport: transport})
			expectReady(ctx, newGadget(ctx, namespace, "app", set, servedBy(operator),
				adopting(metav1alpha1.AdoptRule{Group: "apps", Kind: "StatefulSet", Name: "web"})))
			after := mustGet(ctx, "apps/v1", "StatefulSet", namespace, "web")
			Expect(after.Object["spec"]).To(Equal(before.Object["spec"]))
			Expect(after.GetUID()).To(Equal(before.GetUID()))
		}

		It("of an object that nobody changes at the same time", func(ctx SpecContext) {
			adopt(ctx, newNamespace(ctx), func(next http.RoundTripper) http.RoundTripper { return next })
		})

		It("of an object that another client changes after its managed fields were rewritten", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			var rewritten, changed bool
			adopt(ctx, namespace, func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					kind := types.PatchType(r.Header.Get("Content-Type"))
					switch {
					case !strings.HasSuffix(r.URL.Path, "/statefulsets/web"):
					case kind == types.JSONPatchType:
						rewritten = true
					case kind == types.ApplyPatchType && rewritten && !changed:
						changed = true
						web := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
						change := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"true"}}}`))
						if err := k8s.Patch(r.Context(), web, change); err != nil {
							return nil, err
						}
					}
					return next.RoundTrip(r)
				})
			})
		})
	})

	It("fields of a configured previous manager are taken over", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{component: component.Options{
			Dependents: component.Dependents{
				PreviousManagers: []string{"deployer"},
				Policies:         metav1alpha1.Policies{Update: metav1alpha1.UpdateSSAOverride},
			},
		}})
		maker{"deployer", "deployer", "Apply"}.write(ctx, namespace, settingsMap("a: x, theirs: x"))
		g := newGadget(ctx, namespace, "app", settingsMap("a: x"), servedBy(operator))
		expectReady(ctx, g)
		Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"a": "x"}))
		Expect(managers(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).To(ConsistOf(operator + " Apply"))
	})
})

var _ = Describe("Fields that kubectl edited in a dependent:", func() {
	edit := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		Expect(k8s.Patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"),
			client.RawPatch("application/merge-patch+json", []byte(`{"data":{"theirs":"x"}}`)),
			client.FieldOwner("kubectl-edit"))).To(Succeed())
	}

	It("with the update policy ssa-override, fields that kubectl edited are removed at the next write, and are not "+
		"treated as drift until then", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", settingsMap("a: x", updatePolicy("ssa-override")))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		edit(ctx, namespace)
		requestPass(ctx, g, operatorName)
		Expect(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps")).To(BeEmpty())
		Expect(dataOf(ctx, namespace)).To(HaveKey("theirs"))

		changeManifests(ctx, g, settingsMap("a: z", updatePolicy("ssa-override")))
		expectReady(ctx, g)
		Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"a": "z"}))
		Expect(managers(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).To(ConsistOf(ownEntry("ssa-override")))
	})

	for _, policy := range []string{"ssa-merge", "replace"} {
		It("fields that kubectl edited are kept by the update policy "+policy, func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", settingsMap("a: x", updatePolicy(policy)))
			expectReady(ctx, g)
			edit(ctx, namespace)
			changeManifests(ctx, g, settingsMap("a: z", updatePolicy(policy)))
			expectReady(ctx, g)
			Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"a": "z", "theirs": "x"}))
		})
	}

	for policy, kept := range map[string]map[string]any{
		"ssa-override": {"a": "z"}, "ssa-merge": {"a": "z", "theirs": "x"}, "replace": {"a": "z", "theirs": "x"},
	} {
		It("a take-over with the update policy "+policy+
			" replaces or keeps values of kubectl, as its message says", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			owner := newGadget(ctx, namespace, "owner", settingsMap("a: x", updatePolicy(policy)))
			expectReady(ctx, owner)
			edit(ctx, namespace)
			g := newGadget(ctx, namespace, "app", settingsMap("a: z", updatePolicy(policy)))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
				ContainSubstring("the values of its manifest here then replace those that it has"),
				WithTransform(func(message string) bool {
					return strings.Contains(message, "removed, unless it has the annotation "+operatorName+"/update-policy: ssa-merge")
				}, Equal(policy == "ssa-override"))))
			changeManifests(ctx, g, settingsMap("a: z", updatePolicy(policy)+", "+operatorName+"/adoption-policy: always"))
			expectReady(ctx, g)
			Expect(dataOf(ctx, namespace)).To(Equal(kept))
		})
	}
})

var _ = Describe("New versions of a type:", func() {
	// definition renders a definition with the version v1, which has an additional field, and optionally with v1alpha1.
	definition := func(group string, alpha bool) string {
		version := func(name, fields string, storage bool) string {
			return fmt.Sprintf("  - {name: %s, served: true, storage: %v, subresources: {status: {}}, schema: "+
				"{openAPIV3Schema: {type: object, "+
				"properties: {status: {type: object, properties: {phase: {type: string}}}, spec: {type: object, "+
				"properties: {%s}}}}}}\n", name, storage, fields)
		}
		versions := version("v1", "size: {type: integer}, old: {type: string}, access: {type: string, default: deny}", true)
		if alpha {
			versions += version("v1alpha1", "size: {type: integer}, old: {type: string}", false)
		}
		return fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"+
			"metadata: {name: widgets.%[1]s}\n"+
			"spec:\n  group: %[1]s\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n%[2]s",
			group, versions)
	}
	instance := func(group, version, spec, policy string) string {
		return fmt.Sprintf("apiVersion: %s/%s\nkind: Widget\nmetadata: {name: one, annotations: {%s}}\nspec: {%s}", group,
			version, updatePolicy(policy), spec)
	}

	for _, policy := range updatePolicies {
		for _, keeps := range []bool{true, false} {
			text := "while the old version is served"
			if !keeps {
				text = "also if the old version is removed"
			}
			It("a dependent follows its type to a new version, "+text+", with the update policy "+policy, func(ctx SpecContext) {
				namespace, group := newNamespace(ctx), newGroup()
				g := newGadget(ctx, namespace, "app", together(definition(group, true),
					instance(group, "v1alpha1", "size: 1, old: x", policy)))
				expectReady(ctx, g)
				status := mustGet(ctx, group+"/v1alpha1", "Widget", namespace, "one")
				status.Object["status"] = map[string]any{"phase": "Running"}
				Expect(k8s.Status().Update(ctx, status, client.FieldOwner("its-controller"))).To(Succeed())

				changeManifests(ctx, g, together(definition(group, keeps), instance(group, "v1", "size: 2", policy)))
				expectReady(ctx, g)
				after := mustGet(ctx, group+"/v1", "Widget", namespace, "one")
				Expect(after.Object["spec"]).To(Equal(map[string]any{"size": int64(2), "access": "deny"}))
				if policy != "recreate" {
					Expect(after.Object["status"]).To(Equal(map[string]any{"phase": "Running"}))
				}

				By("detecting drift in the new version")
				patch(ctx, after, `{"spec":{"size":7}}`)
				Eventually(ctx, func() any { return mustGet(ctx, group+"/v1", "Widget", namespace, "one").Object["spec"] }).
					Should(HaveKeyWithValue("size", int64(2)))
				remove(ctx, g)
				expectNotFound(ctx, g)
			})
		}
	}
})
