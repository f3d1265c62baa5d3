package conformance_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// openRequests counts the watches of an operator that are open, and those that were opened, by resource.
type openRequests struct {
	mu           sync.Mutex
	open, opened map[string]int
}

func (o *openRequests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || r.URL.Query().Get("watch") == "" {
			return response, err
		}
		parts := strings.Split(r.URL.Path, "/")
		resource := parts[len(parts)-1]
		o.add(resource, 1)
		response.Body = &countedBody{ReadCloser: response.Body, closed: func() { o.add(resource, -1) }}
		return response, nil
	})
}

func (o *openRequests) add(resource string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open, o.opened = map[string]int{}, map[string]int{}
	}
	o.open[resource] += n
	o.opened[resource] += max(n, 0)
}

// openedConfigMaps returns the number of watches on ConfigMaps that were opened.
func (o *openRequests) openedConfigMaps() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.opened["configmaps"]
}

// configMaps returns the number of open watches on ConfigMaps.
func (o *openRequests) configMaps() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open["configmaps"]
}

// countedBody reports its end once.
type countedBody struct {
	io.ReadCloser
	once   sync.Once
	closed func()
}

func (b *countedBody) Close() error {
	b.once.Do(b.closed)
	return b.ReadCloser.Close()
}

// visit contains a source of each kind. All of them come and go together.
type visit struct {
	related       *eventsource.Relation[*gadget.Gadget, *corev1.ConfigMap]
	polling, each *eventsource.Values[*gadget.Gadget, reading]
	inbound       *eventsource.Mailbox[*gadget.Gadget, reading]
	// polls and fetches count the calls of the sources that fetch.
	polls, fetches atomic.Int64
}

// reading is a value of a source.
type reading struct {
	Number int
	of     *footprint
}

// footprint is what a source refers to. It is in memory as long as the source is, or one of its values.
type footprint [64]byte

// newVisit makes a source of each kind for components with the names all. A component is related to the object that one
// of its parameters names, and the values that are fetched are a number. A footprint of each source is added to
// footprints.
func newVisit(
	namespace string, all []string, selector labels.Selector, number *atomic.Int64, footprints map[string][]weak.Pointer[footprint],
) *visit {
	newFootprint := func(kind string) *footprint {
		t := &footprint{}
		footprints[kind] = append(footprints[kind], weak.Make(t))
		return t
	}
	related, polling, each, inbound := newFootprint("related"), newFootprint("polling"), newFootprint("polling-each"),
		newFootprint("inbound")
	v := &visit{}
	v.related = eventsource.Related("related", configMapOptions{
		Of: func(g *gadget.Gadget) []client.ObjectKey {
			runtime.KeepAlive(related)
			return []client.ObjectKey{{Namespace: namespace, Name: g.Spec.Parameters["related"]}}
		},
		Selector: selector, Part: contentOf, Whole: true,
	})
	v.polling = eventsource.Polling[*gadget.Gadget]("polling",
		10*time.Millisecond, func(context.Context) (map[client.ObjectKey]reading, error) {
			v.polls.Add(1)
			values, value := map[client.ObjectKey]reading{}, reading{int(number.Load()), polling}
			for _, name := range all {
				values[client.ObjectKey{Namespace: namespace, Name: name}] = value
			}
			return values, nil
		})
	v.each = eventsource.PollingEach("polling-each", eventsource.PollOptions[*gadget.Gadget, reading]{
		Fetch: func(context.Context, *gadget.Gadget) (reading, error) {
			v.fetches.Add(1)
			return reading{int(number.Load()), each}, nil
		},
		After: func(*gadget.Gadget, reading) time.Duration { return 10 * time.Millisecond },
	})
	v.inbound = eventsource.Inbound("inbound", eventsource.InboundOptions[*gadget.Gadget, reading]{
		Fetch: func(context.Context) (map[client.ObjectKey]reading, error) {
			runtime.KeepAlive(inbound)
			return nil, nil
		},
		Expire: time.Hour,
	})
	return v
}

