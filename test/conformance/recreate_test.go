package conformance_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// fixedField is an object with an immutable field: its first manifest, its changed manifest, and the texts in the
// expected message.
type fixedField struct {
	name, before, after string
	says                []string
}

// fixedFields are objects with immutable fields. In their texts NS stands for a namespace, GROUP for the group of the
// type Widget, and POLICY for an update policy.
var fixedFields = []fixedField{
	{
		"Service NS/headless",
		"{apiVersion: v1, kind: Service, metadata: {name: headless, POLICY}, spec: {clusterIP: None, ports: [{port: 80}]}}",
		"{apiVersion: v1, kind: Service, metadata: {name: headless, POLICY}, spec: {ports: [{port: 80}]}}",
		[]string{"the manifest no longer sets spec.clusterIP", "the field cannot change"},
	},
	{
		"StatefulSet.apps NS/db",
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, POLICY}, spec: {replicas: 0, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: a, image: "x:1"}]}}}}`,
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, POLICY}, spec: {replicas: 0, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: a, image: "x:1"}]}},
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
		[]string{
			"spec: Forbidden: updates to statefulset spec", "the field cannot change",
			"differ from the object: spec.volumeClaimTemplates",
		},
	},
	{
		"Job.batch NS/work",
		`{apiVersion: batch/v1, kind: Job, metadata: {name: work, POLICY}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "x:1"}]}}}}`,
		`{apiVersion: batch/v1, kind: Job, metadata: {name: work, POLICY}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "x:2"}]}}}}`,
		[]string{
			"spec.template", "the field cannot change",
			"differ from the object: spec.template.spec.containers[0].image",
		},
	},
	{
		"StorageClass.storage.k8s.io NS",
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NS, POLICY}, provisioner: example.com/a}",
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NS, POLICY}, provisioner: example.com/b}",
		[]string{"provisioner", "the field cannot change"},
	},
	{
		"Secret NS/typed", "{apiVersion: v1, kind: Secret, metadata: {name: typed, POLICY}, type: example.com/a}",
		"{apiVersion: v1, kind: Secret, metadata: {name: typed, POLICY}, type: example.com/b}",
		[]string{"fields: type", "the field cannot change"},
	},
	{
		"ConfigMap NS/fixed",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: fixed, POLICY}, immutable: true, data: {a: one}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: fixed, POLICY}, immutable: true, data: {a: two}}",
		[]string{"data: Forbidden: field is immutable", "the field cannot change"},
	},
	{
		"Widget.GROUP NS/one", "{apiVersion: GROUP/v1, kind: Widget, metadata: {name: one, POLICY}, spec: {size: 1}}",
		"{apiVersion: GROUP/v1, kind: Widget, metadata: {name: one, POLICY}, spec: {size: 2}}",
		[]string{"spec.size", "size is fixed", "if the field cannot change"},
	},
}

var _ = Describe("Immutable fields:", func() {
	It("the message about a claim that was restored with another storage class names this field, and what a "+
		"deletion loses", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		claim := func(class string) string {
			return fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: %s}\n"+
				"spec: {accessModes: [ReadWriteOnce], storageClassName: %s, volumeName: v, resources: {requests: {storage: 1Gi}}}",
				namespace, class)
		}
		create(ctx, claim("slow"))
		g := newGadget(ctx, namespace, "app", claim("fast"), retryLate)
		message := And(ContainSubstring("these fields of the manifest differ from the object: spec.storageClassName"),
			ContainSubstring("render another claim beside it and copy the data; if this claim is deleted, its data is lost"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed"), message))

		By("previewing the same")
		forecast, err := foresee(ctx, current(ctx, g), claim("fast"))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Waiting).To(ContainElement(HaveField("Message", message)))
	})

	for _, policy := range inPlacePolicies {
		It("a change of an immutable field with the update policy "+policy+
			" is reported with object, field and remedy, and applied with the policy recreate", func(ctx SpecContext) {
			namespace, group := newNamespace(ctx), newGroup()
			render := func(text, policy string) string {
				return strings.NewReplacer("NS", namespace, "GROUP", group, "POLICY",
					fmt.Sprintf("annotations: {%s}", updatePolicy(policy))).Replace(text)
			}
			definition := create(ctx, strings.Replace(widgetDefinition(group),
				"spec: {type: object, x-kubernetes-preserve-unknown-fields: true}",
				`spec: {type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: "self == oldSelf", message: "size is fixed"}]}}}`, 1))[0]
			var gadgets []*gadget.Gadget
			for i, f := range fixedFields {
				gadgets = append(gadgets, newGadget(ctx, namespace, fmt.Sprintf("app-%d", i), render(f.before, policy)))
			}
			for i, g := range gadgets {
				expectReady(ctx, g)
				changeManifests(ctx, g, render(fixedFields[i].after, policy))
			}
			for i, g := range gadgets {
				says := []types.GomegaMatcher{
					Or(HavePrefix("True DependentFailed"), HavePrefix("True InvalidManifests")),
					ContainSubstring(render(fixedFields[i].name, policy)),
					ContainSubstring("the annotation " + operatorName +
						"/update-policy: recreate on the manifest of this object deletes it and creates it again with the new value"),
				}
				for _, text := range fixedFields[i].says {
					says = append(says, ContainSubstring(text))
				}
				expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(says...))
				changeManifests(ctx, g, render(fixedFields[i].after, "recreate"))
			}
			for _, g := range gadgets {
				expectReady(ctx, g)
			}
			Expect(mustGet(ctx, "v1", "Service", namespace, "headless").Object["spec"]).
				NotTo(HaveKeyWithValue("clusterIP", "None"))
			Expect(mustGet(ctx, group+"/v1", "Widget", namespace, "one").Object["spec"]).To(HaveKeyWithValue("size", int64(2)))
			for _, g := range gadgets {
				remove(ctx, g)
			}
			for _, g := range gadgets {
				expectNotFound(ctx, g)
			}
			remove(ctx, definition)
		})
	}
})

var _ = Describe("Dependents with the update policy recreate:", func() {
	It("a changed dependent with the policy recreate is deleted, waited for, and created again, "+
		"by two writes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", settingsMap("a: x", updatePolicy("recreate")))
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		patch(ctx, before, `{"metadata":{"finalizers":["example.com/theirs"]}}`)
		requestPass(ctx, g, operatorName)
		mark := markAudit(ctx)

		changeManifests(ctx, g, settingsMap("a: z", updatePolicy("recreate")))
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False"), ContainSubstring("created again afterwards")))
		Expect(dataOf(ctx, namespace)).To(Equal(map[string]any{"a": "x"}))
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"metadata":{"finalizers":null}}`)
		expectReady(ctx, g)
		after := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		Expect(after.GetUID()).NotTo(Equal(before.GetUID()))
		Expect(after.Object["data"]).To(Equal(map[string]any{"a": "z"}))
		Expect(succeeded(inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps").Writes())).
			To(HaveLen(2))
	})

	It("drift of a dependent with the policy recreate is repaired in place", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", settingsMap("a: x", updatePolicy("recreate")))
		expectReady(ctx, g)
		before := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		patch(ctx, before, `{"data":{"a":"theirs"}}`)
		Eventually(ctx, func() any { return dataOf(ctx, namespace) }).Should(Equal(map[string]any{"a": "x"}))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID()).To(Equal(before.GetUID()))
	})

	It("a changed definition with the policy recreate is updated in place", func(ctx SpecContext) {
		namespace, group := newNamespace(ctx), newGroup()
		definition := func(text string) string {
			return strings.Replace(widgetDefinition(group, updatePolicy("recreate")), "plural: widgets}",
				"plural: widgets"+text+"}", 1)
		}
		g := newGadget(ctx, namespace, "app", together(definition(""), widget(group, "one")))
		expectReady(ctx, g)
		before := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group).GetUID()
		changeManifests(ctx, g, together(definition(", shortNames: [wi]"), widget(group, "one")))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group).GetUID()).
			To(Equal(before))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})
