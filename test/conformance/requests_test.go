package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Requests of an operator:", func() {
	It("the id of the cluster is read once, although several components need the id at "+
		"the same time", func(ctx SpecContext) {
		const workers = 8
		namespace, operator := newNamespace(ctx), newOperatorName()
		mark := markAudit(ctx)
		var begun atomic.Int64
		var gadgets []*gadget.Gadget
		for i := range 16 {
			name := fmt.Sprintf("app-%d", i)
			gadgets = append(gadgets, newGadget(ctx, namespace, name, configMap(name, "a"), servedBy(operator)))
		}
		o := operatorOptions{component: component.Options{
			Limits: component.Limits{MaxConcurrentReconciles: workers},
		}, transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if path.Base(r.URL.Path) == metav1.NamespaceSystem {
					defer GinkgoRecover()
					// The response is delayed until the other workers need it too.
					Eventually(ctx, begun.Load).Should(BeNumerically(">=", workers))
				}
				return next.RoundTrip(r)
			})
		}}
		o.hooks.PostRead = func(context.Context, *gadget.Gadget, component.DependentReader) error { begun.Add(1); return nil }
		runOperator(operator, o)
		for _, g := range gadgets {
			expectReady(ctx, g)
		}
		Expect(requestsSince(ctx, mark, operator).Resource("namespaces").Verb("get")).To(HaveLen(1))
	})

	It("an operator without a user agent in its configuration uses the default user agent "+
		"of client-go", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{noUserAgent: true})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		requests := inNamespace(auditEvents(ctx)[mark:], namespace)
		Expect(requests.UserAgent(rest.DefaultKubernetesUserAgent()).Resource("configmaps").Writes()).NotTo(BeEmpty())
		Expect(requests.UserAgent("Go-http-client")).To(BeEmpty())
	})

	It("a dependent that was just applied is not read, although its controller writes the status of the "+
		"dependent at once", func(ctx SpecContext) {
		if !cluster.HasControllers {
			Skip("no controller manager")
		}
		namespace, operator := newNamespace(ctx), newOperatorName()
		// rolledOut waits until the controller of Deployments has written the status.
		rolledOut := func(name string) error {
			return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 10*time.Second,
				true, func(ctx context.Context) (bool, error) {
					d := &appsv1.Deployment{}
					err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, d)
					return d.Status.ObservedGeneration > 0, err
				})
		}
		isWrite := writesTo(namespace, "deployments")
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				if err == nil && isWrite(r) {
					err = rolledOut(path.Base(r.URL.Path))
				}
				return answer, err
			})
		}})
		var all []string
		for i := range 8 {
			all = append(all, deployment(fmt.Sprintf("app-%d", i)))
		}
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(all...), servedBy(operator))
		expectReady(ctx, g)
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("deployments").Verb("get")).To(BeEmpty())
	})
})
