package cli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// largeShop returns a chart with a file of that many bytes, which cannot be compressed. Another seed is another file.
func largeShop(size int, seed byte) string {
	GinkgoHelper()
	dir := folder(shopTemplates()...)
	noise := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(noise)
	Expect(os.WriteFile(filepath.Join(dir, "logo.bin"), noise, 0o600)).To(Succeed())
	return dir
}

// archiveOf packs a folder as another tool would, with all files in a folder of that name, or in none.
func archiveOf(dir, top string) string {
	GinkgoHelper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	Expect(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(filepath.Join(top, strings.TrimPrefix(path, dir)))
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Size: int64(len(content)),
			Mode: 0o755,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})).To(Succeed())
	Expect(archive.Close()).To(Succeed())
	Expect(zipped.Close()).To(Succeed())
	place := filepath.Join(GinkgoT().TempDir(), "shop.tgz")
	Expect(os.WriteFile(place, packed.Bytes(), 0o600)).To(Succeed())
	return place
}

var _ = Describe("a large source", onCluster(func() {
	It("is in several ConfigMaps, and its operator needs only to read these", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := largeShop(2<<20, 1)
		roles := fairlead(ctx, namespace, "rbac", "shop", "--dir", dir, "--service-account", "shop", "--bind")
		Expect(roles.Code).To(Equal(0), roles.Err)
		objects, err := manifests.Decode("roles", []byte(roles.Out))
		Expect(err).NotTo(HaveOccurred())
		for _, o := range objects {
			Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, o))).To(Succeed())
		}
		account := &corev1.ServiceAccount{}
		account.Namespace, account.Name = namespace, "shop"
		Expect(k8s.Create(ctx, account)).To(Succeed())

		operate(namespace)
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--service-account", "shop", "--adopt", "--wait")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Out).To(MatchRegexp(`^adopting ServiceAccount ` + namespace +
			`/shop from .*\nconfigmap/shop-[0-9a-f]{12}-1 created\nconfigmap/shop-[0-9a-f]{12}-2 created\n` +
			`configmap/shop-[0-9a-f]{12}-3 created\ncomponent.fairlead.io/shop created\n`))
		c := shopIn(ctx, namespace)
		Expect(c.Spec.Source.ConfigMap).To(BeNil())
		Expect(c.Spec.Source.ConfigMaps.Names).To(HaveLen(3))
		Expect(c.Status.History).
			To(HaveExactElements(And(HaveField("Source", "ConfigMap "+c.Spec.Source.ConfigMaps.Names[0]+" and 2 more"),
				HaveField("SourceDigest", c.Spec.Source.ConfigMaps.SHA256))))
		for _, s := range sources(ctx, namespace) {
			Expect(s.OwnerReferences).To(HaveExactElements(HaveField("UID", c.UID)))
		}

		r = fairlead(ctx, namespace, "apply", "shop", dir)
		Expect(r).To(HaveField("Out", "component.fairlead.io/shop unchanged\n"))
		for _, args := range [][]string{{"plan", "shop"}, {"plan", "shop", dir}} {
			Expect(fairlead(ctx, namespace, args...).Out).To(ContainSubstring("nothing to do, 4 unchanged."))
		}
		Expect(fairlead(ctx, namespace, "diff", "shop", dir)).To(Equal(result{}))
		Expect(fairlead(ctx, namespace, "why", "configmap/settings").Out).To(ContainSubstring("templates/settings.yaml"))
		again := fairlead(ctx, namespace, "rbac", "shop", "--bind")
		Expect(again.Out).To(Equal(roles.Out))

		r = fairlead(ctx, namespace, "delete", "shop", "--wait")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(sources(ctx, namespace)).To(BeEmpty())
	})

	It("is replaced as a whole, and goes with the component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for _, dir := range []string{largeShop(1<<20, 1), largeShop(1<<20, 2), largeShop(10, 3)} {
			Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		}
		c := shopIn(ctx, namespace)
		Expect(c.Spec.Source.ConfigMaps).To(BeNil())
		Expect(sources(ctx, namespace)).To(ConsistOf(
			HaveField("Name", c.Spec.Source.ConfigMap.Name), HaveField("Name", HaveSuffix("-1")),
			HaveField("Name", HaveSuffix("-2"))))
	})

	It("is refused as long as a part is missing, and goes on when that is back", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := largeShop(1<<20, 1)
		Expect(fairlead(ctx, namespace, "apply", "shop", dir).Code).To(Equal(0))
		second := sources(ctx, namespace)[1]
		Expect(k8s.Delete(ctx, &second)).To(Succeed())
		operate(namespace)
		Eventually(ctx, func() string { return messageOf(ctx, namespace) }).
			Should(ContainSubstring("ConfigMap " + namespace + "/" + second.Name + " does not exist"))
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &corev1.ConfigMap{})).NotTo(Succeed())
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--wait")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Out).To(HavePrefix("configmap/" + second.Name + " created\ncomponent.fairlead.io/shop unchanged\n"))
	})

	It("is exported with all its parts", func(ctx SpecContext) {
		namespace, elsewhere := newNamespace(ctx), newNamespace(ctx)
		Expect(fairlead(ctx, namespace, "apply", "shop", largeShop(1<<20, 1)).Code).To(Equal(0))
		r := fairlead(ctx, namespace, "export", "shop")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		objects, err := manifests.Decode("bundle",
			[]byte(strings.ReplaceAll(r.Out, "namespace: "+namespace, "namespace: "+elsewhere)))
		Expect(err).NotTo(HaveOccurred())
		Expect(objects).To(HaveLen(3))
		for _, o := range objects {
			Expect(k8s.Create(ctx, o)).To(Succeed())
		}
		operate(elsewhere)
		Eventually(ctx, func() error {
			return k8s.Get(ctx, client.ObjectKey{Namespace: elsewhere, Name: "settings"}, &corev1.ConfigMap{})
		}).Should(Succeed())
	})

	It("may have 16 MiB", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := largeShop(4080<<10, 9)
		for i := range 3 {
			noise := make([]byte, 4080<<10)
			_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
			Expect(os.WriteFile(filepath.Join(dir, fmt.Sprintf("photo-%d.bin", i)), noise, 0o600)).To(Succeed())
		}
		operate(namespace)
		r := fairlead(ctx, namespace, "apply", "shop", dir, "--wait")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(sources(ctx, namespace)).To(HaveLen(22))
	})

	It("is refused before anything is written if the definition of Component is older", Serial, func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		withOlderDefinition(ctx)
		dir := largeShop(1<<20, 1)
		// The API server serves the changed definition after a moment.
		Eventually(ctx, func() string { return fairlead(ctx, newNamespace(ctx), "apply", "shop", dir).Err }).
			Should(ContainSubstring("upgrade the operator, or make the source smaller"))
		r := fairlead(ctx, namespace, "apply", "shop", dir)
		Expect(r.Code).To(Equal(1))
		Expect(sources(ctx, namespace)).To(BeEmpty())
		Expect(fairlead(ctx, namespace, "apply", "shop", largeShop(10, 1)).Code).To(Equal(0))
	})
}))

