package conformance_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Two operators of the same name with a delay:", func() {
	const count = 5

	It("an operator with an outdated state does not recreate the dependents that another operator deleted with "+
		"the component", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		late := &lag{path: "/gadgets"}
		runOperator(operator, operatorOptions{})
		runOperator(operator, operatorOptions{transport: late.wrap})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		late.hold()
		DeferCleanup(late.release)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		confirmations := func() int {
			return len(requestsSince(ctx, mark, operator).Resource("gadgets").Verb("get"))
		}
		Eventually(ctx, confirmations).Should(BeNumerically(">", 0),
			"the late operator did not confirm that the dependents no longer exist")
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		late.release()
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Code(201))).
			To(BeEmpty())
	})

	It("an operator with an outdated state does not recreate the dependents that another "+
		"operator pruned", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		late := &lag{path: "/gadgets"}
		runOperator(operator, operatorOptions{})
		runOperator(operator, operatorOptions{transport: late.wrap})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		late.hold()
		DeferCleanup(late.release)
		mark := markAudit(ctx)
		changeManifests(ctx, g, configMaps("cm", 1, "a"))
		expectReady(ctx, g)
		settle(ctx, operator)
		late.release()
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Code(201))).
			To(BeEmpty())
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
	})

	It("an operator with an outdated state that creates dependents after the deletion of the component deletes these "+
		"dependents again", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		slow := &turnstile{counts: writesTo(namespace, "configmaps"), open: make(chan struct{})}
		runOperator(operator, operatorOptions{transport: slow.wrap})
		g := newGadget(ctx, namespace, "app", configMaps("cm", count, "a"), servedBy(operator))
		Eventually(ctx, slow.waiting.Load).Should(BeEquivalentTo(count))
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		close(slow.open)
		Eventually(ctx, func() int {
			return len(writes(ctx, operator, namespace).Resource("configmaps").Code(201))
		}).Should(Equal(2*count), "the late operator did not send its delayed creates")
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(BeZero())
	})

	It("of two operators that render generated values at the same time, the one that first writes the status decides; "+
		"both apply its values, and the record of the other one is deleted", func(ctx SpecContext) {
		const password = "{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}"
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{generate: &chart{}})
		g := newGadget(ctx, namespace, "app", password, servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		held, before := []*turnstile{}, passes(operator)
		for range 2 {
			slow := &turnstile{counts: writesTo(namespace, "gadgets/app/status"), open: make(chan struct{})}
			runOperator(operator, operatorOptions{generate: &chart{}, transport: slow.wrap})
			held = append(held, slow)
		}
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">=", before+2))
		settle(ctx, operator)
		changeManifests(ctx, g, password+"\n---\n"+configMap("more", "a"))
		for _, slow := range held {
			Eventually(ctx, slow.waiting.Load).Should(BeEquivalentTo(1))
		}
		Expect(keptSets(ctx, namespace)).To(HaveLen(3), "both operators have stored their rendering")

		close(held[0].open)
		expectReady(ctx, g)
		made, named := content(ctx, "Secret", namespace, "login"), current(ctx, g).Status.RenderedSet
		close(held[1].open)
		Eventually(ctx, func() []string { return namesOf(keptSets(ctx, namespace)) }).
			Should(ConsistOf(ContainSubstring("-" + named + "-")))
		settle(ctx, operator)
		Expect(current(ctx, g).Status.RenderedSet).To(Equal(named))
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
		Expect(namesOf(keptSets(ctx, namespace))).To(ConsistOf(ContainSubstring("-" + named + "-")))
	})

	It("if the pinned rendering of a new component is named and not written yet, another operator uses its own one; both "+
		"apply its values, and the other record is deleted", func(ctx SpecContext) {
		const password = "{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: {{ randAlphaNum 16 | b64enc }}}}"
		namespace, operator := newNamespace(ctx), newOperatorName()
		names := &turnstile{counts: writesTo(namespace, "secrets/rendered-"), open: make(chan struct{})}
		waits := &turnstile{counts: writesTo(namespace, "gadgets/app/status"), open: make(chan struct{})}
		runOperator(operator, operatorOptions{generate: &chart{}, transport: names.wrap})
		runOperator(operator, operatorOptions{generate: &chart{}, transport: waits.wrap})
		g := newGadget(ctx, namespace, "app", password, servedBy(operator))
		for _, held := range []*turnstile{names, waits} {
			Eventually(ctx, held.waiting.Load).Should(BeEquivalentTo(1))
		}
		first := current(ctx, g).Status.RenderedSet
		Expect(first).NotTo(BeEmpty())

		close(waits.open)
		expectReady(ctx, g)
		made, named := content(ctx, "Secret", namespace, "login"), current(ctx, g).Status.RenderedSet
		Expect(named).NotTo(Equal(first))
		mark := markAudit(ctx)
		close(names.open)
		Eventually(ctx, func() any {
			return inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("secrets").Verb("delete")
		}).ShouldNot(BeEmpty())
		Eventually(ctx, func() []string { return namesOf(keptSets(ctx, namespace)) }).
			Should(ConsistOf(ContainSubstring("-" + named + "-")))
		settle(ctx, operator)
		Expect(current(ctx, g).Status.RenderedSet).To(Equal(named))
		Expect(content(ctx, "Secret", namespace, "login")).To(Equal(made))
		Expect(notesOf(ctx, namespace, "RenderedSetLost")).To(BeEmpty())
	})
})

