package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
		patch(
			`{"spec":{"postRenderers":[{"kustomize":{"patches":[{"target":{"kind":"ConfigMap"},"patch":"[{op: replace, path: /data/level, value: debug}]"}]}}]}}`)
		Eventually(func() (map[string]string, error) {
			found, err := rendered()
			return found.Data, err
		}).WithTimeout(soon).Should(Equal(map[string]string{"level": "debug"}))

		patch(
			`{"spec":{"postRenderers":[{"kustomize":{}},{"kustomize":{"patches":[{"patch":"[{op: remove, path: /data}]"}]}}]}}`)
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(Equal("Stalled GenerateFailed: spec.postRenderers[1].kustomize: patches[0]: " +
				"no target: JSON patch operations need a target that selects the objects to change"))
	}, SpecTimeout(time.Minute))

	It("order the objects of a chart, and bind them to the status of each other", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		chart := v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{
			"Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}",
			"templates/db.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: db}\n" +
				"spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 5432}]}\n",
			"templates/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n" +
				"data: {host: localhost, token: {{ randAlphaNum 16 | quote }}}\n",
			"templates/after.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: after}}\n",
		}}}
		annotate := func(apiVersion, kind, name, annotation, more string) v1alpha1.KustomizePatch {
			return v1alpha1.KustomizePatch{Patch: "apiVersion: " + apiVersion + "\nkind: " + kind +
				"\nmetadata: {name: " + name +
				", annotations: {" + annotation + "}}\n" + more}
		}
		export := annotate("v1", "Service", "db", `fairlead.io/export: "dbHost=self.status.loadBalancer.ingress[0].ip"`, "")
		bind := annotate("v1", "ConfigMap", "web", `fairlead.io/bind: "true"`, `data: {host: "${{ dbHost }}"}`)
		order := annotate("v1", "ConfigMap", "after", `fairlead.io/depends-on: "ConfigMap web"`, "")
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: chart, PostRenderers: []v1alpha1.PostRenderer{
				{Kustomize: &v1alpha1.KustomizePostRenderer{Patches: []v1alpha1.KustomizePatch{export, bind}}},
				{Kustomize: &v1alpha1.KustomizePostRenderer{Patches: []v1alpha1.KustomizePatch{order}}},
			},
		})
		values := func(name string) func() (map[string]string, error) {
			return func() (map[string]string, error) {
				var found corev1.ConfigMap
				err := administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &found)
				return found.Data, err
			}
		}
		assign := func(ip string) {
			GinkgoHelper()
			db := &corev1.Service{}
			Expect(administrator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "db"}, db)).To(Succeed())
			db.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
			Expect(administrator.Status().Update(ctx, db)).To(Succeed())
		}
		Eventually(status(ctx, component)).WithTimeout(soon).
			Should(ContainSubstring("export dbHost of Service " + namespace + "/db"))
		for _, name := range []string{"web", "after"} {
			_, err := values(name)()
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s must wait for the address: %v", name, err)
		}
		assign("10.0.0.1")
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		web, err := values("web")()
		Expect(err).NotTo(HaveOccurred())
		Expect(web).To(HaveKeyWithValue("host", "10.0.0.1"))
		_, err = values("after")()
		Expect(err).NotTo(HaveOccurred())

		assign("10.0.0.2")
		Eventually(values("web")).WithTimeout(soon).
			Should(Equal(map[string]string{"host": "10.0.0.2", "token": web["token"]}))

		By("removing the patch that exports the address")
		change(ctx, component, func(s *v1alpha1.ComponentSpec) {
			s.PostRenderers[0].Kustomize.Patches = []v1alpha1.KustomizePatch{bind}
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(And(HavePrefix("Stalled "), ContainSubstring("dbHost")))
		Expect(values("web")()).To(HaveKeyWithValue("host", "10.0.0.2"))

		By("removing the patches")
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.PostRenderers = nil })
		Eventually(values("web")).WithTimeout(soon).Should(HaveKeyWithValue("host", "localhost"))
	}, SpecTimeout(time.Minute))
})