func (v *visit) sources() []gadgetSource {
	return []gadgetSource{v.related, v.polling, v.each, v.inbound}
}

// text returns the values of a component.
func (v *visit) text(ctx context.Context, g *gadget.Gadget) string {
	found, err := v.related.Get(ctx, g)
	polling, _, _ := v.polling.Get(g)
	each, _, _ := v.each.Get(g)
	inbound, _, _ := v.inbound.Get(g)
	return fmt.Sprintf("related %s, polling %d, polling-each %d, inbound %d", contents(found, err), polling.Number,
		each.Number, inbound.Number)
}

// contents returns the names and values of objects.
func contents(found []*corev1.ConfigMap, err error) string {
	if err != nil {
		return err.Error()
	}
	texts := make([]string, 0, len(found))
	for _, c := range found {
		texts = append(texts, c.Name+"="+c.Data["value"])
	}
	return strings.Join(texts, " ")
}

// stacksOfSources returns the stacks of the goroutines of event sources.
func stacksOfSources() []string {
	var all strings.Builder
	Expect(pprof.Lookup("goroutine").WriteTo(&all, 2)).To(Succeed())
	var stacks []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if isOfEventSources(stack) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// nothing renders no dependents.
var nothing = generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
	return nil,
		nil
})

// isOfEventSources reports whether a goroutine runs code of an event source.
func isOfEventSources(stack string) bool {
	return slices.ContainsFunc([]string{"eventsources", "polled", "related"}, func(of string) bool {
		return strings.Contains(stack, "component/internal/"+of+".")
	})
}

