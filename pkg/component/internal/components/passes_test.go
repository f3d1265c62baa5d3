package components

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// version returns the component app with the given resource version and generation.
func version(resourceVersion string, generation int64, edits ...func(*gadget)) Object {
	g := newGadget(edits...)
	g.ResourceVersion, g.Generation = resourceVersion, generation
	return g
}

func recreated(g *gadget) { g.UID = "u2" }

func deleting(g *gadget) { g.DeletionTimestamp = new(metav1.Now()) }

func TestPassesAreSuperseded(t *testing.T) {
	other := func(g *gadget) { g.Name = "other" }
	for _, c := range []struct {
		name          string
		loaded, shown Object
		removed, want bool
	}{
		{"by a new spec", version("5", 1), version("6", 2), false, true},
		{"by a deletion that began", version("5", 1), version("6", 1, deleting), false, true},
		{"if the component was recreated", version("5", 1), version("6", 1, recreated), false, true},
		{"if the component no longer exists", version("5", 1), version("6", 1), true, true},
		{"but not by a new status", version("5", 1), version("6", 1), false, false},
		{"but not by the loaded version", version("5", 2), version("5", 2), false, false},
		{"but not by an older version", version("5", 2), version("4", 1), false, false},
		{
			"but not by the deletion of an earlier component of the same name",
			version("5", 1, recreated), version("4", 1), true, false,
		},
		{"but not if the pass works for the deletion", version("5", 1, deleting), version("6", 1, deleting), false, false},
		{"but not by another component", version("5", 1), version("6", 2, other), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, early := range []bool{false, true} {
				passes := NewPasses(newTable())
				pass := passes.Begin(app)
				if early {
					passes.observe(c.shown, c.removed)
				}
				pass.Loaded(c.loaded)
				if !early {
					passes.observe(c.shown, c.removed)
				}
				if isClosed(passes.Superseded(app)) != c.want || pass.Superseded() != c.want {
					t.Errorf("the pass is superseded: %t, want %t; the watch delivered the change before the pass loaded the "+
						"component: %t", !c.want, c.want, early)
				}
			}
		})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestEventsAfterTheEndOfAPassAreIgnored(t *testing.T) {
	states := newTable()
	passes := NewPasses(states)
	passes.observe(version("1", 1), false)
	if len(states.known) > 0 {
		t.Error("an event created a Memory for a component without a pass")
	}
	first := passes.Begin(app)
	first.Loaded(version("1", 1))
	for i := range 3 {
		passes.observe(version("2", int64(2+i)), false)
	}
	passes.observe(version("3", 5), true)
	first.End()
	if passes.Superseded(app) != nil || passes.RunsToCompletion(app) {
		t.Error("a pass that has ended is still in flight")
	}
	passes.observe(version("4", 6), false)
	second := passes.Begin(app)
	second.Loaded(version("4", 6))
	if second.Superseded() {
		t.Error("an event from before the start of a pass superseded the pass")
	}
	first.End()
	if passes.Superseded(app) == nil {
		t.Error("the end of the previous pass also ended the next pass")
	}
}

// suspended is a component that is suspended.
type suspended struct{ Object }

func (suspended) Suspended() bool { return true }

// faulty is a component whose author's code panics.
type faulty struct{ Object }

func (faulty) Suspended() bool { panic("no schedule") }

func TestAPanicOfATypeDoesNotReachWatches(t *testing.T) {
	passes := NewPasses(newTable())
	pass := passes.Begin(app)
	pass.Loaded(faulty{version("1", 1)})
	passes.observe(faulty{version("2", 2)}, false)
	if !pass.Superseded() {
		t.Error("a new spec did not supersede the pass")
	}
}

func TestAPassRunsToCompletionAfterManyInterruptions(t *testing.T) {
	interrupted := func(n int) []bool { return slices.Repeat([]bool{true}, n) }
	for _, c := range []struct {
		name         string
		previous     []bool
		shown        Object
		removed      bool
		toCompletion bool
		superseded   bool
	}{
		{
			name: "not after fewer interruptions", previous: interrupted(maxInterruptions - 1), shown: version("6", 2),
			superseded: true,
		},
		{
			name: "and a new spec does not end the pass", previous: interrupted(maxInterruptions), shown: version("6", 2),
			toCompletion: true,
		},
		{
			name: "but a suspension ends the pass", previous: interrupted(maxInterruptions), shown: suspended{version("6", 2)},
			toCompletion: true, superseded: true,
		},
		{
			name: "but the start of a deletion ends the pass", previous: interrupted(maxInterruptions),
			shown:        version("6", 2, deleting),
			toCompletion: true, superseded: true,
		},
		{
			name: "but the end of a deletion ends the pass", previous: interrupted(maxInterruptions),
			shown: version("6", 1), removed: true, toCompletion: true, superseded: true,
		},
		{
			name: "but a recreated component ends the pass", previous: interrupted(maxInterruptions),
			shown:        version("6", 1, recreated),
			toCompletion: true, superseded: true,
		},
		{
			name: "once, until there are as many interruptions again", previous: append(interrupted(maxInterruptions), false),
			shown: version("6", 2), superseded: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			passes := NewPasses(newTable())
			for _, interrupted := range c.previous {
				previous := passes.Begin(app)
				previous.Finish(interrupted)
				previous.End()
			}
			pass := passes.Begin(app)
			pass.Loaded(version("5", 1))
			passes.observe(c.shown, c.removed)
			if passes.RunsToCompletion(app) != c.toCompletion || pass.Superseded() != c.superseded {
				t.Errorf("RunsToCompletion returned %t, and Superseded returned %t",
					passes.RunsToCompletion(app), pass.Superseded())
			}
		})
	}
}

