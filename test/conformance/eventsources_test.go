package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

type (
	gadgetReconciler = component.Reconciler[*gadget.Gadget]
	gadgetSource     = eventsource.Source[*gadget.Gadget]
	configMapOptions = eventsource.RelatedOptions[*gadget.Gadget, *corev1.ConfigMap]
)

// withSources adds event sources to a reconciler.
func withSources(all ...gadgetSource) func(*gadgetReconciler) {
	return func(r *gadgetReconciler) {
		for _, source := range all {
			_, err := r.AddEventSource(source)
			Expect(err).NotTo(HaveOccurred())
		}
	}
}

// inputsInto renders a ConfigMap "rendered" with the inputs of the request as JSON.
var inputsInto = generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
	text, err := json.Marshal(req.Inputs)
	return []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "rendered"}, Data: map[string]string{"inputs": string(text)},
	}}, err
})

// rendered returns the inputs in the ConfigMap "rendered" of a namespace.
func rendered(ctx context.Context, namespace string) func() string {
	return func() string {
		found := &corev1.ConfigMap{}
		if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "rendered"}, found); err != nil {
			return err.Error()
		}
		return found.Data["inputs"]
	}
}

// shared creates a ConfigMap that components are related to.
func shared(ctx context.Context, namespace, name, value string) *corev1.ConfigMap {
	GinkgoHelper()
	c := newConfigMap(namespace, name)
	c.Data = map[string]string{"value": value}
	Expect(k8s.Create(ctx, c)).To(Succeed())
	return c
}

// toShared relates each gadget to the ConfigMap "shared" in a namespace.
func toShared(namespace string) func(*gadget.Gadget) []client.ObjectKey {
	return func(*gadget.Gadget) []client.ObjectKey {
		return []client.ObjectKey{{Namespace: namespace, Name: "shared"}}
	}
}

func contentOf(c *corev1.ConfigMap) any { return c.Data }

// seen records the values that hooks saw last, by component.
type seen struct {
	mu     sync.Mutex
	values map[string]string
}

func (s *seen) set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[name] = value
}

func (s *seen) all() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

// count returns the number of components that saw a value last.
func (s *seen) count(value string) int {
	n := 0
	for _, last := range s.all() {
		if last == value {
			n++
		}
	}
	return n
}

func (s *seen) of(name string) func() string { return func() string { return s.all()[name] } }

// hookSeeing returns hooks that record the value of the related ConfigMaps.
func hookSeeing(s *seen, from *eventsource.Relation[*gadget.Gadget, *corev1.ConfigMap]) gadgetHooks {
	return gadgetHooks{PreReconcile: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
		found, err := from.Get(ctx, g)
		if err != nil {
			return err
		}
		s.set(g.Namespace+"/"+g.Name, contents(found, nil))
		return nil
	}}
}