var _ = Describe("Many event sources:", slow, Serial, func() {
	It("sources that come and go while components change, with restarts, work each time, leave nothing behind, and "+
		"lose no event", func(ctx SpecContext) {
		const rounds, restarts, components = 1000, 3, 10
		namespace, operator, watches := newNamespace(ctx), newOperatorName(), &openRequests{}
		own := labels.SelectorFromSet(labels.Set{"spec": namespace})
		var reconciler *gadgetReconciler
		var now atomic.Pointer[visit]
		s := &seen{}
		start := func() (stop func()) {
			always := eventsource.Related("always", configMapOptions{
				For: eventsource.ForAnnotation[*corev1.ConfigMap]("example.com/gadgets"), Selector: own, Part: contentOf,
				Whole: true,
			})
			return runOperator(operator, operatorOptions{
				generate: nothing, transport: watches.wrap,
				hooks: gadgetHooks{PreReconcile: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
					if v := now.Load(); v != nil {
						found, err := always.Get(ctx, g)
						s.set(g.Name, fmt.Sprintf("always %s, %s", contents(found, err), v.text(ctx, g)))
					}
					return nil
				}},
				built: func(r *gadgetReconciler) {
					reconciler = r
					withSources(always)(r)
				},
			})
		}
		stop := start()

		// What there is, as the spec wrote it: the object that each component is related to, and the content of each object.
		var names []string
		objects, choice, content, listed := map[string]*corev1.ConfigMap{}, map[string]string{}, map[string]string{},
			map[string][]string{}
		for i := range 5 {
			c := newConfigMap(namespace, fmt.Sprint("c", i))
			c.Labels, c.Data = map[string]string{"spec": namespace}, map[string]string{"value": "0"}
			Expect(k8s.Create(ctx, c)).To(Succeed())
			objects[c.Name], content[c.Name] = c, "0"
			names = append(names, c.Name)
		}
		gadgets, all := map[string]*gadget.Gadget{}, []string{}
		for i := range components {
			all = append(all, fmt.Sprint("g", i))
		}
		for round := 0; round < rounds; round += 25 {
			all = append(all, fmt.Sprint("visitor-", round))
		}
		add := func(name string) {
			choice[name] = names[rand.IntN(len(names))]
			gadgets[name] = newGadget(ctx, namespace, name, "", servedBy(operator), func(g *gadget.Gadget) {
				g.Spec.Parameters = map[string]string{"related": choice[name]}
			})
		}
		for _, name := range all[:components] {
			add(name)
		}
		differs := func(number int) func() map[string]string {
			return func() map[string]string {
				result, last := map[string]string{}, s.all()
				for name := range gadgets {
					var always []string
					for _, c := range names {
						if slices.Contains(listed[c], name) {
							always = append(always, c+"="+content[c])
						}
					}
					want := fmt.Sprintf("always %s, related %s=%s, polling %[4]d, polling-each %[4]d, inbound %[4]d",
						strings.Join(always, " "), choice[name], content[choice[name]], number)
					if last[name] != want {
						result[name] = fmt.Sprintf("saw %q, want %q", last[name], want)
					}
				}
				return result
			}
		}
		changeSomething := func(round int) {
			c := names[rand.IntN(len(names))]
			switch {
			case round%25 == 0: // A component comes or goes.
				name := fmt.Sprint("visitor-", round)
				if previous := fmt.Sprint("visitor-", round-25); gadgets[previous] != nil {
					remove(ctx, gadgets[previous])
					delete(gadgets, previous)
				} else {
					add(name)
				}
			case round%5 == 0: // A component is related to another object.
				name := fmt.Sprint("g", rand.IntN(components))
				choice[name] = c
				patch(ctx, gadgets[name], fmt.Sprintf(`{"spec":{"parameters":{"related":%q}}}`, c))
			case round%5 == 1: // An object has another content, and names other components.
				content[c] = fmt.Sprint(round)
				listed[c] = []string{fmt.Sprint("g", rand.IntN(components)), fmt.Sprint("g", rand.IntN(components))}
				patch(ctx, objects[c], fmt.Sprintf(`{"metadata":{"annotations":{"example.com/gadgets":%q}},"data":{"value":%q}}`,
					strings.Join(listed[c], ","), content[c]))
			}
		}
		settle(ctx, operator)
		goroutines, ofSources := runtime.NumGoroutine(), len(stacksOfSources())
		footprints := map[string][]weak.Pointer[footprint]{}
		var ends []func()
		attach := func(sources ...gadgetSource) {
			for _, source := range sources {
				end, err := reconciler.AddEventSource(source)
				Expect(err).NotTo(HaveOccurred())
				ends = append(ends, end)
			}
		}
		detach := func() {
			for _, end := range ends {
				end()
			}
			ends = nil
		}
		var number atomic.Int64
		for round := range rounds {
			if round > 0 && round%(rounds/(restarts+1)) == 0 {
				stop()
				detach()
				stop = start()
			}
			detach()
			// One source comes and goes at once.
			brief := newVisit(namespace, all, own, &number, footprints)
			attach(brief.sources()[round%len(brief.sources())])
			detach()

			v := newVisit(namespace, all, own, &number, footprints)
			now.Store(v)
			isChanged := round%4 == 0 // The values change while the sources begin, otherwise before.
			if !isChanged {
				number.Store(int64(round))
			}
			attach(v.sources()...)
			changeSomething(round)
			number.Store(int64(round))
			for name := range gadgets {
				Expect(v.inbound.Put(client.ObjectKey{Namespace: namespace, Name: name}, reading{Number: round})).To(Succeed())
			}
			Eventually(ctx, differs(round)).WithPolling(time.Millisecond).Should(BeEmpty(), "round %d", round)
		}

		By("sending equal values")
		settle(ctx, operator)
		before := passes(operator)
		sendEqual := func(v *visit) {
			polls, fetches := v.polls.Load(), v.fetches.Load()
			for _, c := range objects {
				patch(ctx, c, `{"metadata":{"labels":{"touched":"yes"}}}`)
			}
			for range 20 {
				for name := range gadgets {
					Expect(v.inbound.Put(client.ObjectKey{Namespace: namespace, Name: name}, reading{Number: rounds - 1})).
						To(Succeed())
				}
			}
			Eventually(ctx, func() int64 {
				return min(v.polls.Load()-polls, (v.fetches.Load()-fetches)/int64(len(gadgets)))
			}).Should(BeNumerically(">=", 20))
		}
		sendEqual(now.Load())
		Consistently(ctx, func() int { return passes(operator) }).Should(Equal(before), "an equal value started a pass")
		Expect(differs(rounds - 1)()).To(BeEmpty())

		By("looking for goroutines, watches and memory after the last sources are removed")
		Expect(watches.configMaps()).To(Equal(2))
		now.Store(nil)
		detach()
		Eventually(ctx, watches.configMaps).Should(Equal(1))
		Eventually(ctx, stacksOfSources).Should(HaveLen(ofSources))
		Eventually(ctx, runtime.NumGoroutine).Should(BeNumerically("<=", goroutines+20))
		left := func() map[string]int {
			runtime.GC()
			count := map[string]int{}
			for kind, all := range footprints {
				for _, t := range all {
					if t.Value() != nil {
						count[kind]++
					}
				}
			}
			return count
		}
		Eventually(ctx, left).Should(BeEmpty(), "sources that are in memory after their end, of %d of each kind", 2*rounds)
		stop()
		Eventually(ctx, watches.configMaps).Should(BeZero())
		Eventually(ctx, stacksOfSources).Should(BeEmpty())
	}, NodeTimeout(5*time.Minute))

	It("1,000 components that share a related object cost one watch, and a polled value of each is fetched as often as "+
		"said, without bursts", func(ctx SpecContext) {
		const components, interval = 1000, 10 * time.Second
		namespace, operator, watches := newNamespace(ctx), newOperatorName(), &openRequests{}
		own := labels.SelectorFromSet(labels.Set{"spec": namespace})
		settings := eventsource.Related("settings", configMapOptions{Of: toShared(namespace), Selector: own, Whole: true})
		var mu sync.Mutex
		var calls []time.Time
		var onWorker, running, most atomic.Int64
		polled := eventsource.PollingEach("poll", eventsource.PollOptions[*gadget.Gadget, string]{
			Fetch: func(context.Context, *gadget.Gadget) (string, error) {
				now := running.Add(1)
				defer running.Add(-1)
				if strings.Contains(string(debug.Stack()), "Reconcile(") {
					onWorker.Add(1)
				}
				mu.Lock()
				defer mu.Unlock()
				most.Store(max(most.Load(), now))
				calls = append(calls, time.Now())
				return "value", nil
			},
			After: func(*gadget.Gadget, string) time.Duration { return interval },
		})
		for i := range components {
			newGadget(ctx, namespace, fmt.Sprint("g", i), "", servedBy(operator))
		}
		s := &seen{}
		c := newConfigMap(namespace, "shared")
		c.Labels, c.Data = map[string]string{"spec": namespace}, map[string]string{"value": "a"}
		Expect(k8s.Create(ctx, c)).To(Succeed())
		runOperator(operator, operatorOptions{
			generate: nothing, transport: watches.wrap, hooks: hookSeeing(s, settings), built: withSources(settings, polled),
		})
		Eventually(ctx, func() int { return len(s.all()) }).WithTimeout(2 * time.Minute).Should(Equal(components))
		settle(ctx, operator)
		Expect(watches.openedConfigMaps()).To(Equal(1))
		mark := markAudit(ctx)
		patch(ctx, c, `{"data":{"value":"b"}}`)
		Eventually(ctx, func() int {
			count := 0
			for _, value := range s.all() {
				if value == "shared=b" {
					count++
				}
			}
			return count
		}).WithTimeout(2 * time.Minute).Should(Equal(components))
		Expect(requestsSince(ctx, mark, operator)).To(BeEmpty())

		By("counting the calls in each second of the last interval")
		// The counts of calls at random times have a standard deviation of a tenth of their mean. It is the mean if calls
		// come in bursts in each second second, and three times the mean if all come together. A machine that stops for a
		// moment also delays calls, but not in each interval.
		settle(ctx, operator)
		before := passes(operator)
		var counts [10]float64
		Eventually(ctx, func(g Gomega) {
			mu.Lock()
			defer mu.Unlock()
			counts = [10]float64{}
			g.Expect(len(calls)).To(BeNumerically(">=", 3*components), "the first calls come together")
			end, total, squares := time.Now(), 0.0, 0.0
			for _, at := range calls {
				if age := end.Sub(at); age < interval {
					counts[int(age*time.Duration(len(counts))/interval)]++
					total++
				}
			}
			mean := float64(components) / float64(len(counts))
			for _, n := range counts {
				squares += (n - mean) * (n - mean)
			}
			g.Expect(total).To(BeNumerically("~", components, components/5), "calls per second: %v", counts)
			g.Expect(math.Sqrt(squares/float64(len(counts)))).To(BeNumerically("<", mean/3), "calls per second: %v", counts)
		}).WithTimeout(90 * time.Second).WithPolling(time.Second).Should(Succeed())
		AddReportEntry("calls per second", counts)
		Expect(onWorker.Load()).To(BeZero())
		Expect(most.Load()).To(BeNumerically("<=", 16), "calls at the same time")
		Expect(passes(operator)).To(Equal(before), "an equal value woke a component")
	}, NodeTimeout(6*time.Minute))

	It("watches in other clusters come with components, and end with the last of them", func(ctx SpecContext) {
		remote := testcluster.StartFor(GinkgoTB(), testcluster.Options{NoControllers: true})
		there, err := client.New(remote.Config(), client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		namespace, operator, watches := newNamespace(ctx), newOperatorName(), &openRequests{}
		Expect(there.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		far := newConfigMap(namespace, "shared")
		far.Data = map[string]string{"value": "far"}
		Expect(there.Create(ctx, far)).To(Succeed())
		shared(ctx, namespace, "shared", "near")
		// Components share a connection only if the transport is the same value.
		transport := counted(remote.Config(), watches)
		settings := eventsource.Related("settings", configMapOptions{
			Of: toShared(namespace), Part: contentOf, Whole: true,
			Cluster: func(_ context.Context, g *gadget.Gadget) (*rest.Config, error) {
				if g.Spec.Parameters["cluster"] == "" {
					return nil, nil
				}
				return &rest.Config{Host: remote.Config().Host, Transport: transport}, nil
			},
		})
		s := &seen{}
		runOperator(operator, operatorOptions{
			generate: nothing, hooks: hookSeeing(s, settings),
			built: withSources(settings),
		})
		near := newGadget(ctx, namespace, "near", "", servedBy(operator))
		inFar := func(g *gadget.Gadget) { g.Spec.Parameters = map[string]string{"cluster": "far"} }
		first := newGadget(ctx, namespace, "first", "", servedBy(operator), inFar)
		second := newGadget(ctx, namespace, "second", "", servedBy(operator), inFar)
		for _, g := range []*gadget.Gadget{near, first, second} {
			expectReady(ctx, g)
		}
		Expect(s.all()).To(Equal(map[string]string{
			namespace + "/near": "shared=near", namespace + "/first": "shared=far", namespace + "/second": "shared=far",
		}))
		Expect(watches.configMaps()).To(Equal(1))
		far.Data["value"] = "changed"
		Expect(there.Update(ctx, far)).To(Succeed())
		Eventually(ctx, s.of(namespace+"/second")).Should(Equal("shared=changed"))
		remove(ctx, first)
		expectNotFound(ctx, first)
		Consistently(ctx, watches.configMaps).Should(Equal(1))
		change(ctx, second, func(g *gadget.Gadget) { g.Spec.Parameters = nil })
		Eventually(ctx, s.of(namespace+"/second")).Should(Equal("shared=near"))
		Eventually(ctx, watches.configMaps).Should(BeZero())
	})
})
