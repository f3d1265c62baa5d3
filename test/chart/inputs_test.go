package chart_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// tiers is the definition of a type whose objects are inputs.
const tiers = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tiers.inputs.example.com}
spec:
  group: inputs.example.com
  names: {kind: Tier, plural: tiers}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// informed is a component with inputs of a built-in, a custom and a cluster-scoped type, a polled input, and calls.
type informed struct {
	namespace, team string
	// rate is the polled value.
	rate  atomic.Int64
	calls string
	tier  *unstructured.Unstructured
	// polled is the value of the flag --input for the polled input.
	polled string
}

func newInformed(ctx context.Context, namespace string) *informed {
	GinkgoHelper()
	i := &informed{namespace: newTenant(ctx, namespace), team: namespace + "-team"}
	i.rate.Store(1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w,
			i.rate.Load())
	}))
	DeferCleanup(server.Close)
	i.polled = "rate=" + filepath.Join(GinkgoT().TempDir(), "rate")
	Expect(os.WriteFile(i.polled[len("rate="):], []byte("1"), 0o600)).To(Succeed())

	definitions, err := manifests.Decode("tiers.yaml", []byte(tiers))
	Expect(err).NotTo(HaveOccurred())
	applyAll(ctx, definitions)
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   i.team,
		Labels: map[string]string{"stage": "one"},
	}})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.team, Name: "logging"}, Data: map[string]string{"level": "one"},
	})).To(Succeed())
	i.tier = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "inputs.example.com/v1", "kind": "Tier",
		"size": "one",
	}}
	i.tier.SetNamespace(i.team)
	i.tier.SetName("gold")
	Eventually(func() error { return admin.Create(ctx, i.tier) }).Should(Succeed())
	Expect(admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "caller"}, StringData: map[string]string{"value": "s3cret"},
	})).To(Succeed())
	source := v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: map[string]string{"all.yaml": "{apiVersion: v1, " +
		"kind: ConfigMap, metadata: {name: settings},\n" +
		"data: {all: '{{ .Values.inputs.logging.level }} {{ .Values.inputs.tier }} {{ .Values.inputs.stage }} {{ " +
		".Values.inputs.rate }}'}}"}}}
	createShop(ctx, namespace, v1alpha1.ComponentSpec{
		Source: source, Webhook: &v1alpha1.Webhook{SecretRef: v1alpha1.SecretKeyReference{Name: "caller"}},
		Inputs: []v1alpha1.Input{
			{Name: "logging", Object: &v1alpha1.ObjectInput{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: i.team,
				Name: "logging", Field: "data",
			}},
			{Name: "tier", Object: &v1alpha1.ObjectInput{
				APIVersion: "inputs.example.com/v1", Kind: "Tier", Namespace: i.team, Name: "gold", Field: "size",
			}},
			{Name: "stage", Object: &v1alpha1.ObjectInput{
				APIVersion: "v1", Kind: "Namespace", Name: i.team,
				Field: "metadata.labels.stage",
			}},
			{Name: "rate", Poll: &v1alpha1.PollInput{URL: server.URL, Interval: &metav1.Duration{Duration: time.Hour}}},
		},
	})
	return i
}

// operate runs the operator with the flags of the Deployment, and accepts calls.
func (i *informed) operate(ctx context.Context) {
	GinkgoHelper()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	i.calls = listener.Addr().String()
	Expect(listener.Close()).To(Succeed())
	launch(append(deployed(ctx), "--kubeconfig="+credentials(ctx), "--metrics-bind-address=0",
		"--health-probe-bind-address=0",
		"--poll-hosts=127.0.0.1", "--webhook-bind-address="+i.calls)...)
}

// call sends a signed call, and returns the status of the response; 0 if the operator does not listen yet.
func (i *informed) call(ctx context.Context) func() int {
	return func() int {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+i.calls+"/webhook/"+i.namespace+"/shop",
			bytes.NewBufferString("{}"))
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("X-Hub-Signature-256", eventsource.Sign([]byte("s3cret"), []byte("{}")))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		Expect(response.Body.Close()).To(Succeed())
		return response.StatusCode
	}
}