var _ = Describe("Spec changes during the first pass:", func() {
	for name, path := range map[string]string{
		"the finalizer was set":  "gadgets/app",
		"the record was written": "gadgets/app/status",
	} {
		It("a spec change before "+name+
			" leads to a pass that creates dependents only after the finalizer and the "+
			"record are written", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			slow := &turnstile{counts: writesTo(namespace, path), open: make(chan struct{})}
			runOperator(operator, operatorOptions{transport: slow.wrap})
			g := newGadget(ctx, namespace, "app", configMap("settings", "first"), servedBy(operator))
			Eventually(ctx, slow.waiting.Load).Should(BeEquivalentTo(1))
			changeManifests(ctx, g, configMap("settings", "second"))
			close(slow.open)
			expectReady(ctx, g)
			Expect(current(ctx, g).Finalizers).To(ConsistOf(operator + "/finalizer"))
			Expect(verbs(succeeded(writes(ctx, operator, namespace)))).To(HaveExactElements(
				"patch gadgets 200", "update gadgets/status 200", HavePrefix("patch configmaps"), "update gadgets/status 200"))
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		})
	}
})

// lag delays the events of the watches on a path while the field on is set.
type lag struct {
	path string

	mu   sync.Mutex
	gate chan struct{}
}

func (l *lag) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = make(chan struct{})
}

func (l *lag) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gate != nil {
		close(l.gate)
	}
	l.gate = nil
}

func (l *lag) wait() {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (l *lag) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		watch := r.URL.Query().Get("watch") != ""
		if err != nil || !watch || !strings.HasSuffix(r.URL.Path, l.path) {
			return answer, err
		}
		answer.Body = &laggingBody{answer.Body, l}
		return answer, nil
	})
}

type laggingBody struct {
	io.ReadCloser
	lag *lag
}

func (b *laggingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.lag.wait()
	return n, err
}

// turnstile holds back all matching requests until a spec opens the turnstile.
type turnstile struct {
	counts  func(*http.Request) bool
	open    chan struct{}
	waiting atomic.Int64
}

func (t *turnstile) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if t.counts(r) {
			t.waiting.Add(1)
			select {
			case <-t.open:
			case <-r.Context().Done():
				return nil, fmt.Errorf("the request was blocked: %w", r.Context().Err())
			}
		}
		return next.RoundTrip(r)
	})
}