// messageOf returns the message of the condition Ready of the component "shop".
func messageOf(ctx context.Context, namespace string) string {
	GinkgoHelper()
	for _, condition := range shopIn(ctx, namespace).Status.Conditions {
		if condition.Type == metav1alpha1.ConditionReady {
			return condition.Message
		}
	}
	return ""
}

// withOlderDefinition takes sources of several ConfigMaps out of the definition of Component until the spec ends.
func withOlderDefinition(ctx context.Context) {
	GinkgoHelper()
	older := definitionOfComponent(ctx)
	now := older.Object["spec"]
	older.Object["spec"] = runtime.DeepCopyJSONValue(now)
	versions, _, err := unstructured.NestedSlice(older.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	version, _ := versions[0].(map[string]any)
	source := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "source"}
	unstructured.RemoveNestedField(version, append(source, "properties", "configMaps")...)
	Expect(unstructured.SetNestedSlice(version, []any{map[string]any{
		"rule":    "[has(self.inline), has(self.configMap), has(self.http)].filter(x, x).size() == 1",
		"message": "exactly one of inline, configMap and http must be set",
	}}, append(source, "x-kubernetes-validations")...)).To(Succeed())
	Expect(unstructured.SetNestedSlice(older.Object, versions, "spec", "versions")).To(Succeed())
	Expect(k8s.Update(ctx, older)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		newer := definitionOfComponent(ctx)
		newer.Object["spec"] = now
		Expect(k8s.Update(ctx, newer)).To(Succeed())
	})
}

