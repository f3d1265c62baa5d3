package conformance_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/debug"
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

// nothing renders no dependents.
var nothing = generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) { return nil, nil })

var _ = Describe("Many event sources:", Serial, func() {
	It("sources that come and go while components change, with kills, leave nothing behind, and no event is lost", func(ctx SpecContext) {
		const rounds, kills, components = 1000, 3, 20
		namespace, operator, watches := newNamespace(ctx), newOperatorName(), &openRequests{}
		var seenBy *seen
		var reconciler *gadgetReconciler
		var relation *component.Relation[*gadget.Gadget, *corev1.ConfigMap]
		own := labels.SelectorFromSet(labels.Set{"spec": namespace})
		start := func() (stop func()) {
			s := &seen{}
			seenBy = s
			relation = component.Related("seen", configMapOptions{
				For: component.ForAnnotation[*corev1.ConfigMap]("example.com/gadgets"), Selector: own, Whole: true,
			})
			return runOperator(operator, operatorOptions{
				generate: nothing, transport: watches.wrap, hooks: hookSeeing(s, relation),
				built: func(r *gadgetReconciler) {
					reconciler = r
					withSources(relation)(r)
				},
			})
		}
		stop := start()
		for i := range components {
			newGadget(ctx, namespace, fmt.Sprint("g", i), "", servedBy(operator))
		}
		var shares []*corev1.ConfigMap
		for i := range 5 {
			c := newConfigMap(namespace, fmt.Sprint("c", i))
			c.Labels = map[string]string{"spec": namespace}
			Expect(k8s.Create(ctx, c)).To(Succeed())
			shares = append(shares, c)
		}
		settle(ctx, operator)
		goroutines := runtime.NumGoroutine()
		var former []weak.Pointer[component.Relation[*gadget.Gadget, *corev1.ConfigMap]]
		for round := range rounds {
			extra := component.Related("extra", configMapOptions{Of: toShared(namespace), Selector: own})
			former = append(former, weak.Make(extra))
			sources := []gadgetSource{
				extra,
				component.Polling[*gadget.Gadget]("poll", time.Millisecond, func(context.Context) (map[client.ObjectKey]int, error) { return nil, nil }),
				component.PollingEach("each", component.PollOptions[*gadget.Gadget, int]{
					Fetch: func(context.Context, *gadget.Gadget) (int, error) { return round, nil },
					After: func(*gadget.Gadget, int) time.Duration { return time.Millisecond },
				}),
				component.Inbound("mail", component.InboundOptions[*gadget.Gadget, int]{Expire: time.Hour}),
			}
			var removes []func()
			for _, source := range sources {
				remove, err := reconciler.AddEventSource(source)
				Expect(err).NotTo(HaveOccurred())
				removes = append(removes, remove)
			}
			if round%20 == 0 {
				c := shares[rand.IntN(len(shares))]
				patch(ctx, c, fmt.Sprintf(`{"metadata":{"annotations":{"example.com/gadgets":"g%d,g%d"}},"data":{"value":"%d"}}`,
					rand.IntN(components), rand.IntN(components), round))
			}
			for _, remove := range removes {
				remove()
			}
			if round%(rounds/kills) == rounds/kills-1 && round < rounds-1 {
				stop()
				stop = start()
			}
		}
		settle(ctx, operator)

		By("comparing what each component saw last with what there is")
		want := map[string][]string{}
		list := &corev1.ConfigMapList{}
		Expect(k8s.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: own})).To(Succeed())
		for _, c := range list.Items {
			for _, name := range component.ForAnnotation[*corev1.ConfigMap]("example.com/gadgets")(&c) {
				if text := c.Name + "=" + c.Data["value"]; len(want[name.Name]) == 0 || want[name.Name][len(want[name.Name])-1] != text {
					want[name.Name] = append(want[name.Name], text)
				}
			}
		}
		Eventually(ctx, func() map[string]string {
			differs := map[string]string{}
			last := seenBy.all()
			for i := range components {
				name := fmt.Sprint("g", i)
				if got := last[namespace+"/"+name]; got != strings.Join(want[name], " ") {
					differs[name] = got + ", want " + strings.Join(want[name], " ")
				}
			}
			return differs
		}).Should(BeEmpty())

		By("looking for goroutines, watches and memory")
		Eventually(ctx, watches.configMaps).Should(Equal(1))
		Eventually(ctx, runtime.NumGoroutine).Should(BeNumerically("<=", goroutines+10))
		left := func() int {
			runtime.GC()
			count := 0
			for _, w := range former {
				if w.Value() != nil {
					count++
				}
			}
			return count
		}
		Eventually(ctx, left).Should(BeNumerically("<=", 1))
		stop()
		Eventually(ctx, watches.configMaps).Should(BeZero())
	}, NodeTimeout(5*time.Minute))

	It("1,000 components that share a related object cost one watch, and a polled value of each is fetched as often as said", func(ctx SpecContext) {
		const components, interval = 1000, 10 * time.Second
		namespace, operator, watches := newNamespace(ctx), newOperatorName(), &openRequests{}
		own := labels.SelectorFromSet(labels.Set{"spec": namespace})
		settings := component.Related("settings", configMapOptions{Of: toShared(namespace), Selector: own, Whole: true})
		var mu sync.Mutex
		var calls []time.Time
		var onWorker atomic.Int64
		polled := component.PollingEach("poll", component.PollOptions[*gadget.Gadget, string]{
			Fetch: func(context.Context, *gadget.Gadget) (string, error) {
				if strings.Contains(string(debug.Stack()), "Reconcile(") {
					onWorker.Add(1)
				}
				mu.Lock()
				defer mu.Unlock()
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
		Expect(watches.opened["configmaps"]).To(Equal(1))
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

		By("counting the calls in each second after the first interval")
		mu.Lock()
		began := calls[len(calls)-1]
		mu.Unlock()
		Eventually(ctx, func() bool { return time.Since(began) > 25*time.Second }).WithTimeout(time.Minute).WithPolling(time.Second).Should(BeTrue())
		before := passes(operator)
		mu.Lock()
		defer mu.Unlock()
		var counts [10]int
		for _, at := range calls {
			if second := int(at.Sub(began.Add(15*time.Second)) / time.Second); at.After(began.Add(15*time.Second)) && second < len(counts) {
				counts[second]++
			}
		}
		total := 0
		for _, n := range counts {
			total += n
		}
		AddReportEntry("calls per second", counts)
		Expect(total).To(BeNumerically("~", components, components/5), "calls in %s: %v", interval, counts)
		for _, n := range counts {
			Expect(n).To(BeNumerically("~", components/len(counts), components/len(counts)), "calls per second: %v", counts)
		}
		Expect(onWorker.Load()).To(BeZero())
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
		settings := component.Related("settings", configMapOptions{
			Of: toShared(namespace), Part: contentOf, Whole: true,
			Cluster: func(_ context.Context, g *gadget.Gadget) (*rest.Config, error) {
				if g.Spec.Parameters["cluster"] == "" {
					return nil, nil
				}
				config := remote.Config()
				config.Wrap(watches.wrap)
				return config, nil
			},
		})
		s := &seen{}
		runOperator(operator, operatorOptions{generate: nothing, hooks: hookSeeing(s, settings), built: withSources(settings)})
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
		expectGone(ctx, first)
		Consistently(ctx, watches.configMaps).Should(Equal(1))
		change(ctx, second, func(g *gadget.Gadget) { g.Spec.Parameters = nil })
		Eventually(ctx, s.of(namespace+"/second")).Should(Equal("shared=near"))
		Eventually(ctx, watches.configMaps).Should(BeZero())
	})
})