// change patches an object that is an input.
func change(ctx context.Context, o client.Object, patch string) {
	GinkgoHelper()
	Expect(admin.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// rendered returns the values of the inputs with which the component was rendered last.
func (i *informed) rendered(ctx context.Context) func() (string, error) {
	return func() (string, error) {
		settings := &corev1.ConfigMap{}
		err := admin.Get(ctx, client.ObjectKey{Namespace: i.namespace, Name: "settings"}, settings)
		return settings.Data["all"], err
	}
}

var _ = DescribeTable("a component follows its inputs with the roles that fairlead rbac prints, and each right on "+
	"inputs is necessary,", func(ctx SpecContext, scope string) {
	install(ctx, chart, "--set", "observe="+scope)
	DeferCleanup(func(ctx SpecContext) { helm(ctx, "uninstall", release, "--wait") }, NodeTimeout(time.Minute))
	i := newInformed(ctx, "informed-"+scope)
	i.operate(ctx)
	printed := fairlead(ctx, "rbac", "shop", "--namespace", i.namespace, "--input", i.polled, "--observe", scope, "--bind")
	roles, err := manifests.Decode("roles.yaml", []byte(printed))
	Expect(err).NotTo(HaveOccurred())
	// grant applies the roles without some rights, each a verb on a resource. Dependents keep theirs.
	grant := func(missing ...[2]string) {
		GinkgoHelper()
		var granted []*unstructured.Unstructured
		found := 0
		for _, role := range roles {
			role = role.DeepCopy()
			for _, right := range missing {
				ofDependents := right[0] == "configmaps" && role.GetNamespace() == i.namespace
				if !ofDependents && without(role, right[0], right[1]) {
					found++
				}
			}
			granted = append(granted, role)
		}
		Expect(found).To(Equal(len(missing)))
		applyAll(ctx, granted)
	}

	By("reading the inputs, but watching not all of them, and refusing calls")
	grant([2]string{"tiers", "watch"}, [2]string{"secrets", "get"})
	Eventually(details(ctx, i.namespace, "shop")).Should(And(HavePrefix("Ready Ready: "),
		ContainSubstring("looked-up tiers.inputs.example.com")))
	Expect(i.rendered(ctx)()).To(Equal("one one one 1"))
	Eventually(i.call(ctx)).Should(Equal(http.StatusUnauthorized))

	By("following the inputs with all rights")
	grant()
	Eventually(details(ctx, i.namespace, "shop")).Should(And(HavePrefix("Ready Ready: "),
		Not(ContainSubstring("watched"))))
	change(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: i.team, Name: "logging"}},
		`{"data":{"level":"two"}}`)
	Eventually(i.rendered(ctx)).Should(Equal("two one one 1"))
	change(ctx, i.tier, `{"size":"two"}`)
	Eventually(i.rendered(ctx)).Should(Equal("two two one 1"))
	change(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.team}}, `{"metadata":{"labels":{"stage":"two"}}}`)
	Eventually(i.rendered(ctx)).Should(Equal("two two two 1"))
	i.rate.Store(2)
	Eventually(i.call(ctx)).Should(Equal(http.StatusAccepted))
	Eventually(i.rendered(ctx)).Should(Equal("two two two 2"))

	for _, resource := range []string{"configmaps", "tiers", "namespaces"} {
		By("reading no " + resource)
		grant([2]string{resource, "get"})
		change(ctx, i.tier, `{"size":"without `+resource+`"}`)
		Eventually(status(ctx, i.namespace, "shop")).Should(And(HavePrefix("Stalled "),
			ContainSubstring(`cannot get resource "`+resource+`"`)))
		grant()
		Eventually(i.rendered(ctx)).Should(Equal("two without " + resource + " two 2"))
	}
},
	Entry("if the operator watches", "cluster", SpecTimeout(4*time.Minute)),
	Entry("if the account watches", "identity", SpecTimeout(4*time.Minute)),
)