func definitionOfComponent(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	Expect(k8s.Get(ctx, client.ObjectKey{Name: "components.fairlead.io"}, definition)).To(Succeed())
	return definition
}

var _ = Describe("an archive", onCluster(func() {
	It("is applied, planned and compared as the folder with its files", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		dir := folder(shopTemplates()...)
		archive := archiveOf(dir, "")
		plan := fairlead(ctx, namespace, "plan", "shop", archive)
		Expect(plan.Code).To(Equal(0), plan.Err)
		Expect(plan).To(Equal(fairlead(ctx, namespace, "plan", "shop", dir)))
		operate(namespace)
		r := fairlead(ctx, namespace, "apply", "shop", archive, "--wait")
		Expect(r.Code).To(Equal(0), r.Err)
		before := shopIn(ctx, namespace)
		r = fairlead(ctx, namespace, "apply", "shop", dir)
		Expect(r).To(Equal(result{Out: "component.fairlead.io/shop unchanged\n"}))
		Expect(shopIn(ctx, namespace).Spec).To(Equal(before.Spec))
		Expect(fairlead(ctx, namespace, "diff", "shop", archive)).To(Equal(result{}))
		Expect(fairlead(ctx, namespace, "diff", "shop", archive, "--set", "color=green").Code).To(Equal(1))
	})

	It("may have all files in one folder, as a packed chart has", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		applied(ctx, namespace, archiveOf(folder(shopTemplates()...), "shop"))
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "settings"}, &corev1.ConfigMap{})).To(Succeed())
	})

	It("of helm package is the same source as the folder of the chart", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		dir := folder(shopTemplates()...)
		chart := filepath.Join(dir, "Chart.yaml")
		text := string(must(os.ReadFile(chart)))
		packed := archiveOf(dir, "shop")
		Expect(os.WriteFile(chart, []byte("# The shop.\nkeywords: []\n"+text), 0o600)).To(Succeed())
		for _, places := range [][]string{{dir, packed}, {packed, dir}} {
			applied(ctx, namespace, places[0])
			before := shopIn(ctx, namespace)
			Expect(fairlead(ctx, namespace, "apply", "shop", places[1])).
				To(Equal(result{Out: "component.fairlead.io/shop unchanged\n"}))
			Expect(fairlead(ctx, namespace, "diff", "shop", places[1])).To(Equal(result{}))
			Expect(shopIn(ctx, namespace).Spec).To(Equal(before.Spec))
			Expect(fairlead(ctx, namespace, "delete", "shop", "--wait")).To(HaveField("Code", 0))
		}

		By("changing a file that .helmignore leaves out")
		Expect(os.WriteFile(filepath.Join(dir, ".helmignore"), []byte("*.md\n"), 0o600)).To(Succeed())
		applied(ctx, namespace, dir)
		before := shopIn(ctx, namespace)
		Expect(os.WriteFile(filepath.Join(dir, "README.md"), []byte("About the shop.\n"), 0o600)).To(Succeed())
		Expect(fairlead(ctx, namespace, "apply", "shop", dir)).
			To(Equal(result{Out: "component.fairlead.io/shop unchanged\n"}))
		Expect(fairlead(ctx, namespace, "diff", "shop", dir)).To(Equal(result{}))
		Expect(shopIn(ctx, namespace).Spec).To(Equal(before.Spec))

		By("applying a packed chart that differs")
		Expect(os.WriteFile(chart, []byte(strings.Replace(text, "1.0.0", "1.0.1", 1)), 0o600)).To(Succeed())
		Expect(fairlead(ctx, namespace, "apply", "shop", archiveOf(dir, "shop")).Out).To(ContainSubstring("updated"))
		Expect(shopIn(ctx, namespace).Spec.Source).NotTo(Equal(before.Spec.Source))
	})

	DescribeTable("is bad input if it is none", func(ctx SpecContext, command string) {
		place := filepath.Join(folder("shop.tgz", "kind: Pod"), "shop.tgz")
		r := fairlead(ctx, "default", command, "shop", place)
		Expect(r.Code).To(Equal(2))
		Expect(r.Err).To(MatchRegexp(regexp.QuoteMeta(`fairlead: archive "` + place + `": not a .tgz archive`)))
	}, Entry("for apply", "apply"), Entry("for plan", "plan"), Entry("for diff", "diff"))
}))
