package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestToolMarks(t *testing.T) {
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: shop, name: web"
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:web'"
	service := "apiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: web"
	for _, c := range []struct {
		name, object string
		want         ToolMarks
	}{
		{"an object without labels and annotations has no mark", deployment + "}", ToolMarks{}},
		{
			"the label managed-by alone is no mark, because charts set it",
			deployment + `, labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: web, ` +
				`argocd.argoproj.io/instance: web}}`,
			ToolMarks{},
		},
		{
			"an object of a Helm release",
			deployment + `, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, ` +
				`meta.helm.sh/release-namespace: shop}}`,
			ToolMarks{
				By: "the Helm release shop/web", Labels: []string{"app.kubernetes.io/managed-by"},
				Annotations: []string{"meta.helm.sh/release-name", "meta.helm.sh/release-namespace"},
			},
		},
		{
			"the label managed-by of another tool is not part of Helm's mark",
			deployment + `, labels: {app.kubernetes.io/managed-by: us}, annotations: {meta.helm.sh/release-name: web}}`,
			ToolMarks{By: "the Helm release web", Annotations: []string{"meta.helm.sh/release-name"}},
		},
		{
			"an object that Helm keeps may outlive its release",
			deployment + `, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop, ` +
				`helm.sh/resource-policy: keep}}`,
			ToolMarks{
				By: "the Helm release shop/web (which keeps it when it is uninstalled, so the release may not exist any more)",
				Annotations: []string{
					"meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
				},
			},
		},
		{
			"an object that Helm keeps and that names no release has no mark",
			deployment + `, annotations: {helm.sh/resource-policy: keep}}`,
			ToolMarks{},
		},
		{
			"the tracking id of Argo CD that names the object",
			deployment + `, annotations: {argocd.argoproj.io/tracking-id: "cart:apps/Deployment:shop/web"}}`,
			ToolMarks{By: "the Argo CD application cart", Annotations: []string{"argocd.argoproj.io/tracking-id"}},
		},
		{
			"the tracking id of an object without a group, and of an application in another namespace",
			service + `, annotations: {argocd.argoproj.io/tracking-id: "team_cart:/Service:shop/web"}}`,
			ToolMarks{By: "the Argo CD application team/cart", Annotations: []string{"argocd.argoproj.io/tracking-id"}},
		},
		{
			"the tracking id of a cluster-scoped object has the namespace of the destination",
			role + `, annotations: {argocd.argoproj.io/tracking-id: ` +
				`"cart:rbac.authorization.k8s.io/ClusterRole:shop/system:web"}}`,
			ToolMarks{By: "the Argo CD application cart", Annotations: []string{"argocd.argoproj.io/tracking-id"}},
		},
		{
			"the tracking id in a copy names the original object",
			deployment + `, annotations: {argocd.argoproj.io/tracking-id: "cart:apps/Deployment:shop/original"}}`,
			ToolMarks{},
		},
		{
			"the tracking id in a copy in another namespace names the original object",
			deployment + `, annotations: {argocd.argoproj.io/tracking-id: "cart:apps/Deployment:test/web"}}`,
			ToolMarks{},
		},
		{
			"a tracking id that cannot be read is no mark",
			deployment + `, annotations: {argocd.argoproj.io/tracking-id: cart}}`,
			ToolMarks{},
		},
		{
			"the identity of kapp that names the object",
			deployment + `, labels: {kapp.k14s.io/app: "17", kapp.k14s.io/association: v1.a}, ` +
				`annotations: {kapp.k14s.io/identity: "v1;shop/apps/Deployment/web;apps/v1"}}`,
			ToolMarks{
				By:          "the kapp application with the label kapp.k14s.io/app=17",
				Labels:      []string{"kapp.k14s.io/app", "kapp.k14s.io/association"},
				Annotations: []string{"kapp.k14s.io/identity"},
			},
		},
		{
			"the identity of kapp in a copy names the original object",
			deployment + `, annotations: {kapp.k14s.io/identity: "v1;shop/apps/Deployment/original;apps/v1"}}`,
			ToolMarks{},
		},
		{
			"the labels of a Flux Kustomization",
			deployment +
				`, labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}}`,
			ToolMarks{
				By:     "the Flux Kustomization flux-system/apps",
				Labels: []string{"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"},
			},
		},
		{
			"an object of a HelmRelease of Flux has the marks of Flux and of Helm",
			deployment + `, labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: shop}, ` +
				`annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}}`,
			ToolMarks{
				By:          "the Helm release shop/web and the Flux HelmRelease shop/web",
				Labels:      []string{"helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"},
				Annotations: []string{"meta.helm.sh/release-name", "meta.helm.sh/release-namespace"},
			},
		},
		{
			"a name that Kubernetes does not permit is quoted",
			deployment + `, annotations: {meta.helm.sh/release-name: "web\e[31m"}}`,
			ToolMarks{By: `the Helm release "web\x1b[31m"`, Annotations: []string{"meta.helm.sh/release-name"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(c.object), &obj.Object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ToolMarksOf(obj)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
