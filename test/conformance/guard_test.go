package conformance_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// guardPath is the path of requests that write guards (admission policies). probePath is the path of the dry runs that
// test whether a guard is in effect.
const (
	guardPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
	probePath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// guardsOf lists the existing guards of an operator.
func guardsOf(ctx context.Context, operator string) []string {
	GinkgoHelper()
	var names []string
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: "admissionregistration.k8s.io", Version: "v1",
			Kind: kind + "List",
		})
		Expect(k8s.List(ctx, list)).To(Succeed())
		for _, o := range list.Items {
			if _, ours := o.GetLabels()[operator+"/guard-of"]; ours {
				names = append(names, kind+" "+o.GetName())
			}
		}
	}
	return names
}

// meddler answers matching requests in place of the API server while the field on is set.
type meddler struct {
	matches func(*http.Request) bool
	code    int
	reason  string
	on      atomic.Bool
	count   atomic.Int64
}

func (m *meddler) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !m.on.Load() || !m.matches(r) {
			return next.RoundTrip(r)
		}
		m.count.Add(1)
		status := fmt.Sprintf(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"not today","code":%d}`,
			m.reason, m.code)
		return &http.Response{
			StatusCode: m.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)),
		}, nil
	})
}

func isProbe(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == probePath }

var _ = Describe("The admission guard of a definition that is about to be deleted:", func() {
	var namespace, group, operator string
	var g *gadget.Gadget

	BeforeEach(func() { operator, group = newOperatorName(), newGroup() })
	start := func(ctx context.Context, o operatorOptions) (stop func()) {
		GinkgoHelper()
		namespace = newNamespace(ctx)
		stop = runOperator(operator, o)
		g = newGadget(ctx, namespace, "app", together(widgetDefinition(group), configMap("settings", "a")),
			servedBy(operator), retrySoon)
		expectReady(ctx, g)
		return stop
	}
	newWidget := func(ctx context.Context, options ...client.CreateOption) error {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Widget",
			"spec": map[string]any{"size": int64(1)},
		}}
		o.SetNamespace(namespace)
		o.SetGenerateName("theirs-")
		return k8s.Create(ctx, o, options...)
	}

	It("a definition is deleted while an admission guard refuses new instances, and then the guard is "+
		"removed completely", func(ctx SpecContext) {
		start(ctx, operatorOptions{})
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(guardsOf(ctx, operator)).To(BeEmpty())
		requests := requestsSince(ctx, mark, operator).Where(func(e testcluster.Event) bool {
			return strings.HasPrefix(e.Resource, "validating") || e.Resource == "customresourcedefinitions" && e.Verb != "get"
		})
		texts := verbs(requests)
		GinkgoWriter.Printf("%d requests: %v\n", len(requestsSince(ctx, mark, operator)),
			verbs(requestsSince(ctx, mark, operator)))
		// The first deletion of the definition is a dry run.
		Expect(texts[:3]).To(Equal([]string{
			"delete customresourcedefinitions 200", "patch validatingadmissionpolicies 201",
			"patch validatingadmissionpolicybindings 201",
		}))
		// The garbage collector may remove the guard before the operator does.
		Expect(texts[len(texts)-4:]).To(HaveExactElements("create customresourcedefinitions 403",
			"delete customresourcedefinitions 200",
			HavePrefix("delete validatingadmissionpolicybindings"), HavePrefix("delete validatingadmissionpolicies")))
		others := verbs(requestsSince(ctx, mark, operator).Where(func(e testcluster.Event) bool {
			return !slices.Contains(requests, e)
		}))
		// The deletion is confirmed by a read until the watch of definitions shows it. The watch may be late.
		const confirmed = "get customresourcedefinitions 404"
		Expect(others).To(ContainElement(confirmed))
		others = slices.DeleteFunc(others, func(text string) bool { return text == confirmed })
		Expect(others).To(ConsistOf("delete configmaps 200",
			"update gadgets/status 200", "update gadgets/status 200", "update gadgets/status 200", "patch gadgets 200"))
	})

	It("a definition is not deleted while it is unknown whether its admission guard is in effect, and the condition "+
		"contains the reason", func(ctx SpecContext) {
		broken := &meddler{matches: isProbe, code: http.StatusInternalServerError, reason: "InternalError"}
		broken.on.Store(true)
		start(ctx, operatorOptions{transport: broken.wrap})
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(ContainSubstring("widgets."+group),
				ContainSubstring("admission policy against new instances could not be set up or tested: not today")))
		// The API server enforces a guard a moment after it is created. An instance that is created before would block the
		// deletion.
		Eventually(ctx, func() error { return newWidget(ctx, client.DryRunAll) }).
			Should(MatchError(ContainSubstring("is about to be deleted by "+operator)),
				"the guard did not refuse a new instance")
		mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)
		broken.on.Store(false)
		expectNotFound(ctx, g)
		Expect(guardsOf(ctx, operator)).To(BeEmpty())
	})

	It("the admission guard of a definition is removed when the definition is rendered again", func(ctx SpecContext) {
		broken := &meddler{matches: isProbe, code: http.StatusInternalServerError, reason: "InternalError"}
		broken.on.Store(true)
		start(ctx, operatorOptions{transport: broken.wrap})
		changeManifests(ctx, g, configMap("settings", "a"))
		Eventually(ctx, guardsOf).WithArguments(operator).Should(HaveLen(2))
		changeManifests(ctx, g, together(widgetDefinition(group), widget(group, "own"), configMap("settings", "a")))
		expectReady(ctx, g)
		Expect(guardsOf(ctx, operator)).To(BeEmpty())
		mustGet(ctx, group+"/v1", "Widget", namespace, "own")
	})

	It("if the operator has no right to create an admission guard, a definition is deleted without a guard after its "+
		"instances are listed once more", func(ctx SpecContext) {
		forbidden := &meddler{
			code: http.StatusForbidden, reason: "Forbidden",
			matches: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, guardPath) },
		}
		forbidden.on.Store(true)
		start(ctx, operatorOptions{transport: forbidden.wrap})
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(forbidden.count.Load()).To(BeNumerically(">", 0))
		events := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Where(func(e testcluster.Event) bool {
			return e.Resource == "widgets" && e.Verb == "list" || e.Resource == "customresourcedefinitions" && e.Verb == "delete"
		})
		texts := verbs(events)
		Expect(texts[len(texts)-2:]).To(Equal([]string{"list widgets 200", "delete customresourcedefinitions 200"}))
	})

	It("the admission guard is removed after the operator crashed at any request for the guard", func(ctx SpecContext) {
		for _, after := range []int64{1, 2, 3, 4} {
			operator, group = newOperatorName(), newGroup()
			c := &crash{after: after, unanswered: true, counts: func(r *http.Request) bool {
				return r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, guardPath) ||
					isRealDelete(r)
			}}
			stop := start(ctx, operatorOptions{transport: c.wrap})
			remove(ctx, g)
			Eventually(ctx, c.crashed.Load).Should(BeTrue())
			stop()
			stop = runOperator(operator, operatorOptions{})
			expectNotFound(ctx, g)
			Eventually(ctx, guardsOf).WithArguments(operator).Should(BeEmpty(),
				"a guard remains after an operator that crashed after %d requests", after)
			stop()
		}
	})

	It("the admission guard of a component whose finalizer was removed is deleted when the component is "+
		"created again", func(ctx SpecContext) {
		broken := &meddler{matches: isProbe, code: http.StatusInternalServerError, reason: "InternalError"}
		broken.on.Store(true)
		stop := start(ctx, operatorOptions{transport: broken.wrap})
		remove(ctx, g)
		Eventually(ctx, guardsOf).WithArguments(operator).Should(HaveLen(2))
		stop()
		patch(ctx, current(ctx, g), `{"metadata":{"finalizers":null}}`)
		expectNotFound(ctx, g)
		Expect(guardsOf(ctx, operator)).To(HaveLen(2))

		runOperator(operator, operatorOptions{})
		g = newGadget(ctx, namespace, "app", together(widgetDefinition(group), widget(group, "own")),
			servedBy(operator), retrySoon)
		expectReady(ctx, g)
		Expect(guardsOf(ctx, operator)).To(BeEmpty())
	})

	It("the admission guard of a definition is deleted when another client deletes the definition", func(ctx SpecContext) {
		broken := &meddler{matches: isProbe, code: http.StatusInternalServerError, reason: "InternalError"}
		broken.on.Store(true)
		stop := start(ctx, operatorOptions{transport: broken.wrap})
		remove(ctx, g)
		Eventually(ctx, guardsOf).WithArguments(operator).Should(HaveLen(2))
		stop()
		remove(ctx, mustGet(ctx, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group))
		Eventually(ctx, guardsOf).WithArguments(operator).Should(BeEmpty())
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
	})

	It("the deletion of a component without definitions sends no request for an admission guard", func(ctx SpecContext) {
		mark, other := markAudit(ctx), newNamespace(ctx)
		runOperator(operator, operatorOptions{})
		plain := newGadget(ctx, other, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, plain)
		remove(ctx, plain)
		expectNotFound(ctx, plain)
		Expect(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Where(func(e testcluster.Event) bool {
			// These lists and watches are excluded, because each operator watches definitions to know the served types, and
			// lists the guards of earlier processes at its start.
			watched := e.Verb == "list" || e.Verb == "watch"
			definition := e.Resource == "customresourcedefinitions" || e.Resource == "apiservices"
			return (strings.HasPrefix(e.Resource, "validating") || definition) && !watched
		})).To(BeEmpty())
	})

	It("while other clients create instances all the time, the deletion of a definition loses no instance whose creation "+
		"the API server confirmed", slow, func(ctx SpecContext) {
		for range races {
			race(ctx)
		}
	}, SpecTimeout(10*time.Minute))
})

// racer is a client that creates and deletes instances as fast as possible.
type racer struct {
	client           client.Client
	namespace, group string
	created, refused int
	// lost is an instance that disappeared although the racer did not delete it. acknowledged is the time at which its
	// creation was acknowledged.
	lost         string
	acknowledged time.Time
}

// run creates and deletes instances until their type no longer exists. An instance whose creation was acknowledged must
// exist until the racer deletes it.
func (r *racer) run(ctx context.Context) {
	for ctx.Err() == nil {
		widget := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": r.group + "/v1", "kind": "Widget", "spec": map[string]any{"size": int64(1)},
		}}
		widget.SetNamespace(r.namespace)
		widget.SetGenerateName("racer-")
		err := r.client.Create(ctx, widget)
		acknowledged := time.Now()
		switch {
		case err == nil:
			r.created++
		case apierrors.IsForbidden(err):
			r.refused++
			continue
		case apierrors.IsNotFound(err):
			return
		default:
			continue
		}
		if err := r.client.Delete(ctx, widget); err != nil {
			r.lost, r.acknowledged = fmt.Sprintf("%s: %v", widget.GetName(), err), acknowledged
			return
		}
	}
}

// race deletes a component while racers create instances of its type.
func race(ctx context.Context) {
	GinkgoHelper()
	namespace, group := newNamespace(ctx), newGroup()
	g := newGadget(ctx, namespace, "app", widgetDefinition(group))
	expectReady(ctx, g)
	remove(ctx, create(ctx, strings.Replace(widget(group, "first"), "{name:", "{namespace: "+namespace+", name:", 1))[0])
	config := cluster.Config()
	config.QPS = -1
	var racers []*racer
	var running sync.WaitGroup
	for range 6 {
		unlimited, err := client.New(config, client.Options{Mapper: k8s.RESTMapper()})
		Expect(err).NotTo(HaveOccurred())
		r := &racer{client: unlimited, namespace: namespace, group: group}
		racers = append(racers, r)
		running.Go(func() { r.run(ctx) })
	}
	mark := markAudit(ctx)
	remove(ctx, g)
	expectNotFound(ctx, g)
	running.Wait()
	deletion := requestsSince(ctx, mark, operatorName).Verb("delete").Resource("customresourcedefinitions").
		Where(func(e testcluster.Event) bool { return e.Name == "widgets."+group })[0].Time
	created, refused := 0, 0
	for _, r := range racers {
		created, refused = created+r.created, refused+r.refused
		if r.lost != "" {
			GinkgoWriter.Printf("acknowledged %s after the deletion of the definition: %s\n",
				r.acknowledged.Sub(deletion), r.lost)
			Expect(r.acknowledged).To(BeTemporally(">=", deletion),
				"the instance %s was lost, although the API server acknowledged its creation before the deletion of the definition",
				r.lost)
		}
	}
	Expect(created).To(BeNumerically(">", 0))
	Expect(refused).To(BeNumerically(">", 0), "the guard refused no instance")
	GinkgoWriter.Printf("%d instances were created, %d refused\n", created, refused)
}
