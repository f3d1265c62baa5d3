package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// operatorLabel is a label with the name of the operator that serves a gadget. With it several operators can share the
// cluster and the type.
const operatorLabel = "operator"

// operatorOptions are the differences of a spec's operator from the operator of the suite.
type operatorOptions struct {
	// generate is the generator; gadget.Generate by default.
	generate generator.Generator
	// component are the options of the reconciler. The update policy is ssa-override by default.
	component component.Options
	// hooks are the hooks of the reconciler. built receives the reconciler before it starts.
	hooks component.Hooks[*gadget.Gadget]
	built func(*component.Reconciler[*gadget.Gadget])
	// extend extends the builder of the controller.
	extend func(*builder.Builder) *builder.Builder
	// transport wraps the transport of the operator's requests.
	transport func(http.RoundTripper) http.RoundTripper
	// user is the identity of the operator; the administrator by default.
	user *rest.Config
	// newCache creates the manager's cache; cache.New by default.
	newCache cache.NewCacheFunc
	// noUserAgent leaves the user agent of the operator's configuration empty.
	noUserAgent bool
}

// userAgent returns the user agent of an operator's requests, which distinguishes them from the requests of the specs.
func userAgent(name string) string { return "operator/" + name }

// runOperator runs an operator until the spec or the suite ends, or until stop is called. The operator serves the
// gadgets that have its label.
func runOperator(name string, o operatorOptions) (stop func()) {
	GinkgoHelper()
	return start(newManager(name, o))
}

// start runs a manager until the spec or the suite ends, or until stop is called.
func start(mgr ctrl.Manager) (stop func()) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	stop = func() {
		cancel()
		<-done
	}
	DeferCleanup(stop)
	return stop
}

func newManager(name string, o operatorOptions) ctrl.Manager {
	GinkgoHelper()
	config := cluster.Config()
	if o.user != nil {
		config = rest.CopyConfig(o.user)
	}
	if !o.noUserAgent {
		config.UserAgent = userAgent(name)
	}
	if o.transport != nil {
		config.Wrap(o.transport)
	}
	if o.generate == nil {
		o.generate = gadget.Generate
	}
	if o.component.Dependents.Policies.Update == "" {
		o.component.Dependents.Policies.Update = metav1alpha1.UpdateSSAOverride
	}
	o.component.SkipNameValidation = true
	scheme, err := gadget.Scheme()
	Expect(err).NotTo(HaveOccurred())
	watched := o.component.Cache()
	watched.ByObject = map[client.Object]cache.ByObject{
		&gadget.Gadget{}: {Label: labels.SelectorFromSet(labels.Set{operatorLabel: name})},
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(5 * time.Second), Cache: watched, NewCache: o.newCache,
	})
	Expect(err).NotTo(HaveOccurred())
	reconciler := component.NewReconciler[*gadget.Gadget](name, o.generate, o.component).WithHooks(o.hooks)
	if o.built != nil {
		o.built(reconciler)
	}
	if o.extend == nil {
		Expect(reconciler.SetupWithManager(mgr)).To(Succeed())
	} else {
		Expect(reconciler.SetupWithManagerAndBuilder(mgr, o.extend)).To(Succeed())
	}
	return mgr
}

// newOperatorName returns an operator name that no other spec uses.
func newOperatorName() string {
	return fmt.Sprintf("op-%d.test.fairlead.io", sequence.Add(1))
}

// servedBy labels a gadget for an operator other than the operator of the suite.
func servedBy(operator string) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) { g.Labels = map[string]string{operatorLabel: operator} }
}

// reconciles and activeWorkers are metrics of controller-runtime: the passes of all controllers, by controller and
// result, and the workers of each controller that are making a pass. To gather all metrics instead would take longer
// with each operator that a spec starts, and specs ask often.
var (
	reconciles = sync.OnceValue(func() *prometheus.CounterVec {
		return registered(prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "controller_runtime_reconcile_total", Help: "Total number of reconciliations per controller",
		}, []string{"controller", "result"}))
	})
	activeWorkers = sync.OnceValue(func() *prometheus.GaugeVec {
		return registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "controller_runtime_active_workers", Help: "Number of currently used workers per controller",
		}, []string{"controller"}))
	})
)

