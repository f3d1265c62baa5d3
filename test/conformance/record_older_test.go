package conformance_test

import (
	"context"
	"fmt"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// versionOf returns the only version in a CustomResourceDefinition.
func versionOf(definition *unstructured.Unstructured) map[string]any {
	GinkgoHelper()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	Expect(versions).To(HaveLen(1))
	version, _ := versions[0].(map[string]any)
	return version
}

// withoutStatusFields gives gadgets a definition of the status that lacks fields, until the end of the spec. The other
// fields are those of the status of components.
func withoutStatusFields(ctx context.Context, namespace string, fields ...string) {
	GinkgoHelper()
	text, err := os.ReadFile("../../config/crd/fairlead.io_components.yaml")
	Expect(err).NotTo(HaveOccurred())
	definitions, err := manifests.Decode("definition", text)
	Expect(err).NotTo(HaveOccurred())
	status, _, err := unstructured.NestedMap(versionOf(definitions[0]), "schema", "openAPIV3Schema",
		"properties", "status")
	Expect(err).NotTo(HaveOccurred())
	Expect(unstructured.SetNestedField(status, map[string]any{"type": "integer"}, "properties", "port")).To(Succeed())
	for _, field := range fields {
		unstructured.RemoveNestedField(status, "properties", field)
	}
	probe, writes := newGadget(ctx, namespace, "probe", "", servedBy(newOperatorName())), 0
	define := func(ctx context.Context, status map[string]any, isDropped bool) {
		GinkgoHelper()
		Eventually(ctx, func() error {
			crd := mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets.gadgets.example.com")
			version := versionOf(crd)
			Expect(unstructured.SetNestedMap(version, status, "schema", "openAPIV3Schema", "properties", "status")).To(Succeed())
			Expect(unstructured.SetNestedSlice(crd.Object, []any{version}, "spec", "versions")).To(Succeed())
			return k8s.Update(ctx, crd)
		}).Should(Succeed())
		Eventually(ctx, func() bool {
			writes++
			patch := client.RawPatch(types.MergePatchType,
				fmt.Appendf(nil, `{"status":{"port":%d,"inventoryWrites":%[1]d}}`, writes))
			Expect(k8s.Status().Patch(ctx, current(ctx, probe), patch)).To(Succeed())
			return current(ctx, probe).Status.InventoryWrites == 0
		}).Should(Equal(isDropped))
	}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	DeferCleanup(func(ctx SpecContext) { define(ctx, open, false) })
	define(ctx, status, true)
}

var _ = Describe("An older definition of the components:", Serial, func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	It("without the number of the record, changes by other clients cause no search, and the component "+
		"is reconciled", func(ctx SpecContext) {
		withoutStatusFields(ctx, namespace, "inventoryWrites", "recordDigest")
		runOperator(operator, operatorOptions{})
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		for _, value := range []string{"b", "c"} {
			settle(ctx, operator)
			change(ctx, g, func(g *gadget.Gadget) { g.Labels["changed"] = value })
			changeManifests(ctx, g, configMap("settings", value))
			Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "settings")["value"] }).Should(Equal(value))
			expectReady(ctx, g)
		}
		settle(ctx, operator)
		Expect(current(ctx, g).Status.InventoryWrites).To(BeZero())
		Expect(searches(ctx, mark, operator)).To(BeZero())
		Expect(notesOf(ctx, namespace, "RecordChanged")).To(BeEmpty())
	})

	It("without the name of Secrets with inventories, a large inventory is refused", func(ctx SpecContext) {
		withoutStatusFields(ctx, namespace, "inventoryWrites", "inventoryRecord")
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{StatusInventory: -1}},
		})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectCondition(ctx, g, "Ready", ContainSubstring("has no field status.inventoryRecord"))
		Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
	})
})
