package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

const (
	// worldOfOperator is an environment variable with the address of the worlds. If it is set, the operator has sources.
	worldOfOperator = "FAIRLEAD_TEST_WORLD"
	// shareLabel is the label of the objects that components are related to.
	shareLabel = "example.com/shared"
	// pollEvery is the interval of polls.
	pollEvery = 20 * time.Millisecond
)

// The names of the sources that come and go.
const (
	sourceShared, sourcePolled, sourceAnswer, sourceMail = "shared", "polled", "answer", "mail"
)

var sourceNames = []string{sourceShared, sourcePolled, sourceAnswer, sourceMail}

// sourcesOperator is an operator whose sources come and go.
type sourcesOperator struct {
	world      string
	life       int
	namespace  string
	reconciler *component.Reconciler[*gadget.Gadget]
	watches    atomic.Int64

	mu      sync.Mutex
	slots   map[string]slot
	removes map[string]func()
	// footprints contains one footprint of each source that was made.
	footprints []weak.Pointer[footprint]
}

// footprint is what a source refers to. It is in memory as long as the source is.
type footprint [64]byte

// newFootprint returns a footprint for a new source.
func (o *sourcesOperator) newFootprint() *footprint {
	f := &footprint{}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.footprints = append(o.footprints, weak.Make(f))
	return f
}

// removedInMemory counts the removed sources that are still in memory, if this process has only one operator.
func (o *sourcesOperator) removedInMemory() int {
	if os.Getenv(runAsOperator) == "" {
		return 0
	}
	runtime.GC()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.footprints = slices.DeleteFunc(o.footprints, func(f weak.Pointer[footprint]) bool { return f.Value() == nil })
	return len(o.footprints) - len(o.slots)
}

// slot is a source that comes and goes. see returns its value for a component as text. put is set for a mailbox.
type slot struct {
	source eventsource.Source[*gadget.Gadget]
	see    func(context.Context, *gadget.Gadget) string
	put    func(mailbox) error
}

// operateSources runs an operator with sources that come and go, until the context ends.
func operateSources(ctx context.Context, config *rest.Config, namespace, worldURL string) error {
	scheme, err := gadget.Scheme()
	if err != nil {
		return err
	}
	o := &sourcesOperator{
		world: worldURL + "/" + namespace, namespace: namespace, slots: map[string]slot{}, removes: map[string]func(){},
	}
	if o.life, err = ask[int](ctx, o.world, "/life", nil); err != nil {
		return err
	}
	config.QPS = -1
	config.Wrap(o.countWatches)
	mgr, err := newManager(config, namespace, scheme)
	if err != nil {
		return err
	}
	// What a component is related to is in annotations, because a change of its spec would be a new revision.
	options := withTestDefaults(component.Options{Watching: component.Watching{Metadata: true}})
	o.reconciler = component.NewReconciler[*gadget.Gadget](reconciler, renderInputs, options).
		WithHooks(component.Hooks[*gadget.Gadget]{PreReconcile: o.reportSeen})
	if err := o.addAll(); err != nil {
		return err
	}
	if err := o.reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	go o.comeAndGo(ctx)
	go o.deliver(ctx)
	return mgr.Start(ctx)
}

// renderInputs renders the manifests of a gadget and, for the component app, a ConfigMap with its inputs.
var renderInputs = generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, err := gadget.Generate.Generate(ctx, req)
	if err != nil || req.Name != "app" {
		return objects, err
	}
	inputs, err := json.Marshal(req.Inputs)
	return append(objects, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "rendered"}, Data: map[string]string{"inputs": string(inputs)},
	}), err
})

// addAll adds all sources before the start. The source "settings" is an input and stays.
func (o *sourcesOperator) addAll() error {
	settings := eventsource.Related("settings", eventsource.RelatedOptions[*gadget.Gadget, *corev1.ConfigMap]{
		Of: func(g *gadget.Gadget) []client.ObjectKey {
			return []client.ObjectKey{{Namespace: g.Namespace, Name: settingsName}}
		},
		Selector: labels.SelectorFromSet(labels.Set{shareLabel: "settings"}),
		Part:     func(c *corev1.ConfigMap) any { return c.Data },
	})
	if _, err := o.reconciler.AddEventSource(eventsource.AsInput(settings)); err != nil {
		return err
	}
	for _, name := range sourceNames {
		if err := o.add(name); err != nil {
			return err
		}
	}
	return nil
}

