package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// sources returns the ConfigMaps with sources in a namespace.
func sources(ctx context.Context, namespace string) []corev1.ConfigMap {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace), client.HasLabels{"fairlead.io/source-of"})).To(Succeed())
	return list.Items
}

func valuesOf(c *v1alpha1.Component) string {
	if c.Spec.Values == nil {
		return ""
	}
	return string(c.Spec.Values.Raw)
}

var _ = Describe("apply", onCluster(func() {
	It("creates an immutable source, and a component that refers to it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder(shopTemplates()...)
		Expect(k8s.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "builder"}})).
			To(Succeed())
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--set", "replicas=3,image.tag=v1", "--target-name", "store",
			"--generator=helm", "--service-account=builder")
		Expect(r.Err).To(Equal("warning: nothing in the source reads the value image; is it misspelt?\n"))
		Expect(r.Code).To(Equal(0))

		maps := sources(ctx, namespace)
		Expect(maps).To(HaveLen(1))
		c := shopIn(ctx, namespace)
		Expect(r.Out).To(Equal(fmt.Sprintf("configmap/%s created\ncomponent.fairlead.io/shop created\n", maps[0].Name)))
		Expect(maps[0].Name).To(MatchRegexp("^shop-[0-9a-f]{12}$"))
		Expect(maps[0].Immutable).To(HaveValue(BeTrue()))
		Expect(maps[0].OwnerReferences).To(HaveExactElements(And(HaveField("UID", c.UID), HaveField("Kind", "Component"))))
		content, err := source.Unpack(maps[0].BinaryData["source.tgz"], source.Limits{})
		Expect(err).NotTo(HaveOccurred())
		Expect(source.Digest(content)).To(Equal(must(source.Digest(os.DirFS(dir)))))

		Expect(c.Spec.Source.ConfigMap).To(HaveValue(HaveField("Name", maps[0].Name)))
		Expect(c.Spec.TargetName).To(Equal("store"))
		Expect(c.Spec.ServiceAccount).To(Equal("builder"))
		Expect(c.Spec.Generator).To(Equal(v1alpha1.GeneratorName("Helm")))
		Expect(valuesOf(c)).To(MatchJSON(`{"replicas": 3, "image": {"tag": "v1"}}`))
		Expect(c.ManagedFields).To(ContainElement(HaveField("Manager", "fairlead-cli")))
	})

	It("writes nothing if nothing changed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("web.yaml", "# a pod")
		Expect(fairlead(ctx, namespace, "apply", "shop", dir, "--set", "a=1").Code).To(Equal(0))
		before := len(requests(ctx, namespace, "components", "configmaps").Writes())
		for _, args := range [][]string{{}, {"--set", "a=1"}} {
			r := fairlead(ctx, namespace, append([]string{"apply", "shop", dir}, args...)...)
			Expect(r).To(Equal(result{Out: "component.fairlead.io/shop unchanged\n"}))
		}
		Expect(requests(ctx, namespace, "components", "configmaps").Writes()).To(HaveLen(before))
	})

	It("changes source and values in one write, and keeps fields of other clients", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "shop",
			Labels: map[string]string{"team": "a"},
		}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"old.yaml": "kind: Pod"}}
		c.Spec.Values = &runtime.RawExtension{Raw: []byte(`{"old": true}`)}
		c.Spec.Suspend, c.Spec.Path, c.Spec.TargetName = true, "old", "store"
		Expect(k8s.Create(ctx, c)).To(Succeed())

		values := filepath.Join(folder("v.yaml", "new: [1, 2]\nabsent: null\n"), "v.yaml")
		r := fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "# a pod"), "-f", values, "--path", "",
			"--target-name=store")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Out).To(HaveSuffix("component.fairlead.io/shop updated\n"))

		after := shopIn(ctx, namespace)
		Expect(requests(ctx, namespace, "components").Writes()).To(HaveExactElements(HaveField("Verb", "update")))
		Expect(after.Generation).To(Equal(c.Generation + 1))
		Expect(after.Spec.Source.Inline).To(BeNil())
		Expect(after.Spec.Source.ConfigMap).To(HaveValue(HaveField("Name", sources(ctx, namespace)[0].Name)))
		Expect(valuesOf(after)).To(MatchJSON(`{"new": [1, 2], "absent": null}`),
			"the given values must replace all previous values")
		Expect(after.Spec.Path).To(BeEmpty())
		Expect(after.Spec.TargetName).To(Equal("store"))
		Expect(after.Spec.Suspend).To(BeTrue())
		Expect(after.Labels).To(HaveKeyWithValue("team", "a"))

		Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "# a job")).Code).To(Equal(0))
		Expect(valuesOf(shopIn(ctx, namespace))).To(MatchJSON(valuesOf(after)), "the values were changed")
	})

	It("keeps the current and the previous source, and both are deleted with the component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		var names []string
		for _, content := range []string{"# 1", "# 2", "# 3", "# 1"} {
			Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", content)).Code).To(Equal(0))
			names = append(names, shopIn(ctx, namespace).Spec.Source.ConfigMap.Name)
			var kept []string
			for _, s := range sources(ctx, namespace) {
				kept = append(kept, s.Name)
				Expect(s.OwnerReferences).To(HaveExactElements(HaveField("UID", shopIn(ctx, namespace).UID)))
			}
			Expect(kept).To(ConsistOf(names[max(0, len(names)-2):]))
		}
		Expect(names[3]).To(Equal(names[0]))
		Expect(fairlead(ctx, namespace, "apply", "store", folder("web.yaml", "# 1")).Code).To(Equal(0))
		Expect(sources(ctx, namespace)).To(HaveLen(3),
			"the sources of the component and the source of another component must exist")
	})

	It("keeps the source of the last revision that was Ready after any number of later revisions", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", "# good")).Code).To(Equal(0))
		c := shopIn(ctx, namespace)
		good := c.Spec.Source.ConfigMap.Name
		report(ctx, c, metav1alpha1.Status{History: []metav1alpha1.RevisionRecord{
			{Revision: 2, Source: "ConfigMap another", Started: metav1.Now(), Outcome: metav1alpha1.RevisionFailed},
			{Revision: 1, Source: c.SourceName(), Started: metav1.Now(), Outcome: metav1alpha1.RevisionReady},
		}})
		for _, content := range []string{"# bad", "# worse", "# worst"} {
			Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", content)).Code).To(Equal(0))
			Expect(sources(ctx, namespace)).To(ContainElement(HaveField("Name", good)))
		}
		Expect(sources(ctx, namespace)).To(HaveLen(3), "only the last ready, the current and the previous source must exist")
	})

	It("creates a source again if its owner is an earlier component that was deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder("web.yaml", "# a pod")
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		doomed := sources(ctx, namespace)[0].UID
		Expect(fairlead(ctx, namespace, "delete", "shop", "--wait").Code).To(Equal(0))
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		Expect(sources(ctx, namespace)).NotTo(ContainElement(HaveField("UID", doomed)))
		c := shopIn(ctx, namespace)
		Expect(sources(ctx, namespace)).To(HaveExactElements(HaveField("OwnerReferences",
			HaveExactElements(HaveField("UID", c.UID)))))
	})

	It("reads values from stdin only with the file name -", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", ""), "-f", "-")).To(HaveField("Code", 0))
		Expect(valuesOf(shopIn(ctx, namespace))).To(Equal("{}"))
	})

	It("refuses to write while the component is being deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := held(ctx, namespace, "shop")
		Expect(k8s.Delete(ctx, c)).To(Succeed())
		r := fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", ""))
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).To(Equal("fairlead: component.fairlead.io/shop is being deleted; apply it again after its deletion; " +
			"fairlead status -n " + namespace + " shop shows what it waits for\n"))
		Expect(sources(ctx, namespace)).To(BeEmpty())

		r = fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", ""), "--service-account=other")
		Expect(r.Code).To(Equal(1))
		command, change, found := strings.Cut(strings.TrimSuffix(r.Err, "'\n"), "'")
		Expect(found).To(BeTrue())
		Expect(command).
			To(HaveSuffix("shows what it waits for; to delete its dependents as another service account: kubectl -n " +
				namespace +
				" patch component.fairlead.io/shop --type=merge -p "))
		Expect(k8s.Patch(ctx, c, client.RawPatch("application/merge-patch+json", []byte(change)))).To(Succeed())
		Expect(shopIn(ctx, namespace).Spec.ServiceAccount).To(Equal("other"))
	})

	It("warns of a missing service account, and applies the folder", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		r := fairlead(ctx, namespace, "apply", "shop", folder("web.yaml", ""), "--service-account=nobody")
		Expect(r.Code).To(Equal(0))
		Expect(r.Err).To(Equal(`warning: service account "nobody" does not exist in namespace "` + namespace +
			`"; requests of component.fairlead.io/shop as this account may be refused` + "\n"))
		Expect(shopIn(ctx, namespace).Spec.ServiceAccount).To(Equal("nobody"))
	})

	It("reports a namespace that does not exist", func(ctx SpecContext) {
		r := fairlead(ctx, "nowhere", "apply", "shop", folder("web.yaml", ""))
		Expect(r).To(Equal(result{Code: 1, Err: "fairlead: namespace \"nowhere\" does not exist; create it first\n"}))
	})
}))

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// held creates a component with a finalizer, which an operator would have set.
func held(ctx context.Context, namespace, name string) *v1alpha1.Component {
	GinkgoHelper()
	c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Finalizers: []string{"fairlead.io/finalizer"},
	}}
	c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"web.yaml": ""}}
	Expect(k8s.Create(ctx, c)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { release(ctx, c) })
	return c
}

// release removes the finalizers of a component.
func release(ctx context.Context, c *v1alpha1.Component) {
	GinkgoHelper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`))
	Expect(client.IgnoreNotFound(k8s.Patch(ctx, c.DeepCopy(), patch))).To(Succeed())
}
