package faults_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// settingsName is the name of the object that is an input, and shares are the objects that components choose from.
const settingsName = "settings-of-others"

var shares = []string{"share-a", "share-b"}

// These annotations of a component name the object and the address that it is related to.
const (
	shareAnnotation   = "example.com/share"
	addressAnnotation = "example.com/address"
)

const (
	none    = "none"
	unknown = "unknown"
)

// newSource makes a source that comes and goes.
func (o *sourcesOperator) newSource(name string) slot {
	mark := o.newFootprint()
	switch name {
	case sourceShared:
		relation := eventsource.Related(name, eventsource.RelatedOptions[*gadget.Gadget, *corev1.ConfigMap]{
			Of: func(g *gadget.Gadget) []client.ObjectKey {
				runtime.KeepAlive(mark)
				return []client.ObjectKey{{Namespace: g.Namespace, Name: g.Annotations[shareAnnotation]}}
			},
			Selector: labels.SelectorFromSet(labels.Set{shareLabel: "share"}),
			Whole:    rand.IntN(2) == 0,
		})
		return slot{source: relation, see: func(ctx context.Context, g *gadget.Gadget) string {
			found, err := relation.Get(ctx, g)
			if err != nil {
				return unknown
			}
			return textOf(found)
		}}
	case sourcePolled:
		return slotOf(eventsource.Polling[*gadget.Gadget](name,
			pollEvery, func(ctx context.Context) (map[client.ObjectKey]string, error) {
				defer runtime.KeepAlive(mark)
				values, err := ask[map[string]string](ctx, o.world, "/polled", nil)
				return o.byKey(values), err
			}))
	case sourceAnswer:
		return slotOf(eventsource.PollingEach(name, eventsource.PollOptions[*gadget.Gadget, string]{
			Fetch: func(ctx context.Context, g *gadget.Gadget) (string, error) {
				defer runtime.KeepAlive(mark)
				return ask[string](ctx, o.world, "/answer?address="+url.QueryEscape(g.Annotations[addressAnnotation]), nil)
			},
			After: func(*gadget.Gadget, string) time.Duration { return pollEvery },
			Key:   func(g *gadget.Gadget) string { return g.Annotations[addressAnnotation] },
		}))
	default:
		box := eventsource.Inbound(name, eventsource.InboundOptions[*gadget.Gadget, string]{
			Fetch: func(ctx context.Context) (map[client.ObjectKey]string, error) {
				defer runtime.KeepAlive(mark)
				received, err := ask[mailbox](ctx, o.world, "/mail", nil)
				return o.byKey(received.Values), err
			},
		})
		s := slotOf(box)
		s.put = func(m mailbox) error {
			var errs []error
			for _, name := range []string{"app", "visitor"} {
				key := client.ObjectKey{Namespace: o.namespace, Name: name}
				if value, ok := m.Values[name]; ok {
					errs = append(errs, box.Put(key, value))
				} else {
					box.Drop(key)
				}
			}
			return errors.Join(errs...)
		}
		return s
	}
}

// slotOf returns the slot of a source with one value for each component.
func slotOf(source interface {
	eventsource.Source[*gadget.Gadget]
	Get(*gadget.Gadget) (string, time.Duration, bool)
},
) slot {
	return slot{source: source, see: func(_ context.Context, g *gadget.Gadget) string {
		value, _, known := source.Get(g)
		if !known {
			return none
		}
		return value
	}}
}

func (o *sourcesOperator) byKey(values map[string]string) map[client.ObjectKey]string {
	byKey := map[client.ObjectKey]string{}
	for name, value := range values {
		byKey[client.ObjectKey{Namespace: o.namespace, Name: name}] = value
	}
	return byKey
}

func textOf(found []*corev1.ConfigMap) string {
	var texts []string
	for _, c := range found {
		texts = append(texts, c.Name+"="+c.Data["value"])
	}
	return strings.Join(texts, " ")
}

