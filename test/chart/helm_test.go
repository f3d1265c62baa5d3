package chart_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	helmgenerator "github.com/fairlead-io/fairlead/pkg/generator/helm"
)

var chart = filepath.Join(root, "config", "chart")

// previousChart returns a copy of the chart with the definition of an earlier version, in which the spec of components
// has no field suspend.
func previousChart() string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	Expect(os.CopyFS(folder, os.DirFS(chart))).To(Succeed())
	path := filepath.Join(folder, "files", "crd.yaml")
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	previous := strings.ReplaceAll(string(content), "suspend:", "halt:")
	Expect(previous).NotTo(Equal(string(content)))
	Expect(os.WriteFile(path, []byte(previous), 0o600)).To(Succeed())
	return folder
}

// suspendable returns a function that reports whether the API server stores the field suspend.
func suspendable(ctx context.Context) func() (bool, error) {
	return func() (bool, error) {
		c := &v1alpha1.Component{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "probe"},
			Spec:       v1alpha1.ComponentSpec{SuspendSpec: metav1alpha1.SuspendSpec{Suspend: true}, Source: oneConfigMap()},
		}
		err := admin.Create(ctx, c, client.DryRunAll)
		return c.Spec.Suspend, err
	}
}

// oneConfigMap is a source with a single dependent, the ConfigMap settings.
func oneConfigMap() v1alpha1.Source {
	const manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"
	return v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{"all.yaml": manifest}}}
}

// absent returns a function that fails while the object exists, and prints the object.
func absent(ctx context.Context, o client.Object) func() error {
	return func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return client.IgnoreNotFound(err)
		}
		o.SetManagedFields(nil)
		text, err := json.Marshal(o)
		return errors.Join(fmt.Errorf("%T %s still exists: %s", o, o.GetName(), text), err)
	}
}

var _ = Describe("Helm", Ordered, func() {
	AfterAll(func(ctx SpecContext) {
		_, _ = run(ctx, filepath.Join(root, "bin", "helm"), "uninstall", release, "--namespace", system)
	}, NodeTimeout(time.Minute))

	It("the API server accepts all objects that the chart renders for each test case", func(ctx SpecContext) {
		cases, err := filepath.Glob(filepath.Join(root, "config", "testdata", "chart", "*", "expected.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(cases)).To(BeNumerically(">", 4))
		for _, namespace := range []string{"platform-system", "shop", "warehouse"} {
			Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: restricted}})).
				To(Succeed())
		}
		generator, err := helmgenerator.New(os.DirFS(chart), helmgenerator.Options{AnnotationPrefix: "fairlead.io"})
		Expect(err).NotTo(HaveOccurred())
		for _, expected := range cases {
			request, err := generatortest.ReadRequest(filepath.Join(filepath.Dir(expected), "request.yaml"))
			Expect(err).NotTo(HaveOccurred())
			asked := request.Generator()
			asked.Capabilities.Version = version.Info{GitVersion: "v1.36.3"}
			objects, err := generator.Generate(ctx, asked)
			Expect(err).NotTo(HaveOccurred())
			for _, object := range objects {
				expectAdmitted(ctx, expected, object)
			}
		}
	}, SpecTimeout(2*time.Minute))

	It("the chart installs the operator into a namespace that enforces restricted pods", func(ctx SpecContext) {
		notes := install(ctx, previousChart(), "--set", "replicas=2")
		Expect(notes).
			To(ContainSubstring("the operator impersonates the service account fairlead in the component's namespace"))
		Eventually(func() (int32, error) {
			deployment := &appsv1.Deployment{}
			err := admin.Get(ctx, client.ObjectKey{Namespace: system, Name: release}, deployment)
			return deployment.Status.AvailableReplicas, err
		}).Should(Equal(int32(2)))
		Eventually(suspendable(ctx)).Should(BeFalse(),
			"the definition of components has the field suspend, which the earlier version of the chart lacks")
	}, SpecTimeout(time.Minute))

	It("an upgrade of the chart upgrades the definition of components", func(ctx SpecContext) {
		helm(ctx, "upgrade", release, chart)
		Eventually(suspendable(ctx)).Should(BeTrue())
	}, SpecTimeout(time.Minute))

	It("an uninstallation of the chart keeps the definition and the components, and a new installation "+
		"takes them over", func(ctx SpecContext) {
		kept := &v1alpha1.Component{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kept"},
			Spec:       v1alpha1.ComponentSpec{Source: oneConfigMap()},
		}
		Expect(admin.Create(ctx, kept)).To(Succeed())
		helm(ctx, "uninstall", release, "--wait")
		Expect(absent(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: release}})()).
			To(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(kept), kept)).To(Succeed())

		helm(ctx, "install", release, chart) // no flags are necessary, because the release has the same name
		Expect(admin.Delete(ctx, kept)).To(Succeed())
	}, SpecTimeout(2*time.Minute))
})

// expectAdmitted sends an object as a dry run. For a Deployment it also sends a pod. It skips objects of the Prometheus
// operator.
func expectAdmitted(ctx context.Context, from string, object client.Object) {
	GinkgoHelper()
	data, ok := object.(*unstructured.Unstructured)
	Expect(ok).To(BeTrue())
	if data.GroupVersionKind().Group == "monitoring.coreos.com" {
		return
	}
	about := from + ": " + data.GetKind() + " " + data.GetName()
	err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(data), client.DryRunAll, client.ForceOwnership,
		client.FieldOwner("test"))
	Expect(err).NotTo(HaveOccurred(), about)
	template, found, err := unstructured.NestedMap(data.Object, "spec", "template")
	Expect(err).NotTo(HaveOccurred())
	if !found {
		return
	}
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetNamespace(data.GetNamespace())
	pod.SetName("probe")
	// The service account of the pod does not exist yet, so the pod uses the default service account.
	Expect(unstructured.SetNestedField(pod.Object, "default", "spec", "serviceAccountName")).To(Succeed())
	Expect(admin.Create(ctx, pod, client.DryRunAll)).To(Succeed(), about)
}