var _ = Describe("Event sources:", func() {
	It("a hook and a generator see related objects, and a change of one renders the "+
		"component again", func(ctx SpecContext) {
		namespace, operator, s := newNamespace(ctx), newOperatorName(), &seen{}
		c := shared(ctx, namespace, "shared", "a")
		settings := eventsource.Related("settings", configMapOptions{Of: toShared(namespace), Part: contentOf, Whole: true})
		runOperator(operator, operatorOptions{
			generate: inputsInto, hooks: hookSeeing(s, settings), built: withSources(eventsource.AsInput(settings)),
		})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal(`{"settings":[{"value":"a"}]}`))
		Expect(s.of(namespace + "/app")()).To(Equal("shared=a"))

		By("recording the change in the history, as of any other input")
		patch(ctx, c, `{"data":{"value":"b"}}`)
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal(`{"settings":[{"value":"b"}]}`))
		Eventually(ctx, func() []string { return current(ctx, g).Status.History[0].Changes }).
			Should(Equal([]string{"input settings: [0].value: a → b"}))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(2)))

		By("waking nobody for a change of a part that does not count, and without a request")
		settle(ctx, operator)
		before, mark := passes(operator), markAudit(ctx)
		patch(ctx, c, `{"metadata":{"labels":{"touched":"yes"}}}`)
		Consistently(ctx, func() int { return passes(operator) }).Should(Equal(before))
		Expect(requestsSince(ctx, mark, operator)).To(BeEmpty())

		By("seeing that the object was deleted")
		remove(ctx, c)
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal("null"))
	})

	It("a related object that changes costs no request where it is kept, and one read "+
		"where it is not", func(ctx SpecContext) {
		const components, workers, changes = 100, 8, 3
		for _, kept := range []bool{true, false} {
			namespace, operator, s := newNamespace(ctx), newOperatorName(), &seen{}
			c := shared(ctx, namespace, "shared", "a")
			settings := eventsource.Related("settings", configMapOptions{Of: toShared(namespace), Whole: kept})
			runOperator(operator, operatorOptions{
				generate: nothing, component: component.Options{
					Limits: component.Limits{MaxConcurrentReconciles: workers},
				},
				hooks: hookSeeing(s, settings), built: withSources(settings),
			})
			for i := range components {
				newGadget(ctx, namespace, fmt.Sprint("g", i), "", servedBy(operator))
			}
			Eventually(ctx, func() int { return s.count("shared=a") }).WithTimeout(time.Minute).Should(Equal(components))
			settle(ctx, operator)
			for i := range changes {
				mark, value := markAudit(ctx), fmt.Sprint("b", i)
				patch(ctx, c, fmt.Sprintf(`{"data":{"value":%q}}`, value))
				Eventually(ctx, func() int { return s.count("shared=" + value) }).WithTimeout(time.Minute).Should(Equal(components))
				settle(ctx, operator)
				want := []string{}
				if !kept {
					want = []string{"get configmaps 200"}
				}
				Expect(verbs(requestsSince(ctx, mark, operator))).To(Equal(want), "kept: %v", kept)
			}
		}
	})

	It("an object that was not touched for long is dropped from memory, and read when "+
		"it is wanted", func(ctx SpecContext) {
		namespace, operator, s := newNamespace(ctx), newOperatorName(), &seen{}
		shared(ctx, namespace, "shared", "a")
		settings := eventsource.Related("settings", configMapOptions{
			Of: toShared(namespace), Whole: true, Idle: 300 * time.Millisecond,
		})
		runOperator(operator, operatorOptions{hooks: hookSeeing(s, settings), built: withSources(settings)})
		g := newGadget(ctx, namespace, "app", configMap("own", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Eventually(ctx, func() []string {
			mark := markAudit(ctx)
			requestPass(ctx, g, operator)
			return verbs(requestsSince(ctx, mark, operator))
		}).WithPolling(time.Second).Should(Equal([]string{"get configmaps 200"}))
		Expect(s.of(namespace + "/app")()).To(Equal("shared=a"))
	})

	It("owner references, annotations and labels of an object name its components", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		owned := eventsource.Related("owned", configMapOptions{Part: contentOf})
		annotated := eventsource.Related("annotated", configMapOptions{
			For: eventsource.ForAnnotation[*corev1.ConfigMap]("example.com/gadgets"), Part: contentOf, Whole: true,
		})
		labelled := eventsource.Related("labelled", configMapOptions{
			For: eventsource.ForLabels[*corev1.ConfigMap]("example.com/gadget", ""), Part: contentOf,
		})
		runOperator(operator, operatorOptions{generate: inputsInto, built: withSources(
			eventsource.AsInput[*gadget.Gadget](owned), eventsource.AsInput[*gadget.Gadget](annotated),
			eventsource.AsInput[*gadget.Gadget](labelled),
		)})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal("null"))
		c := shared(ctx, namespace, "c", "a")
		for want, change := range map[string]string{
			`{"owned":[{"value":"a"}]}`: fmt.Sprintf(
				`{"metadata":{"ownerReferences":[{"apiVersion":"gadgets.example.com/v1","kind":"Gadget","name":"app","uid":%q}]}}`,
				g.UID),
			`{"annotated":[{"value":"a"}]}`: `{"metadata":{"annotations":{"example.com/gadgets":"other/x, app"}}}`,
			`{"labelled":[{"value":"a"}]}`:  `{"metadata":{"labels":{"example.com/gadget":"app"}}}`,
		} {
			patch(ctx, c, change)
			Eventually(ctx, rendered(ctx, namespace)).Should(Equal(want))
			patch(ctx, c, `{"metadata":{"ownerReferences":null,"annotations":null,"labels":null}}`)
			Eventually(ctx, rendered(ctx, namespace)).Should(Equal("null"), "a component that an object does not name any more")
		}
	})

	It("a write of a hook wakes other components that share the object, but not the writer, and is "+
		"read at once", func(ctx SpecContext) {
		namespace, operator, s := newNamespace(ctx), newOperatorName(), &seen{}
		shared(ctx, namespace, "shared", "a")
		relation := eventsource.Related("settings", configMapOptions{Of: toShared(namespace), Whole: true})
		write := atomic.Pointer[string]{}
		var writerPasses atomic.Int64
		see := hookSeeing(s, relation).PreReconcile
		runOperator(operator, operatorOptions{built: withSources(relation), hooks: gadgetHooks{
			PreReconcile: func(ctx context.Context, g *gadget.Gadget, dependents component.DependentReader) error {
				if g.Name != "writer" {
					return see(ctx, g, dependents)
				}
				writerPasses.Add(1)
				found, err := relation.Get(ctx, g)
				value := write.Swap(nil)
				if err != nil || value == nil {
					return err
				}
				found[0].Data["value"] = *value
				err = relation.Write(ctx, g, found[0], func(ctx context.Context, c *corev1.ConfigMap) error {
					return k8s.Update(ctx, c)
				})
				if err != nil {
					return err
				}
				return see(ctx, g, dependents)
			},
		}})
		writer := newGadget(ctx, namespace, "writer", configMap("w", "a"), servedBy(operator))
		reader := newGadget(ctx, namespace, "reader", configMap("r", "a"), servedBy(operator))
		expectReady(ctx, writer)
		expectReady(ctx, reader)
		for i := range 10 {
			settle(ctx, operator)
			before := writerPasses.Load()
			value := fmt.Sprint("v", i)
			write.Store(&value)
			requestPass(ctx, writer, operator)
			Eventually(ctx, s.of(namespace+"/reader")).Should(Equal("shared=" + value))
			// The reader may see the value first. The writer looks once, so an older object stays.
			Eventually(ctx, s.of(namespace+"/writer")).Should(Equal("shared="+value), "the writer read an older object")
			settle(ctx, operator)
			Expect(writerPasses.Load()).To(Equal(before+1), "the writer was woken by its own write")
		}
	})

	It("a polled value is an input; an equal value wakes nobody, and a failing fetch keeps "+
		"the last one", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		rate, fails := atomic.Int64{}, atomic.Bool{}
		rate.Store(1)
		polled := eventsource.Polling[*gadget.Gadget]("rates",
			50*time.Millisecond, func(context.Context) (map[client.ObjectKey]int64, error) {
				if fails.Load() {
					return nil, errors.New("the bank is closed")
				}
				return map[client.ObjectKey]int64{{Namespace: namespace, Name: "app"}: rate.Load()}, nil
			})
		runOperator(operator, operatorOptions{generate: inputsInto, built: withSources(eventsource.AsInput(polled))})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal(`{"rates":1}`))
		settle(ctx, operator)
		before := passes(operator)
		Consistently(ctx, func() int { return passes(operator) }).Should(Equal(before))
		rate.Store(2)
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal(`{"rates":2}`))
		fails.Store(true)
		expectCondition(ctx, g, metav1alpha1.ConditionInputStale, MatchRegexp(
			`^True FetchFailed: rates: since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: the bank is closed$`))
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal(`{"rates":2}`))
		fails.Store(false)
		expectCondition(ctx, g, metav1alpha1.ConditionInputStale, BeEmpty())
	})

	It("the first pass waits for the first value, outside the workers, and fails for an input that "+
		"cannot be fetched", func(ctx SpecContext) {
		namespace, operator, d := newNamespace(ctx), newOperatorName(), &diary{}
		answer := make(chan error)
		versions := eventsource.PollingEach("version", eventsource.PollOptions[*gadget.Gadget, string]{
			Fetch: func(ctx context.Context, g *gadget.Gadget) (string, error) {
				if g.Name != "app" {
					return "1", nil
				}
				select {
				case err := <-answer:
					return "2", err
				case <-ctx.Done():
					return "", ctx.Err()
				}
			},
			After: func(*gadget.Gadget, string) time.Duration { return time.Hour },
		})
		runOperator(operator, operatorOptions{
			generate: inputsInto, component: component.Options{Limits: component.Limits{MaxConcurrentReconciles: 1}},
			built: withSources(eventsource.AsInput(versions)),
			hooks: gadgetHooks{PreReconcile: func(_ context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				d.note(g.Name)
				return nil
			}},
		})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		other := newGadget(ctx, newNamespace(ctx), "other", "", servedBy(operator))
		expectReady(ctx, other)
		Expect(d.read()).To(Equal([]string{"other"}))
		for range 2 {
			answer <- errors.New("no route")
		}
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False Retrying: input version: no value yet: no route")
		Expect(condition(current(ctx, g), metav1alpha1.ConditionInputStale)).To(ContainSubstring("version: since"))
		answer <- nil
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal(`{"version":"2"}`))
	})

	It("a webhook that is signed wakes its component, and nothing is fetched for a "+
		"suspended component", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		releases := eventsource.Inbound("release", eventsource.InboundOptions[*gadget.Gadget, string]{
			Fetch: func(context.Context) (map[client.ObjectKey]string, error) {
				return map[client.ObjectKey]string{{Namespace: namespace, Name: "app"}: "1.0"}, nil
			},
		})
		var fetches atomic.Int64
		polled := eventsource.PollingEach("poll", eventsource.PollOptions[*gadget.Gadget, int]{
			Fetch: func(context.Context, *gadget.Gadget) (int, error) { fetches.Add(1); return 1, nil },
			After: func(*gadget.Gadget, int) time.Duration { return 20 * time.Millisecond },
		})
		server := httptest.NewServer(releases.Handler(eventsource.WebhookOptions{
			Route: func(*http.Request) (client.ObjectKey, bool) {
				return client.ObjectKey{Namespace: namespace, Name: "app"}, true
			},
			Secret: func(context.Context, client.ObjectKey) ([]byte, error) { return []byte("key"), nil },
		}, func(body []byte) (string, error) { return string(body), nil }))
		DeferCleanup(server.Close)
		call := func(body, key string) int {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
			Expect(err).NotTo(HaveOccurred())
			request.Header.Set("X-Hub-Signature-256", eventsource.Sign([]byte(key), []byte(body)))
			response, err := http.DefaultClient.Do(request)
			Expect(err).NotTo(HaveOccurred())
			Expect(response.Body.Close()).To(Succeed())
			return response.StatusCode
		}
		runOperator(operator, operatorOptions{
			generate: inputsInto,
			built:    withSources(eventsource.AsInput[*gadget.Gadget](releases), polled),
		})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal(`{"release":"1.0"}`))
		Expect(call("2.0", "key")).To(Equal(http.StatusAccepted))
		Expect(call("3.0", "another key")).To(Equal(http.StatusUnauthorized))
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal(`{"release":"2.0"}`))
		Eventually(ctx, fetches.Load).Should(BeNumerically(">=", 3), "a value is fetched again after its time")
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		settle(ctx, operator)
		before := fetches.Load()
		Consistently(ctx, fetches.Load).Should(BeNumerically("<=", before+1))
	})

	It("a condition of an object reads the value of an event source", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		flags := eventsource.Inbound("flags", eventsource.InboundOptions[*gadget.Gadget, map[string]bool]{})
		runOperator(operator, operatorOptions{built: withSources(eventsource.AsInput(flags))})
		put := func(beta bool) {
			Expect(flags.Put(client.ObjectKey{Namespace: namespace, Name: "app"}, map[string]bool{"beta": beta})).To(Succeed())
		}
		put(false)
		g := newGadget(ctx, namespace, "app", together(configMap("always", "a"),
			configMap("beta", "a", fmt.Sprintf("%s/include-when: parameters.inputs.flags.beta", operator))), servedBy(operator))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
		put(true)
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "beta") }).Should(BeTrue())
		put(false)
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "beta") }).Should(BeFalse())
	})

	It("a condition in Go sees the component and the value of an event source, and an object becomes ready when the "+
		"value changes", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		allowed := eventsource.Inbound("allowed", eventsource.InboundOptions[*gadget.Gadget, string]{})
		options := component.Options{Watching: component.Watching{CacheFull: []schema.GroupKind{{Kind: "ConfigMap"}}}}
		runOperator(operator, operatorOptions{component: options, built: func(r *gadgetReconciler) {
			withSources(allowed)(r)
			r.WithCondition("allowed", func(g *gadget.Gadget, self *unstructured.Unstructured) (bool, string) {
				value, _, known := allowed.Get(g)
				found, _, _ := unstructured.NestedString(self.Object, "data", "value")
				return known && found == value, fmt.Sprintf("%s has %s, allowed is %q", g.Name, found, value)
			})
			r.WithCondition("never", func(*gadget.Gadget, *unstructured.Unstructured) (bool, string) { panic("broken") })
		}})
		name := client.ObjectKey{Namespace: namespace, Name: "app"}
		Expect(allowed.Put(name, "a")).To(Succeed())
		readyWhen := func(condition string) string { return fmt.Sprintf("%s/ready-when: go/%s", operator, condition) }
		g := newGadget(ctx, namespace, "app", together(configMap("first", "a", readyWhen("allowed")),
			configMap("second", "a", fmt.Sprintf("%s/order: \"1\"", operator))), servedBy(operator))
		expectReady(ctx, g)

		By("a value that differs, without a write")
		settle(ctx, operator)
		mark := markAudit(ctx)
		Expect(allowed.Put(name, "b")).To(Succeed())
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring(`app has a, allowed is "b"`)))
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps")).To(BeEmpty())

		By("a manifest with the value")
		changeManifests(ctx, g, configMap("first", "b", readyWhen("allowed")))
		expectReady(ctx, g)

		By("an object that is not cached, and a condition that panics")
		changeManifests(ctx, g, together(configMap("first", "b", readyWhen("never")),
			"apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {"+readyWhen("allowed")+
				"}}\nspec: {ports: [{port: 80}]}"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
			ContainSubstring("add Service to Options.Watching.CacheFull"), ContainSubstring("go/never panicked")))
	})

	It("sources are added and removed at run time, and their names are checked", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var reconciler *gadgetReconciler
		runOperator(operator, operatorOptions{generate: inputsInto, built: func(r *gadgetReconciler) { reconciler = r }})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		shared(ctx, namespace, "shared", "a")
		settings := eventsource.AsInput(eventsource.Related("settings", configMapOptions{
			Of:   toShared(namespace),
			Part: contentOf,
		}))
		remove, err := reconciler.AddEventSource(settings)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal(`{"settings":[{"value":"a"}]}`))
		_, err = reconciler.AddEventSource(eventsource.Related("settings", configMapOptions{}))
		Expect(err).To(MatchError(ContainSubstring("another event source has this name")))
		remove()
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal("null"))
		_, err = reconciler.AddEventSource(settings)
		Expect(err).To(MatchError(ContainSubstring("it was added before")))
		_, err = reconciler.AddEventSource(eventsource.Related("Not a name", configMapOptions{}))
		Expect(err).To(MatchError(ContainSubstring(`event source "Not a name"`)))
		type unknown struct{ corev1.ConfigMap }
		_, err = reconciler.AddEventSource(eventsource.Related("unknown",
			eventsource.RelatedOptions[*gadget.Gadget, *unknown]{}))
		Expect(err).To(MatchError(ContainSubstring("add the type of the related objects to the scheme")))
	})
})

