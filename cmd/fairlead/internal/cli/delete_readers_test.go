package cli_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var _ = Describe("the deletion of a component that others read from", onCluster(func() {
	// reader creates a component that reads as edit says.
	reader := func(ctx context.Context, namespace, name string, edit func(*v1alpha1.ComponentSpec)) *v1alpha1.Component {
		GinkgoHelper()
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"a.yaml": "a: b"}}
		edit(&c.Spec)
		Expect(k8s.Create(ctx, c)).To(Succeed())
		return c
	}
	valuesFrom := func(kind metav1alpha1.ReferenceKind, name, export string) func(*v1alpha1.ComponentSpec) {
		return func(s *v1alpha1.ComponentSpec) {
			s.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: kind, Name: name, Export: export}}
		}
	}
	input := func(apiVersion, kind, name string) func(*v1alpha1.ComponentSpec) {
		return func(s *v1alpha1.ComponentSpec) {
			s.Inputs = []v1alpha1.Input{{Name: "a", Object: &v1alpha1.ObjectInput{
				APIVersion: apiVersion, Kind: kind,
				Name: name,
			}}}
		}
	}
	exists := func(ctx context.Context, namespace string) bool {
		GinkgoHelper()
		err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "shop"}, &v1alpha1.Component{})
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return !apierrors.IsNotFound(err)
	}
	// read creates a component with the dependents ConfigMap settings, Secret db and ServiceAccount builder.
	read := func(ctx context.Context) (namespace string) {
		GinkgoHelper()
		namespace = newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"a.yaml": "a: b"}}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		status := allReady()
		status.Inventory = append(inventory(ctx, namespace)[1:3], "/v1/ServiceAccount/"+namespace+"/builder u=1")
		report(ctx, c, status)
		return namespace
	}

	DescribeTable("is refused, and planned, with what they read", func(
		ctx SpecContext, edit func(*v1alpha1.ComponentSpec), reads string,
	) {
		namespace := read(ctx)
		reader(ctx, namespace, "web", edit)
		reader(ctx, namespace, "other", valuesFrom(metav1alpha1.ConfigMapReference, "unrelated", ""))
		text := "component.fairlead.io/web reads " + strings.ReplaceAll(reads, "NS", namespace)
		r := fairlead(ctx, namespace, "delete", "shop")
		Expect(r.Code).To(Equal(1))
		Expect(r.Err).
			To(Equal("fairlead: component.fairlead.io/shop is not deleted, and nothing was changed: other components " +
				"read from it (1): " + text + "; change or delete these first, or add --ignore-readers\n"))
		Expect(exists(ctx, namespace)).To(BeTrue())
		Expect(fairlead(ctx, namespace, "plan", "shop", "--delete").Out).To(ContainSubstring(
			"Other components read from this one, and lose what they read:\n  " + text + "\n"))
		Expect(fairlead(ctx, namespace, "plan", "shop", "--delete", "-o", "json").Out).To(ContainSubstring(
			`"component": "component.fairlead.io/web"`))
		Expect(fairlead(ctx, namespace, "delete", "shop", "--ignore-readers").Code).To(Equal(0))
		Expect(exists(ctx, namespace)).To(BeFalse())
	},
		Entry("an export", valuesFrom(metav1alpha1.ComponentReference, "shop", "url"), "export url"),
		Entry("a ConfigMap for values", valuesFrom(metav1alpha1.ConfigMapReference, "settings", ""), "ConfigMap NS/settings"),
		Entry("a Secret for values", valuesFrom(metav1alpha1.SecretReference, "db", ""), "Secret NS/db"),
		Entry("an input", input("v1", "ConfigMap", "settings"), "ConfigMap NS/settings"),
		Entry("the component as an input", input("fairlead.io/v1alpha1", "Component", "shop"), "the component as input a"),
		Entry("a service account", func(s *v1alpha1.ComponentSpec) { s.ServiceAccount = "builder" },
			"ServiceAccount NS/builder"),
		Entry("a source", func(s *v1alpha1.ComponentSpec) {
			s.Source = v1alpha1.Source{ConfigMap: &v1alpha1.ConfigMapSource{Name: "settings"}}
		}, "ConfigMap NS/settings"),
		Entry("a kubeconfig", func(s *v1alpha1.ComponentSpec) {
			s.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: "db"}}
		}, "Secret NS/db"),
	)

	It("is not refused because of components that are deleted, too, or that read from others", func(ctx SpecContext) {
		namespace := read(ctx)
		web := reader(ctx, namespace, "web", valuesFrom(metav1alpha1.ComponentReference, "shop", "url"))
		web.Finalizers = []string{"example.com/keep"}
		Expect(k8s.Update(ctx, web)).To(Succeed())
		Expect(k8s.Delete(ctx, web)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(k8s.Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`)))).
				To(Succeed())
		})
		reader(ctx, namespace, "other", valuesFrom(metav1alpha1.ComponentReference, "store", "url"))
		Expect(fairlead(ctx, namespace, "delete", "shop")).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(exists(ctx, namespace)).To(BeFalse())
	})

	It("is not refused because of an object that the deletion releases", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c := &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		c.Spec.Source.Inline = &v1alpha1.InlineSource{Files: map[string]string{"a.yaml": "a: b"}}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		status := allReady()
		status.Inventory = []string{
			"/v1/ConfigMap/" + namespace + "/settings u=1 dp=orphan",
			"/v1/Secret/" + namespace + "/db u=2 dp=orphan-on-delete",
		}
		report(ctx, c, status)
		reader(ctx, namespace, "web", valuesFrom(metav1alpha1.ConfigMapReference, "settings", ""))
		reader(ctx, namespace, "other", valuesFrom(metav1alpha1.SecretReference, "db", ""))
		Expect(fairlead(ctx, namespace, "plan", "shop", "--delete").Out).NotTo(ContainSubstring("read from this one"))
		Expect(fairlead(ctx, namespace, "delete", "shop")).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(exists(ctx, namespace)).To(BeFalse())
	})

	It("says in one line that the person may not list components", func(ctx SpecContext) {
		namespace := read(ctx)
		reader(ctx, namespace, "web", valuesFrom(metav1alpha1.ComponentReference, "shop", "url"))
		grantTo(ctx, namespace, "deleter", rbacv1.PolicyRule{
			APIGroups: []string{"fairlead.io"}, Resources: []string{"components"}, Verbs: []string{"get", "delete"},
		})
		Eventually(ctx, func() result {
			return fairlead(ctx, namespace, "delete", "shop", "--as=system:serviceaccount:"+namespace+":deleter")
		}).WithTimeout(20 * time.Second).Should(And(HaveField("Code", 0), HaveField("Err", ContainSubstring(
			"warning: not checked whether other components read from this one: components.fairlead.io is forbidden"))))
	})
}))