// sourcesScenario returns the life of a component with sources that come and go while their values and the component
// change. In the end the component must have seen what there is, and an equal value must not have woken it.
func sourcesScenario(t *testing.T, s componenttest.Scenario[*gadget.Gadget]) componenttest.Scenario[*gadget.Gadget] {
	t.Helper()
	all := newWorlds(t)
	const leastCycles = 20
	t.Cleanup(func() { all.expectCycles(t, leastCycles) })
	asProcess := operateProcess(t.TempDir(), worldOfOperator+"="+all.URL)
	s.Name = "sources"
	s.Component = func(namespace string) *gadget.Gadget {
		g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
		g.Spec.Manifests = version{value: "one", port: 80}.manifests(namespace)
		g.Annotations = map[string]string{shareAnnotation: shares[0], addressAnnotation: "address-0"}
		return g
	}
	s.Operator = func(ctx context.Context, config *rest.Config, namespace string) error {
		if isKilledWithSources(namespace) {
			return asProcess(ctx, config, namespace)
		}
		return operateSources(ctx, config, namespace, all.URL)
	}
	disturb := func(step string, last func(context.Context, client.Client, string) error) func(context.Context,
		client.Client, string) error {
		return func(ctx context.Context, c client.Client, namespace string) error {
			return errors.Join(all.of(namespace).disturb(ctx, c, namespace, step), last(ctx, c, namespace))
		}
	}
	nothing := func(context.Context, client.Client, string) error { return nil }
	s.Steps = []componenttest.Step[*gadget.Gadget]{
		{Name: "values", Disturb: disturb("values", nothing)},
		{Name: "input", Disturb: disturb("input", writeSettings("one"))},
		{Name: "upgrade", Disturb: disturb("upgrade", nothing), Change: upgrade(version{value: "two", port: 81})},
		{Name: "input again", Disturb: disturb("input again", writeSettings("two"))},
	}
	s.Missing = func(ctx context.Context, c client.Client, namespace string) []string {
		return all.of(namespace).missing(ctx, c, namespace)
	}
	return s
}

// isKilledWithSources reports whether the operator of a namespace runs in its own process, which the test kills. This
// is the case for four of ten seeds.
func isKilledWithSources(namespace string) bool {
	return strings.ContainsAny(namespace[len(namespace)-1:], "0369")
}

// disturb changes the values of all sources, and the component, while the sources come and go.
func (w *world) disturb(ctx context.Context, c client.Client, namespace, step string) error {
	isReference := strings.HasSuffix(namespace, "reference")
	w.change(func() {
		w.busy = true
		if !isReference {
			w.failures = 3
		}
	})
	defer w.change(func() { w.busy, w.failures = false, 0 })
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(namespace + step)) // A hash never fails.
	dice := rand.New(rand.NewPCG(hash.Sum64(), 2))
	for range 20 + dice.IntN(20) {
		if err := w.disturbOnce(ctx, c, namespace, dice); err != nil {
			return err
		}
		pause(ctx, time.Duration(dice.IntN(30))*time.Millisecond)
	}
	return ctx.Err()
}

