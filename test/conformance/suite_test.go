package conformance_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	ginkgotypes "github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/repeat"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// operatorName is the name of the reconciler that serves most specs.
const operatorName = "gadgets.test.fairlead.io"

// slow is the label of specs that take long alone or together: crashes at each moment, large inventories, components of
// previous versions, load, and long waits. They run if a flag of ginkgo selects them, or with the build tag slow.
var slow = Label("slow")

var (
	cluster  *testcluster.Cluster
	k8s      client.Client
	sequence atomic.Int64
)

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	defer share(t)()
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	repeat.Specs(t, "Conformance", func(suite *ginkgotypes.SuiteConfig, report *ginkgotypes.ReporterConfig) {
		if !hasGinkgoFlags(os.Args[1:]) {
			suite.LabelFilter = labelFilter
		}
		report.NoColor = true // The output of several processes is combined in a log.
	})
}

var _ = BeforeSuite(func(ctx SpecContext) {
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	cluster = testcluster.StartFor(GinkgoTB(), testcluster.Options{Nodes: 1, Audit: true})
	scheme, err := gadget.Scheme()
	Expect(err).NotTo(HaveOccurred())
	k8s, err = client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	create(ctx, string(gadget.CRD))
	Eventually(ctx, func() error { return k8s.List(ctx, &gadget.GadgetList{}) }).Should(Succeed())
	runOperator(operatorName, operatorOptions{})
})

// newNamespace creates a namespace for a spec.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name := fmt.Sprintf("spec-%d", sequence.Add(1))
	Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

// newGadget creates a gadget with manifests. The suite's operator serves the gadget, unless an edit changes its label.
func newGadget(ctx context.Context, namespace, name, text string, edits ...func(*gadget.Gadget)) *gadget.Gadget {
	GinkgoHelper()
	g := &gadget.Gadget{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{operatorLabel: operatorName},
		},
		Spec: gadget.GadgetSpec{Manifests: text},
	}
	for _, edit := range edits {
		edit(g)
	}
	Expect(k8s.Create(ctx, g)).To(Succeed())
	return g
}

// change updates a gadget, and repeats the update if the operator wrote in between.
func change(ctx context.Context, g *gadget.Gadget, edit func(*gadget.Gadget)) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		edit(g)
		return k8s.Update(ctx, g)
	}).Should(Succeed())
}

// current reads a gadget.
func current(ctx context.Context, g *gadget.Gadget) *gadget.Gadget {
	GinkgoHelper()
	found := &gadget.Gadget{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(g), found)).To(Succeed())
	return found
}

// condition returns a condition of the current generation as "Status Reason: Message".
func condition(g *gadget.Gadget, kind string) string {
	c := meta.FindStatusCondition(g.Status.Conditions, kind)
	if c == nil || c.ObservedGeneration != g.Generation {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// expectCondition waits until a condition of the current generation contains a text or satisfies a matcher.
func expectCondition(ctx context.Context, g *gadget.Gadget, kind string, want any) {
	GinkgoHelper()
	matcher, ok := want.(gomegatypes.GomegaMatcher)
	if !ok {
		matcher = ContainSubstring(fmt.Sprint(want))
	}
	Eventually(ctx, func() string { return condition(current(ctx, g), kind) }).Should(matcher)
}

func expectReady(ctx context.Context, g *gadget.Gadget) {
	GinkgoHelper()
	expectCondition(ctx, g, metav1alpha1.ConditionReady, "True Ready")
}

// create creates objects from YAML.
func create(ctx context.Context, text string) []*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := manifests.Decode("test", []byte(text))
	Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		Expect(k8s.Create(ctx, o)).To(Succeed())
	}
	return objects
}

// get reads an object, and returns the error of the API server.
func get(ctx context.Context, apiVersion, kind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	return o, k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
}

// mustGet reads an object that must exist.
func mustGet(ctx context.Context, apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	GinkgoHelper()
	o, err := get(ctx, apiVersion, kind, namespace, name)
	Expect(err).NotTo(HaveOccurred())
	return o
}

// configMapExists reports whether a ConfigMap exists.
func configMapExists(ctx context.Context, namespace, name string) bool {
	_, err := get(ctx, "v1", "ConfigMap", namespace, name)
	return err == nil
}

// configMaps renders n ConfigMaps, named from a prefix, with annotations as "key: value" lines.
func configMaps(prefix string, n int, value string, annotations ...string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s-%d\n  annotations: {%s}\n"+
			"data: {value: %q}\n",
			prefix, i, strings.Join(annotations, ", "), value)
	}
	return b.String()
}

// setting returns an annotation with a setting of the suite's operator.
func setting(name, value string) string { return fmt.Sprintf("%s/%s: %q", operatorName, name, value) }

// patch changes an object by a JSON merge patch, like a user with kubectl.
func patch(ctx context.Context, o client.Object, text string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

// remove deletes an object.
func remove(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(k8s.Delete(ctx, o)).To(Succeed())
}

// expectNotFound waits until an object does not exist.
func expectNotFound(ctx context.Context, o client.Object) {
	GinkgoHelper()
	o, ok := o.DeepCopyObject().(client.Object)
	Expect(ok).To(BeTrue())
	Eventually(ctx, func() error {
		return k8s.Get(ctx, client.ObjectKeyFromObject(o),
			o)
	}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

// changeManifests replaces the manifests of a gadget.
func changeManifests(ctx context.Context, g *gadget.Gadget, text string) {
	GinkgoHelper()
	change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests = text })
}

// newConfigMap returns an empty ConfigMap.
func newConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// countConfigMaps counts the ConfigMaps in a namespace, except the ConfigMap that Kubernetes creates.
func countConfigMaps(ctx context.Context, namespace string) int {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return len(slices.DeleteFunc(list.Items, func(c corev1.ConfigMap) bool { return c.Name == "kube-root-ca.crt" }))
}