// add adds a source that comes and goes. Hooks and deliveries use it before it is added, so that no value is lost.
func (o *sourcesOperator) add(name string) error {
	s := o.newSource(name)
	o.mu.Lock()
	o.slots[name] = s
	o.mu.Unlock()
	remove, err := o.reconciler.AddEventSource(s.source)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removes[name] = remove
	return err
}

// comeAndGo removes and adds sources at random while the world is busy, and reports vitals.
func (o *sourcesOperator) comeAndGo(ctx context.Context) {
	for busy := true; ctx.Err() == nil; {
		if busy {
			name := sourceNames[rand.IntN(len(sourceNames))]
			o.mu.Lock()
			remove := o.removes[name]
			o.mu.Unlock()
			remove()
			pause(ctx, rand.N(10*time.Millisecond))
			if err := o.add(name); err != nil {
				panic(err)
			}
		}
		v := vitals{Busy: busy, Watches: int(o.watches.Load()), Goroutines: goroutinesOfSources()}
		if !busy {
			v.Removed = o.removedInMemory()
		}
		if now, err := ask[bool](ctx, o.world, fmt.Sprint("/vitals?life=", o.life), v); err == nil {
			busy = now
		}
		pause(ctx, rand.N(30*time.Millisecond))
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// goroutinesOfSources counts the goroutines of sources, if this process has only one operator.
func goroutinesOfSources() int {
	if os.Getenv(runAsOperator) == "" {
		return 0
	}
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return 0
	}
	total := 0
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		var n int
		if _, err := fmt.Sscanf(strings.TrimSpace(stack), "%d @", &n); err == nil && isOfEventSources(stack) {
			total += n
		}
	}
	return total
}

// isOfEventSources reports whether a goroutine runs code of an event source.
func isOfEventSources(stack string) bool {
	return slices.ContainsFunc([]string{"eventsources", "polled", "related"}, func(of string) bool {
		return strings.Contains(stack, "component/internal/"+of+".")
	})
}

// deliver puts values into the mailbox, as a client of a queue.
func (o *sourcesOperator) deliver(ctx context.Context) {
	after := 0
	for ctx.Err() == nil {
		received, err := ask[mailbox](ctx, o.world, fmt.Sprint("/queue?after=", after), nil)
		if err != nil || received.Posted == after {
			pause(ctx, pollEvery)
			continue
		}
		after = received.Posted
		o.mu.Lock()
		put := o.slots[sourceMail].put
		o.mu.Unlock()
		if err := put(received); err != nil {
			panic(err)
		}
	}
}

// reportSeen is a hook that reports the values of all sources.
func (o *sourcesOperator) reportSeen(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
	seen := map[string]string{}
	for _, name := range sourceNames {
		o.mu.Lock()
		see := o.slots[name].see
		o.mu.Unlock()
		seen[name] = see(ctx, g)
	}
	_, err := ask[any](ctx, o.world, fmt.Sprintf("/seen?life=%d&name=%s", o.life, g.Name), seen)
	return err
}

// countWatches counts the open watches of sources.
func (o *sourcesOperator) countWatches(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		query := r.URL.Query()
		if err != nil || query.Get("watch") == "" || !strings.HasPrefix(query.Get("labelSelector"), shareLabel) {
			return response, err
		}
		o.watches.Add(1)
		response.Body = &watchBody{ReadCloser: response.Body, closed: func() { o.watches.Add(-1) }}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// watchBody reports its end once.
type watchBody struct {
	io.ReadCloser
	once   sync.Once
	closed func()
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	b.once.Do(b.closed)
	return b.ReadCloser.Close()
}