func TestOnlyALoadedPassKnowsTheNamedRecords(t *testing.T) {
	for kind, stored := range map[string]*metav1alpha1.Status{
		"rendering": {RenderedSet: "theirs"}, "deletion phases": {PhaseRecord: "theirs"},
	} {
		c := newCluster(t)
		if c.passes.namesOther(app, stored) {
			t.Errorf("without a pass, the status names another record of the %s", kind)
		}
		pass := c.passes.Begin(app)
		if c.passes.namesOther(app, stored) {
			t.Errorf("before the component is loaded, the status names another record of the %s", kind)
		}
		pass.Loaded(newGadget())
		if !c.passes.namesOther(app, stored) {
			t.Errorf("the status names the record of the %s of the pass", kind)
		}
		c.passes.written(app, stored)
		if c.passes.namesOther(app, stored) {
			t.Errorf("after the pass wrote the status, it names another record of the %s", kind)
		}
		pass.End()
		if c.passes.namesOther(app, stored) {
			t.Errorf("after the pass, the status names another record of the %s", kind)
		}
	}
}

func TestPassesThatAreRepeatedWithoutAReport(t *testing.T) {
	failure := errors.New("failed")
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "gadgets"}, "app", failure)
	for name, test := range map[string]struct {
		err        error
		superseded bool
		want       bool
	}{
		"not a pass that succeeded":                {},
		"not a superseded pass that succeeded":     {superseded: true},
		"not a pass that failed":                   {err: failure},
		"a superseded pass that failed":            {err: failure, superseded: true, want: true},
		"a pass with a conflict":                   {err: conflict, want: true},
		"a pass that the end of the process ended": {err: context.Canceled, want: true},
		"a pass with the error ErrSuperseded":      {err: passerror.ErrSuperseded, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			passes := NewPasses(newTable())
			pass := passes.Begin(app)
			pass.Loaded(version("1", 1))
			if test.superseded {
				passes.observe(version("2", 2), false)
			}
			if got := pass.Interrupted(test.err); got != test.want {
				t.Errorf("Interrupted returned %t for this error of a pass", got)
			}
		})
	}
}