// disturbOnce makes one change.
func (w *world) disturbOnce(ctx context.Context, c client.Client, namespace string, dice *rand.Rand) error {
	value, name := fmt.Sprint(dice.IntN(5)), "app"
	if dice.IntN(4) == 0 {
		name = "visitor"
	}
	share := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shares[dice.IntN(len(shares))]}}
	switch dice.IntN(8) {
	case 0:
		return client.IgnoreNotFound(c.Delete(ctx, share))
	case 1, 2:
		return writeShare(ctx, c, share, "share", value)
	case 3:
		w.change(func() { w.polled[name] = value })
	case 4:
		w.change(func() { w.answers[fmt.Sprint("address-", dice.IntN(2))] = value })
	case 5:
		w.change(func() {
			w.posted++
			if w.mail[name] = value; value == "0" {
				delete(w.mail, name)
			}
		})
	case 6:
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:"address-%d"}}}`,
			shareAnnotation, share.Name, addressAnnotation, dice.IntN(2))
		g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
		return c.Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(patch)))
	case 7:
		visitor := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "visitor"}}
		visitor.Annotations = map[string]string{shareAnnotation: share.Name, addressAnnotation: "address-0"}
		visitor.Spec.AllowEmpty = true
		if dice.IntN(2) == 0 {
			return client.IgnoreNotFound(c.Delete(ctx, visitor))
		}
		return ignoreExists(c.Create(ctx, visitor))
	}
	return nil
}

// writeShare creates or changes an object that components are related to.
func writeShare(ctx context.Context, c client.Client, share *corev1.ConfigMap, label, value string) error {
	share.Labels, share.Data = map[string]string{shareLabel: label}, map[string]string{"value": value}
	err := c.Create(ctx, share)
	if apierrors.IsAlreadyExists(err) {
		patch := fmt.Appendf(nil, `{"data":{"value":%q}}`, value)
		return c.Patch(ctx, share, client.RawPatch(types.MergePatchType, patch))
	}
	return err
}

// writeSettings returns a function that writes the object that is an input.
func writeSettings(value string) func(context.Context, client.Client, string) error {
	return func(ctx context.Context, c client.Client, namespace string) error {
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: settingsName}}
		return writeShare(ctx, c, settings, "settings", value)
	}
}

// missing compares what the last pass over the component saw with what there is, and checks that the sources are at
// rest: equal values start no pass, and no watch and no goroutine is left over.
func (w *world) missing(ctx context.Context, c client.Client, namespace string) []string {
	var g gadget.Gadget
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "app"}, &g)
	if apierrors.IsNotFound(err) {
		return w.missingAfterDeletion(ctx, c, namespace)
	}
	if err != nil {
		return []string{err.Error()}
	}
	var found []*corev1.ConfigMap
	share := &corev1.ConfigMap{}
	switch err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: g.Annotations[shareAnnotation]}, share); {
	case err == nil:
		found = append(found, share)
	case !apierrors.IsNotFound(err):
		return []string{err.Error()}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	address := g.Annotations[addressAnnotation]
	want := map[string]string{
		sourceShared: textOf(found), sourceAnswer: address + "=" + w.answers[address],
		sourcePolled: orNone(w.polled, "app"), sourceMail: orNone(w.mail, "app"),
	}
	var problems []string
	if seen := w.seen["app"]; !maps.Equal(seen, want) {
		problems = append(problems, fmt.Sprintf("the last pass saw %v, but there is %v", seen, want))
	}
	const restPolls = 5
	if time.Since(w.lastPass) < 300*time.Millisecond || w.pollsSince < restPolls {
		problems = append(problems, fmt.Sprintf("passes do not end: the last was %s ago, with %d polls since",
			time.Since(w.lastPass), w.pollsSince))
	}
	return append(problems, w.leftover(2)...)
}

func orNone(values map[string]string, name string) string {
	if value, ok := values[name]; ok {
		return value
	}
	return none
}

// missingAfterDeletion deletes the visitor, and returns what is left over.
func (w *world) missingAfterDeletion(ctx context.Context, c client.Client, namespace string) []string {
	visitor := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "visitor"}}
	if err := c.Delete(ctx, visitor); err == nil || !apierrors.IsNotFound(err) {
		return []string{fmt.Sprintf("the second component exists: %v", err)}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leftover(0)
}

// leftover compares the watches and goroutines of sources with those that there must be. The caller holds the lock.
func (w *world) leftover(watches int) []string {
	v, goroutines := w.vitals, len(sourceNames)+1
	var problems []string
	switch {
	case v.Busy:
		problems = append(problems, "sources still come and go")
	case v.Watches != watches:
		problems = append(problems, fmt.Sprintf("the sources have %d watches instead of %d", v.Watches, watches))
	case v.Goroutines > goroutines:
		problems = append(problems, fmt.Sprintf("the sources have %d goroutines instead of %d", v.Goroutines, goroutines))
	case v.Removed > 0:
		problems = append(problems, fmt.Sprintf("%d removed sources are still in memory", v.Removed))
	}
	return problems
}
