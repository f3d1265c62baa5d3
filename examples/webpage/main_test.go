package main

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestElements(t *testing.T) {
	for text, want := range map[string]string{
		"<h1>Hello</h1><br><p>World</p>": "br h1 p",
		"<!doctype html><b>x</b>":        "b",
		"<h1>Hello":                      "spec.html: <h1> is not closed; add </h1>",
		"<b><i>x</b></i>":                "spec.html: </b> closes no open element; remove it, or add <b>",
	} {
		elements, err := elementsOf(text)
		got := strings.Join(elements, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestTheReportNamesWhatIsThereAndWhatIsWrong(t *testing.T) {
	content := []*corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "hello"}}}
	exposed := func(address networkingv1.IngressLoadBalancerIngress) *networkingv1.Ingress {
		return &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: "hello"},
			Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
				Ingress: []networkingv1.IngressLoadBalancerIngress{address},
			}},
		}
	}
	done := component.PassResult{Outcome: result.Outcome{Desired: 3, Ready: 3}}
	waits := component.PassResult{Outcome: result.Outcome{Desired: 3, Ready: 2, Waiting: make([]result.Waiting, 1)}}
	prunes := component.PassResult{Outcome: result.Outcome{Desired: 3, Ready: 3, Waiting: make([]result.Waiting, 1)}}
	conflict := component.PassResult{Outcome: result.Outcome{Desired: 3, Ready: 2}}
	invalid := component.PassResult{Failure: &component.PassError{Reason: "InvalidSpec", Message: "spec.html: bad"}}
	failed := waits
	failed.Failure = &component.PassError{Message: "a dependent failed"}
	for name, c := range map[string]struct {
		contents []*corev1.ConfigMap
		ingress  *networkingv1.Ingress
		pass     component.PassResult
		want     PageReport
	}{
		"a page that is served": {content, nil, done, PageReport{HTMLConfigMap: "hello", AreWeGood: true}},
		"a page with an address": {
			content, exposed(networkingv1.IngressLoadBalancerIngress{IP: "192.0.2.7"}), done,
			PageReport{HTMLConfigMap: "hello", AreWeGood: true, URL: "http://192.0.2.7/hello"},
		},
		"a page with the name of a host": {
			content, exposed(networkingv1.IngressLoadBalancerIngress{IP: "192.0.2.7", Hostname: "example.com"}), done,
			PageReport{HTMLConfigMap: "hello", AreWeGood: true, URL: "http://example.com/hello"},
		},
		"an Ingress without an address": {
			content, &networkingv1.Ingress{}, done, PageReport{HTMLConfigMap: "hello", AreWeGood: true},
		},
		"a dependent that is not ready":      {content, nil, waits, PageReport{HTMLConfigMap: "hello"}},
		"an Ingress that is not deleted yet": {content, nil, prunes, PageReport{HTMLConfigMap: "hello"}},
		"a dependent with a repair conflict": {content, nil, conflict, PageReport{HTMLConfigMap: "hello"}},
		"a page that was never valid":        {nil, nil, invalid, PageReport{ErrorMessage: "spec.html: bad"}},
		"a page with a mistake that is served": {
			content, nil, invalid, PageReport{HTMLConfigMap: "hello", ErrorMessage: "spec.html: bad"},
		},
		"a dependent that failed": {
			content, nil, failed, PageReport{HTMLConfigMap: "hello", ErrorMessage: "a dependent failed"},
		},
	} {
		if got := reportOf(c.contents, c.ingress, c.pass); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAPageIsServedCheckedAndExposed(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	cluster := testcluster.StartFor(t, testcluster.Options{Nodes: 1})
	mgr, err := newManager(cluster.Config(), ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	k8s, err := client.New(cluster.Config(), client.Options{Scheme: mgr.GetScheme()})
	g.Expect(err).NotTo(HaveOccurred())
	definition, err := manifests.Decode("crd.yaml", crd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k8s.Create(t.Context(), definition[0])).To(Succeed())
	g.Eventually(func() error { return k8s.List(t.Context(), &WebPageList{}) }).Should(Succeed())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		g.Expect(<-ended).To(Succeed())
	}()

	page := &WebPage{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}, Spec: WebPageSpec{
		HTML: "<h1>Hello", Exposed: true,
	}}
	g.Expect(k8s.Create(ctx, page)).To(Succeed())
	ready := func() string {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(page), page)).To(Succeed())
		c := meta.FindStatusCondition(page.Status.Conditions, "Ready")
		if c == nil || c.ObservedGeneration != page.Generation {
			return ""
		}
		return string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	change := func(spec string) {
		g.Expect(k8s.Patch(ctx, page, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`)))).To(Succeed())
	}
	hasIngress := func() bool {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(page), &networkingv1.Ingress{})
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		return !apierrors.IsNotFound(err)
	}
	report := func() PageReport {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(page), page)).To(Succeed())
		return page.Status.PageReport
	}
	const mistake = "spec.html: <h1> is not closed; add </h1>"

	t.Log("a mistake is in the condition and in the report, until it is mended")
	g.Eventually(ready).Should(ContainSubstring("InvalidSpec: " + mistake))
	g.Expect(report()).To(Equal(PageReport{ErrorMessage: mistake}))
	change(`{"html":"<h1>Hello</h1><script>x</script>"}`)
	g.Eventually(ready).Should(Equal("True Ready: 4 dependents are ready"))
	g.Expect(report()).To(Equal(PageReport{HTMLConfigMap: "hello", AreWeGood: true}))
	g.Expect(hasIngress()).To(BeTrue())

	t.Log("the address of the Ingress is in the report")
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
	g.Expect(k8s.Status().Patch(ctx, ingress, client.RawPatch(
		types.MergePatchType, []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"}]}}}`)))).To(Succeed())
	good := PageReport{HTMLConfigMap: "hello", URL: "http://192.0.2.7/hello", AreWeGood: true}
	g.Eventually(report).Should(Equal(good))
	g.Expect(ready()).To(Equal("True Ready: 4 dependents are ready"))

	t.Log("a schema of the namespace refuses an element, also of a page that exists")
	schema := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: schemaName}, Data: map[string]string{"elements": "h1 p"},
	}
	g.Expect(k8s.Create(ctx, schema)).To(Succeed())
	g.Eventually(ready).Should(ContainSubstring("GenerateFailed: spec.html: the schema does not allow <script>"))
	g.Expect(hasIngress()).To(BeTrue(), "a page that is refused stays as it is")
	g.Expect(report()).To(And(
		HaveField("ErrorMessage", ContainSubstring("does not allow <script>")), HaveField("AreWeGood", false),
		HaveField("HTMLConfigMap", "hello"), HaveField("URL", good.URL)))
	schema.Data["elements"] = "h1 p script"
	g.Expect(k8s.Update(ctx, schema)).To(Succeed())
	g.Eventually(ready).Should(HavePrefix("True Ready"))
	g.Expect(report()).To(Equal(good))

	t.Log("a page that gets a mistake keeps its dependents")
	change(`{"html":"<h1>Hello"}`)
	g.Eventually(ready).Should(ContainSubstring("InvalidSpec: " + mistake))
	g.Expect(report()).To(Equal(PageReport{HTMLConfigMap: "hello", URL: good.URL, ErrorMessage: mistake}))

	t.Log("a page that is no longer exposed loses its Ingress, although the new pods are refused")
	enforce := func(level string) {
		g.Expect(k8s.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, client.RawPatch(
			types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":`+level+`}}}`)))).
			To(Succeed())
	}
	enforce(`"restricted"`)
	change(`{"html":"<h1>Hello again</h1>","exposed":false}`)
	g.Eventually(hasIngress).Should(BeFalse())
	g.Eventually(report).Should(And(HaveField("URL", BeEmpty()), HaveField("AreWeGood", false)))
	g.Expect(ready()).NotTo(HavePrefix("True"))
	enforce("null")
	change(`{"html":"<h1>Hello again!</h1>"}`)
	g.Eventually(ready).Should(Equal("True Ready: 3 dependents are ready"))
	g.Expect(report()).To(Equal(PageReport{HTMLConfigMap: "hello", AreWeGood: true}))
	var content corev1.ConfigMap
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(page), &content)).To(Succeed())
	g.Expect(content.Data).To(HaveKeyWithValue("index.html", "<h1>Hello again!</h1>"))

	t.Log("a dependent that belongs to somebody else is named until it is deleted")
	helm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "hello-2", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations: map[string]string{"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "default"},
	}}
	g.Expect(k8s.Create(ctx, helm)).To(Succeed())
	second := &WebPage{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello-2"}, Spec: WebPageSpec{HTML: "<h1>Hello</h1>"},
	}
	g.Expect(k8s.Create(ctx, second)).To(Succeed())
	reportOfSecond := func() PageReport {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
		return second.Status.PageReport
	}
	g.Eventually(reportOfSecond).Should(And(HaveField("HTMLConfigMap", BeEmpty()), HaveField("AreWeGood", false),
		HaveField("ErrorMessage", ContainSubstring("ConfigMap default/hello-2"))))
	g.Expect(k8s.Delete(ctx, helm)).To(Succeed())
	g.Eventually(reportOfSecond).Should(Equal(PageReport{HTMLConfigMap: "hello-2", AreWeGood: true}))

	g.Expect(k8s.Delete(ctx, second)).To(Succeed())
	g.Expect(k8s.Delete(ctx, page)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(page), page)) &&
			apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(second), second))
	}).Should(BeTrue())
}