var _ = Describe("The reader of dependents:", func() {
	It("lists dependents of a kind, typed, and never returns an older one than the process wrote", func(ctx SpecContext) {
		for _, kept := range []bool{true, false} {
			namespace, operator := newNamespace(ctx), newOperatorName()
			options := component.Options{}
			if kept {
				options.Watching.CacheFull = []schema.GroupKind{{Kind: "ConfigMap"}}
			}
			var older, calls atomic.Int64
			runOperator(operator, operatorOptions{component: options, hooks: gadgetHooks{
				PostReconcile: func(ctx context.Context, g *gadget.Gadget, dependents component.DependentReader) error {
					listed, err := dependents.List(ctx, schema.GroupKind{Kind: "ConfigMap"})
					if err != nil {
						return err
					}
					calls.Add(1)
					for i, name := range []string{"a", "b"} {
						c, err := component.As[*corev1.ConfigMap](listed[i], nil)
						if err != nil {
							return err
						}
						if c.Name != name || !strings.Contains(g.Spec.Manifests, `value: "`+c.Data["value"]+`"`) {
							older.Add(1)
						}
					}
					none, err := dependents.List(ctx, schema.GroupKind{Kind: "Service"})
					if len(none) > 0 {
						older.Add(1)
					}
					return err
				},
			}})
			both := func(value string) string { return together(configMap("b", value), configMap("a", value)) }
			g := newGadget(ctx, namespace, "app", both("0"), servedBy(operator))
			expectReady(ctx, g)
			for i := range 20 {
				changeManifests(ctx, g, both(fmt.Sprint(i+1)))
				expectReady(ctx, g)
			}
			Expect(calls.Load()).To(BeNumerically(">=", 20))
			Expect(older.Load()).To(BeZero())
		}
	})

	It("reads a dependent of a cached kind from the response to the write, without a request", func(ctx SpecContext) {
		// An update with the policy replace reads the object itself.
		for policy, reads := range map[metav1alpha1.UpdatePolicy]int{
			metav1alpha1.UpdateReplace: 1, metav1alpha1.UpdateSSAMerge: 0, metav1alpha1.UpdateSSAOverride: 0,
		} {
			namespace, operator := newNamespace(ctx), newOperatorName()
			held := &lag{path: "/configmaps"}
			seen := &seen{}
			runOperator(operator, operatorOptions{
				component: component.Options{
					Watching:   component.Watching{CacheFull: []schema.GroupKind{{Kind: "ConfigMap"}}},
					Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: policy}},
				},
				transport: held.wrap,
				hooks: gadgetHooks{PostReconcile: func(ctx context.Context, g *gadget.Gadget,
					dependents component.DependentReader,
				) error {
					key := manifests.Key{Kind: "ConfigMap", Namespace: g.Namespace, Name: "settings"}
					c, err := component.As[*corev1.ConfigMap](dependents.Get(ctx, key))
					if err == nil {
						seen.set(g.Name, c.Data["value"])
					}
					return err
				}},
			})
			g := newGadget(ctx, namespace, "app", configMap("settings", "0"), servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			held.hold()
			DeferCleanup(held.release)
			mark := markAudit(ctx)
			changeManifests(ctx, g, configMap("settings", "1"))
			expectReady(ctx, g)
			Expect(seen.all()).To(Equal(map[string]string{"app": "1"}))
			Expect(requestsSince(ctx, mark, operator).Resource("configmaps").
				Where(func(e testcluster.Event) bool { return e.Verb == "get" })).
				To(HaveLen(reads), string(policy))
			held.release()
		}
	})
})