// registered returns the metric of controller-runtime that is equal to a metric.
func registered[T prometheus.Collector](equal T) T {
	var registered prometheus.AlreadyRegisteredError
	Expect(errors.As(metrics.Registry.Register(equal), &registered)).To(BeTrue(), "controller-runtime has no such metric")
	existing, ok := registered.ExistingCollector.(T)
	Expect(ok).To(BeTrue())
	return existing
}

// passes returns the number of passes that an operator has completed.
func passes(operator string) int {
	GinkgoHelper()
	total := 0.0
	for _, result := range []string{"success", "error", "requeue", "requeue_after"} {
		var metric dto.Metric
		Expect(reconciles().WithLabelValues("gadget."+operator, result).Write(&metric)).To(Succeed())
		total += metric.GetCounter().GetValue()
	}
	return int(total)
}

// isMakingPass reports whether an operator is making a pass.
func isMakingPass(operator string) bool {
	GinkgoHelper()
	var metric dto.Metric
	Expect(activeWorkers().WithLabelValues("gadget." + operator).Write(&metric)).To(Succeed())
	return metric.GetGauge().GetValue() > 0
}

// settle waits until an operator has made no pass for a while. Then all effects of its last writes have arrived.
func settle(ctx context.Context, operator string) {
	GinkgoHelper()
	last, since := passes(operator), time.Now()
	Eventually(ctx, func() bool {
		if now := passes(operator); now != last || isMakingPass(operator) {
			last, since = now, time.Now()
		}
		return time.Since(since) > 200*time.Millisecond
	}).Should(BeTrue(), "the operator still makes passes")
}

// runAgain runs an operator that ran before, and waits until its first passes have ended.
func runAgain(ctx context.Context, operator string) {
	GinkgoHelper()
	before := passes(operator)
	runOperator(operator, operatorOptions{})
	Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
	settle(ctx, operator)
}

// settleAlone waits like settle, and also until a change of a definition by an earlier spec can no longer start a pass.
func settleAlone(ctx context.Context, operator string) {
	GinkgoHelper()
	awaitDefinitions(ctx)
	settle(ctx, operator)
}

// awaitDefinitions waits until all operators know the definitions. An operator reads discovery one second after a
// change of a definition, and again four seconds later.
func awaitDefinitions(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() testcluster.Events {
		changes := auditEvents(ctx).Writes().Resource("customresourcedefinitions", "apiservices")
		return changes.Where(func(e testcluster.Event) bool { return time.Since(e.Answered) < 7*time.Second })
	}).WithPolling(500 * time.Millisecond).Should(BeEmpty())
}

// requestPass requests a pass and waits until a pass has ended.
func requestPass(ctx context.Context, g *gadget.Gadget, operator string) {
	GinkgoHelper()
	before := passes(operator)
	patch(ctx, current(ctx, g), fmt.Sprintf(`{"metadata":{"annotations":{"%s/%s":"%d"}}}`,
		operator, metav1alpha1.AnnotationReconcileRequested, sequence.Add(1)))
	Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
}

// auditMark is a position in the audit log.
type auditMark int

// markAudit returns the current end of the audit log.
func markAudit(ctx context.Context) auditMark {
	GinkgoHelper()
	return auditMark(len(auditEvents(ctx)))
}

func auditEvents(ctx context.Context) testcluster.Events {
	GinkgoHelper()
	events, err := cluster.AuditEvents(ctx)
	Expect(err).NotTo(HaveOccurred())
	return events
}

