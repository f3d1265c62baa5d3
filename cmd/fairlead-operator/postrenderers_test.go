package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var _ = Describe("Post-renderers", func() {
	It("change dependents, also after an update of the post-renderers, and report a wrong entry", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), Values: &runtime.RawExtension{Raw: []byte(`{"level":"info"}`)},
			PostRenderers: []v1alpha1.PostRenderer{
				{Kustomize: &v1alpha1.KustomizePostRenderer{
					Patches: []v1alpha1.KustomizePatch{{
						Patch:  "{data: {color: red}}",
						Target: &v1alpha1.PatchTarget{Kind: "ConfigMap"},
					}},
				}},
				{Kustomize: &v1alpha1.KustomizePostRenderer{CommonMetadata: &v1alpha1.CommonMetadata{Labels: map[string]string{"team": "blue"}}}},
			},
		})
		rendered := func() (corev1.ConfigMap, error) {
			var found corev1.ConfigMap
			err := administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &found)
			return found, err
		}
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		found, err := rendered()
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Data).To(Equal(map[string]string{"level": "info", "color": "red"}))
		Expect(found.Labels).To(HaveKeyWithValue("team", "blue"))

		patch := func(text string) {
			GinkgoHelper()
			Expect(administrator.Patch(ctx, component, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
		}
		patch(`{"spec":{"postRenderers":[{"kustomize":{"patches":[{"target":{"kind":"ConfigMap"},"patch":"[{op: replace, path: /data/level, value: debug}]"}]}}]}}`)
		Eventually(func() (map[string]string, error) {
			found, err := rendered()
			return found.Data, err
		}).WithTimeout(soon).Should(Equal(map[string]string{"level": "debug"}))

		patch(`{"spec":{"postRenderers":[{"kustomize":{}},{"kustomize":{"patches":[{"patch":"[{op: remove, path: /data}]"}]}}]}}`)
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(Equal("Stalled GenerateFailed: spec.postRenderers[1].kustomize: patches[0]: " +
				"no target: JSON patch operations need a target that selects the objects to change"))
	}, SpecTimeout(time.Minute))
})
