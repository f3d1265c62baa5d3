package cli_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var _ = Describe("export", onCluster(func() {
	// exportable applies a chart whose component takes values from a ConfigMap and a Secret.
	exportable := func(ctx SpecContext) (namespace string) {
		GinkgoHelper()
		namespace = newNamespace(ctx)
		more := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "more"},
			Data:       map[string]string{"values.yaml": "replicas: 3"},
		}
		login := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "values"},
			StringData: map[string]string{"values.yaml": "color: hidden"},
		}
		Expect(k8s.Create(ctx, more)).To(Succeed())
		Expect(k8s.Create(ctx, login)).To(Succeed())
		Expect(fairlead(ctx, namespace, "apply", "shop", folder(shopTemplates()...)).Code).To(Equal(0))
		c := shopIn(ctx, namespace)
		c.Labels = map[string]string{"team": "a"}
		c.Spec.ValuesFrom = []metav1alpha1.ValuesReference{
			{Kind: "ConfigMap", Name: "more"},
			{Kind: "Secret", Name: "values"},
		}
		Expect(k8s.Update(ctx, c)).To(Succeed())
		return namespace
	}

	It("permits the copy of a component to take over nothing", func(ctx SpecContext) {
		namespace := exportable(ctx)
		c := shopIn(ctx, namespace)
		c.Spec.Adopt = []metav1alpha1.AdoptRule{{Kind: "ConfigMap", Name: "theirs"}}
		Expect(k8s.Update(ctx, c)).To(Succeed())
		Expect(fairlead(ctx, namespace, "export", "shop").Out).To(ContainSubstring("\n  adopt: []\n"))
	})

	It("prints the objects that create the same component in another namespace, without Secrets", func(ctx SpecContext) {
		namespace := exportable(ctx)
		r := fairlead(ctx, namespace, "export", "shop")
		Expect(r.Code).To(Equal(0))
		Expect(r.Err).To(Equal("warning: Secret " + namespace +
			"/values is not included; create it in the other cluster, or export with --with-secrets\n"))
		Expect(r.Out).NotTo(ContainSubstring("hidden"))
		Expect(r.Out).To(ContainSubstring("#   kubectl -n "+namespace+" delete configmap "+shopIn(ctx, namespace).
			Spec.Source.ConfigMap.Name+"\n"),
			"the ConfigMap has no owner reference to its component")
		Expect(strings.Count(r.Out, "#   kubectl")).To(Equal(1),
			"want one kubectl command: ConfigMaps with values need no command")

		elsewhere := newNamespace(ctx)
		objects, err := manifests.Decode("bundle",
			[]byte(strings.ReplaceAll(r.Out, "namespace: "+namespace, "namespace: "+elsewhere)))
		Expect(err).NotTo(HaveOccurred())
		for _, o := range objects {
			Expect(o.GetUID()).To(BeEmpty())
			Expect(k8s.Create(ctx, o)).To(Succeed())
		}
		Expect(objects).To(HaveLen(3))
		before, after := shopIn(ctx, namespace), shopIn(ctx, elsewhere)
		Expect(after.Spec).To(Equal(before.Spec))
		Expect(after.Labels).To(Equal(before.Labels))
		Expect(sources(ctx, elsewhere)[0].BinaryData).To(Equal(sources(ctx, namespace)[0].BinaryData))

		login := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "values"},
			StringData: map[string]string{"values.yaml": "color: hidden"},
		}
		Expect(k8s.Create(ctx, login)).To(Succeed())
		operate(elsewhere)
		Eventually(ctx, func() error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: elsewhere, Name: "settings"}, &corev1.ConfigMap{})
		}).Should(Succeed(), "the operator did not reconcile the copy of the component")
	})

	It("refuses a format as the value of -o", func(ctx SpecContext) {
		Expect(run(ctx, "fairlead", "export", "shop", "-o", "json")).To(And(
			HaveField("Code", 2), HaveField("Err", ContainSubstring(`--output "json": want a file or folder`)),
		))
	})

	It("writes files, Secrets only with --with-secrets, and overwrites no file", func(ctx SpecContext) {
		namespace := exportable(ctx)
		dir := filepath.Join(GinkgoT().TempDir(), "bundle") + "/"
		r := fairlead(ctx, namespace, "export", "shop", "-o", dir, "--with-secrets")
		Expect(r.Err).To(Equal("warning: the output contains Secrets: protect the output in the same way\n"))
		files := strings.Fields(r.Out)
		Expect(files).To(HaveLen(4))
		for _, file := range files {
			info, err := os.Stat(file)
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
		}
		r = fairlead(ctx, namespace, "export", "shop", "-o", dir)
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(ContainSubstring("exists; choose another file"))
		Expect(fairlead(ctx, namespace, "export", "none").Code).To(Equal(1))
	})
}))