// requestsSince returns an operator's requests since a position in the audit log. It excludes leases, lists and
// watches, events, and discovery, because the specs do not count them.
func requestsSince(ctx context.Context, mark auditMark, operator string) testcluster.Events {
	GinkgoHelper()
	return auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Where(func(e testcluster.Event) bool {
		return e.Resource != "" && e.Resource != "leases" && e.Resource != "events" && e.Verb != "list" && e.Verb != "watch"
	})
}

// inNamespace returns the requests to objects in a namespace.
func inNamespace(events testcluster.Events, namespace string) testcluster.Events {
	return events.Where(func(e testcluster.Event) bool { return e.Namespace == namespace })
}

// writes returns an operator's writes in a namespace since the audit log began.
func writes(ctx context.Context, operator, namespace string) testcluster.Events {
	GinkgoHelper()
	return inNamespace(requestsSince(ctx, 0, operator), namespace).Writes()
}

// succeeded returns the requests that succeeded.
func succeeded(events testcluster.Events) testcluster.Events {
	return events.Where(func(e testcluster.Event) bool { return e.Code < 300 })
}

// verbs returns requests as "verb resource code", for messages and comparisons.
func verbs(events testcluster.Events) []string {
	texts := make([]string, 0, len(events))
	for _, e := range events {
		resource := e.Resource
		if e.Subresource != "" {
			resource += "/" + e.Subresource
		}
		texts = append(texts, fmt.Sprintf("%s %s %d", e.Verb, resource, e.Code))
	}
	return texts
}

// errCrashed is the error of requests after the crash of an operator.
var errCrashed = errors.New("the operator has crashed")

// crash fails all requests of an operator after some of them, as if the process had been killed.
type crash struct {
	// counts reports which requests are counted.
	counts func(*http.Request) bool
	// after is the number of counted requests that succeed.
	after int64
	// unanswered is set if one more request reaches the API server and its response is lost.
	unanswered bool

	count atomic.Int64
	// failing is set at the crash, and crashed when the API server has also carried out the request without a response.
	failing, crashed atomic.Bool
}

func (c *crash) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if c.failing.Load() || c.crashed.Load() {
			return nil, errCrashed
		}
		if c.counts(r) {
			switch n := c.count.Add(1); {
			case n > c.after:
				// The request without a response, if there is one, sets crashed itself.
				if !c.unanswered || c.after == 0 {
					c.crashed.Store(true)
				}
				return nil, errCrashed
			case n == c.after && c.unanswered:
				c.failing.Store(true)
				if answer, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context()))); err == nil {
					_ = answer.Body.Close()
				}
				c.crashed.Store(true)
				return nil, errCrashed
			}
			// A write that was sent is not cancelled, so that the audit log contains it.
			r = r.WithContext(context.WithoutCancel(r.Context()))
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// writesTo returns a function that matches the write requests to a resource in a namespace.
func writesTo(namespace, resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/"+resource)
	}
}

// succeededNot reports whether the API server refused a request.
func succeededNot(e testcluster.Event) bool { return e.Code >= 300 }

// refusal answers matching requests with an error while it is on.
type refusal struct {
	path, method string
	// code is the HTTP status; http.StatusForbidden by default.
	code int
	on   atomic.Bool
}

func (f *refusal) wrap(next http.RoundTripper) http.RoundTripper {
	code, reason := http.StatusForbidden, metav1.StatusReasonForbidden
	if f.code != 0 {
		code, reason = f.code, metav1.StatusReasonUnknown
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !f.on.Load() || r.Method != f.method || r.URL.Path != "/api/v1"+f.path {
			return next.RoundTrip(r)
		}
		status := fmt.Sprintf(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"not today","code":%d}`, reason, code)
		return &http.Response{
			StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Proto: "HTTP/1.1", ProtoMajor: 1,
			ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)),
		}, nil
	})
}

// seconds returns a duration for an API field.
func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// named matches the requests to objects with a name.
func named(name string) func(testcluster.Event) bool {
	return func(e testcluster.Event) bool { return e.Name == name }
}

// milliseconds returns a duration for an API field.
func milliseconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Millisecond}
}