func TestWatchInterruptsPasses(t *testing.T) {
	c := newCluster(t)
	informers := &informertest.FakeInformers{Scheme: c.server.Scheme()}
	if err := c.passes.Watch(t.Context(), informers, &gadget{}, &followed{}); err != nil {
		t.Fatal(err)
	}
	informer, err := informers.FakeInformerFor(t.Context(), &gadget{})
	if err != nil {
		t.Fatal(err)
	}
	for name, deliver := range map[string]func(){
		"a new component": func() { informer.Add(newGadget(func(g *gadget) { g.ResourceVersion, g.UID = "2", "u2" })) },
		"a new spec": func() {
			informer.Update(newGadget(), newGadget(func(g *gadget) { g.ResourceVersion, g.Generation = "2", 2 }))
		},
		"the end of a deletion": func() { informer.Delete(newGadget(func(g *gadget) { g.ResourceVersion = "2" })) },
	} {
		t.Run(name, func(t *testing.T) {
			pass := c.passes.Begin(app)
			pass.Loaded(versioned("u1", "1"))
			deliver()
			if !pass.Superseded() {
				t.Error("a change of the component did not supersede the pass")
			}
		})
	}
}

// followed is a Follower that logs its calls.
type followed struct {
	mu    sync.Mutex
	calls []string
}

func (f *followed) log(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
}

func (f *followed) Put(component Object)    { f.log("put " + component.GetResourceVersion()) }
func (f *followed) Remove(component Object) { f.log("remove " + string(component.GetUID())) }
func (f *followed) Complete()               { f.log("complete") }

// handled is an informer whose handler the test calls.
type handled struct {
	*controllertest.FakeInformer
	handler cache.ResourceEventHandler
}

func (h *handled) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	h.handler = handler
	return h.FakeInformer.AddEventHandler(handler)
}

func TestWatchTellsAFollowerAllVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newCluster(t), &followed{}
		informer := &handled{FakeInformer: controllertest.NewFakeInformer()}
		informers := &informertest.FakeInformers{
			Scheme:         c.server.Scheme(),
			InformersByGVK: map[schema.GroupVersionKind]cache.SharedIndexInformer{gadgetGVK: informer},
		}
		if err := c.passes.Watch(t.Context(), informers, &gadget{}, f); err != nil {
			t.Fatal(err)
		}
		informer.Add(version("2", 1))
		synctest.Wait()
		if want := []string{"put 2"}; !slices.Equal(f.calls, want) {
			t.Errorf("before the list is complete, the follower got %q, not %q", f.calls, want)
		}
		informer.Synced()
		synctest.Wait()
		informer.Update(version("2", 1), version("3", 2))
		informer.Delete(version("3", 2, recreated))
		informer.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: app.String(), Obj: version("3", 2)})
		informer.handler.OnAdd("nonsense", false)
		want := []string{"put 2", "complete", "put 3", "remove u2", "remove u1"}
		if !slices.Equal(f.calls, want) {
			t.Errorf("the follower got %q, not %q", f.calls, want)
		}
	})
}

func TestWatchFailsAtOnceIfTheTypeIsNotServed(t *testing.T) {
	c := newCluster(t)
	unserved := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Gadget"}}
	informers := &informertest.FakeInformers{Scheme: c.server.Scheme(), Error: unserved}
	if err := c.passes.Watch(t.Context(), informers, &gadget{}, &followed{}); !errors.Is(err, unserved) {
		t.Errorf("got %v", err)
	}
}

// unavailable returns an error for the first two informers, or for all informers if never is set.
type unavailable struct {
	*informertest.FakeInformers
	calls int
	never bool
}

func (u *unavailable) GetInformer(
	ctx context.Context, obj client.Object, options ...ctrlcache.InformerGetOption,
) (ctrlcache.Informer, error) {
	if u.calls++; u.never || u.calls < 3 {
		return nil, errors.New("connection refused")
	}
	return u.FakeInformers.GetInformer(ctx, obj, options...)
}

func TestWatchTriesAgainWhileTheAPIServerDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		informers := &unavailable{FakeInformers: &informertest.FakeInformers{Scheme: c.server.Scheme()}}
		if err := c.passes.Watch(t.Context(), informers, &gadget{}, &followed{}); err != nil || informers.calls != 3 {
			t.Errorf("Watch returned after %d calls of the cache: %v; want success after 3 calls", informers.calls, err)
		}
		informers.never = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.passes.Watch(ctx, informers, &gadget{}, &followed{}); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v", err)
		}
	})
}
