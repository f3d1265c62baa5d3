package show_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func job(spec map[string]any, applied string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": spec}}
	obj.SetName("migrate")
	if applied != "" {
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: operator.ReconcilerName, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "batch/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(applied),
		}})
	}
	return obj
}

var _ = Describe("Plan", func() {
	live := map[string]any{"image": "v1", "priority": "low", "backoffLimit": int64(6)}
	fieldsOf := func(effect result.Effect, applied string) []string {
		GinkgoHelper()
		forecast := result.Forecast{Steps: []result.Step{{
			Effect: effect, Before: job(live, applied),
			After: job(map[string]any{"image": "v2"}, ""),
		}}}
		plan := show.NewPlan(&unstructured.Unstructured{}, forecast, false)
		Expect(plan.Steps).To(HaveLen(1))
		return plan.Steps[0].Fields
	}
	It("lists ignored fields with the place of their rules", func() {
		key := manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
		forecast := result.Forecast{Ignored: []result.IgnoredField{
			{Key: key, Path: "spec.replicas", Source: manifests.IgnoredByAnnotation},
			{Key: key, Path: "spec.paused", Source: manifests.IgnoredBySpec},
			{Key: key, Path: "spec.minReadySeconds", Source: manifests.IgnoredByOption},
		}}
		var text strings.Builder
		Expect(show.NewPlan(&unstructured.Unstructured{}, forecast, false).Print(show.Output{Writer: &text})).To(Succeed())
		Expect(text.String()).To(ContainSubstring(`
Deployment.apps shop/web: spec.replicas is ignored, by the annotation ignore
Deployment.apps shop/web: spec.paused is ignored, by the spec of the component
Deployment.apps shop/web: spec.minReadySeconds is ignored, by the option of the operator
`))
		text.Reset()
		tree := show.NewTree(&unstructured.Unstructured{}, metav1alpha1.Status{},
			[]tree.Node{{Key: key, Ignored: forecast.Ignored}})
		Expect(tree.Print(show.Output{Writer: &text})).To(Succeed())
		Expect(text.String()).To(HaveSuffix(`
Deployment.apps shop/web: spec.replicas is ignored, by the annotation ignore
Deployment.apps shop/web: spec.paused is ignored, by the spec of the component
Deployment.apps shop/web: spec.minReadySeconds is ignored, by the option of the operator
`))
		Expect(tree.Dependents[0].Ignored).To(ContainElement(show.TreeIgnored{Path: "spec.paused", By: "spec"}))
	})

	DescribeTable("ends with a summary of",
		func(forecast result.Forecast, want string) {
			var text strings.Builder
			Expect(show.NewPlan(&unstructured.Unstructured{}, forecast, false).Print(show.Output{Writer: &text})).To(Succeed())
			Expect(text.String()).To(HaveSuffix("\n" + want + "\n"))
		},
		Entry("a component without changes", result.Forecast{}, "nothing to do."),
		Entry("a failure that prevents all steps", result.Forecast{Waiting: []result.Waiting{{Failed: true}}},
			"no step is possible before these problems are corrected."),
	)

	const applied = `{"f:spec":{"f:image":{},"f:priority":{}}}`

	It("names the fields of a recreated object that its manifest changes, and no defaults", func() {
		Expect(fieldsOf(result.EffectRecreate, applied)).To(ConsistOf("spec.image", "spec.priority"))
	})

	It("names the fields of a recreated object that other managers lose", func() {
		before := job(live, `{"f:spec":{"f:image":{}}}`)
		before.SetManagedFields(append(before.GetManagedFields(), metav1.ManagedFieldsEntry{
			Manager: "scaler", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale", APIVersion: "batch/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:priority":{}}}`),
		}))
		step := result.Step{
			Effect: result.EffectRecreate, Before: before,
			After: job(map[string]any{"image": "v2"}, ""),
		}
		plan := show.NewPlan(&unstructured.Unstructured{}, result.Forecast{Steps: []result.Step{step}}, false)
		Expect(plan.Steps).To(ConsistOf(HaveField("Fields", ConsistOf("spec.image", "spec.priority"))))
		Expect(show.Before(step).Object["spec"]).To(HaveKeyWithValue("priority", "low"),
			"Before must return the value that the diff shows")
	})

	It("names all fields of a recreated object that differ if the object has no managed fields", func() {
		Expect(fieldsOf(result.EffectRecreate, "")).To(ConsistOf("spec.image", "spec.priority", "spec.backoffLimit"))
	})

	It("names all fields that differ between the objects before and after an update", func() {
		Expect(fieldsOf(result.EffectUpdate, applied)).To(ConsistOf("spec.image", "spec.priority", "spec.backoffLimit"))
	})
})