var _ = Describe("Idle components:", func() {
	It("the inventory of a component without passes leaves the memory, and is read by one request when "+
		"it is wanted", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var reconciler *gadgetReconciler
		runOperator(operator, operatorOptions{component: component.Options{
			Limits: component.Limits{IdleInventory: component.NewIdleInventory(2 * time.Second)},
		}, built: func(r *gadgetReconciler) { reconciler = r }})
		g := newGadget(ctx, namespace, "app", configMaps("c", 20, "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		after := func() []string {
			mark, before := markAudit(ctx), passes(operator)
			reconciler.Trigger(client.ObjectKeyFromObject(g))
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
			return verbs(requestsSince(ctx, mark, operator))
		}
		Eventually(ctx, after).WithPolling(5 * time.Second).Should(Equal([]string{"get gadgets 200"}))
		Expect(after()).To(BeEmpty(), "the inventory that was read is kept")

		By("applying, repairing and deleting with a record that was read")
		changeManifests(ctx, g, configMaps("c", 18, "b"))
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(18))
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(18))
		Eventually(ctx, after).WithPolling(5 * time.Second).Should(Equal([]string{"get gadgets 200"}))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("an inventory in Secrets leaves the memory, too, and is read by one request when "+
		"it is wanted", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var reconciler *gadgetReconciler
		options := spilling
		options.Limits.IdleInventory = component.NewIdleInventory(2 * time.Second)
		runOperator(operator, operatorOptions{component: options, built: func(r *gadgetReconciler) { reconciler = r }})
		g := newGadget(ctx, namespace, "app", configMaps("c", 30, "a"), servedBy(operator))
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.HasInventoryRecord()).To(BeTrue())
		settle(ctx, operator)
		after := func() []string {
			mark, before := markAudit(ctx), passes(operator)
			reconciler.Trigger(client.ObjectKeyFromObject(g))
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
			return verbs(requestsSince(ctx, mark, operator))
		}
		Eventually(ctx, after).WithPolling(5 * time.Second).Should(Equal([]string{"get secrets 200"}))
		Expect(after()).To(BeEmpty(), "the inventory that was read is kept")

		By("removing objects that only the inventory names, and deleting, with a record that was read")
		changeManifests(ctx, g, configMaps("c", 28, "b"))
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(28))
		Eventually(ctx, after).WithPolling(5 * time.Second).Should(Equal([]string{"get secrets 200"}))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("all inventories are kept at the start, so the first passes read no component", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var components cache.Cache
		start := func() (stop func()) {
			return runOperator(operator, operatorOptions{
				component: component.Options{
					Limits: component.Limits{IdleInventory: component.NewIdleInventory(time.Hour)},
				},
				newCache: func(config *rest.Config, o cache.Options) (created cache.Cache, err error) {
					components, err = cache.New(config, o)
					return components, err
				},
			})
		}
		stop := start()
		for i := range 5 {
			expectReady(ctx, newGadget(ctx, namespace, fmt.Sprint("g", i), configMaps(fmt.Sprint("c", i), 20, "a"),
				servedBy(operator)))
		}
		settle(ctx, operator)
		stop()
		mark, before := markAudit(ctx), passes(operator)
		start()
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">=", before+5))
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(BeEmpty())
		var cached gadget.Gadget
		Expect(components.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "g0"}, &cached)).To(Succeed())
		Expect(cached.Status.Inventory).To(HaveLen(1), "the inventories are kept apart from the cached components")
		Expect(cached.Status.Dependents.Total).To(BeEquivalentTo(20))
	})
})
