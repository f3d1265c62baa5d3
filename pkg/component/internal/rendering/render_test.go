package rendering

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestNewInputsAreRenderedTwiceAndKnownInputsNotAtAll(t *testing.T) {
	s := newScene(t)
	if value, calls := s.apply(); value != "1" || calls != 2 {
		t.Errorf("new inputs: got the value %q after %d calls of the generator, want 1 after 2", value, calls)
	}
	if value, calls := s.apply(); value != "1" || calls != 0 {
		t.Errorf("known inputs: got the value %q after %d calls of the generator, want 1 after none", value, calls)
	}
	s.restart()
	if value, calls := s.apply(); value != "1" || calls != 1 {
		t.Errorf("after a restart: got the value %q after %d calls of the generator, although the inputs are known to be "+
			"deterministic", value, calls)
	}
	s.renderer.Drop(types.NamespacedName{Namespace: "shop", Name: "web"})
	if _, calls := s.apply(); calls != 1 {
		t.Errorf("after an eviction from the cache: %d calls of the generator, want 1", calls)
	}
	s.request.Inputs.Digest = "others"
	if _, calls := s.apply(); calls != 2 {
		t.Errorf("other inputs: %d calls of the generator, want 2", calls)
	}
	s.options.SkipDeterminismCheck = true
	s.restart()
	s.request.Inputs.Digest = "third"
	if _, calls := s.apply(); calls != 1 {
		t.Errorf("without the determinism check: %d calls of the generator, want 1", calls)
	}
}

func TestTheGeneratorGetsTheInputsAndTheRevision(t *testing.T) {
	s := newScene(t)
	s.options.SkipDeterminismCheck = true
	s.restart()
	s.component.status = metav1alpha1.Status{Revision: 3, InputDigest: "former"}
	s.request.Inputs.Parameters = map[string]any{"a": "b"}
	var got generator.Request
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		got = req
		return nil, nil
	}
	if _, _, err := s.render(); err != nil {
		t.Fatal(err)
	}
	if got.Namespace != "shop" || got.Name != "web" || got.Parameters["a"] != "b" || got.Digest != "inputs" {
		t.Errorf("the request to the generator has the wrong inputs: %+v", got)
	}
	if got.Revision != 4 || !got.Now.Equal(s.clock.Now()) || got.Component != client.Object(s.component) {
		t.Errorf("the request to the generator has the wrong component: %+v", got)
	}
	if got.Capabilities.Version.GitVersion == "" {
		t.Error("the request to the generator has no capabilities of the cluster")
	}
	s.component.status.InputDigest = "inputs"
	s.restart()
	if _, _, err := s.render(); err != nil || got.Revision != 3 {
		t.Errorf("the inputs of revision 3 are rendered as revision %d: %v", got.Revision, err)
	}
}

func TestTheErrorsOfAGenerator(t *testing.T) {
	failed := errors.New("template: line 3")
	returns := func(objects []client.Object, err error) generator.GeneratorFunc {
		return func(context.Context, generator.Request) ([]client.Object, error) { return objects, err }
	}
	for _, c := range []struct {
		name     string
		generate generator.GeneratorFunc
		reason   string
		terminal bool
		message  string
	}{
		{"an error is terminal", returns(nil, failed), metav1alpha1.ReasonGenerateFailed, true, "template: line 3"},
		{
			"an error with a delay is retried", returns(nil, &passerror.Retry{Cause: failed, After: time.Second}),
			metav1alpha1.ReasonRetrying, false, "line 3",
		},
		{
			"a panic is terminal", func(context.Context, generator.Request) ([]client.Object, error) { panic("oh") },
			metav1alpha1.ReasonGenerateFailed, true, "the generator panicked: oh",
		},
		{
			"nil is not an object", returns([]client.Object{nil}, nil),
			metav1alpha1.ReasonGenerateFailed, true, "returned nil as object 1",
		},
		{
			"a type must be known", returns([]client.Object{&part{}}, nil),
			metav1alpha1.ReasonGenerateFailed, true, "*rendering.part",
		},
		{
			"a manifest must be correct", returns([]client.Object{settings("", "1")}, nil),
			metav1alpha1.ReasonInvalidManifests, true, "name",
		},
		{
			"the component must not be among its dependents",
			returns([]client.Object{&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Part", "metadata": map[string]any{"name": "web"},
			}}}, nil),
			metav1alpha1.ReasonInvalidManifests, true, "the component itself is among its dependents",
		},
		{
			"an error is retried if the API server was overloaded during a look-up",
			func(ctx context.Context, req generator.Request) ([]client.Object, error) {
				_, _ = lookUp(ctx, req.Target)
				return nil, failed
			},
			metav1alpha1.ReasonRetrying, false, "template: line 3",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.Serve("example.com/v1", "parts", "Part", true)
			s.Refuse(overloaded)
			s.generate = c.generate
			set, _, err := s.render()
			expect(t, err, c.reason, c.terminal, c.message)
			if _, called := set.Results(); called {
				t.Error("a failed rendering returned results of the generator")
			}
		})
	}
}

func TestAnEmptySetIsRefusedWhereThereAreDependents(t *testing.T) {
	s := newScene(t)
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		req.Report(generator.Result{Severity: generator.SeverityWarning, Message: "there is no value"})
		return nil, nil
	}
	if _, _, err := s.render(); err != nil {
		t.Errorf("Render of a component without dependents returned %v", err)
	}
	s.request.Inventory = []metav1alpha1.InventoryEntry{{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}}
	set, _, err := s.render()
	expect(t, err, metav1alpha1.ReasonInvalidManifests, true,
		"the rendering is empty, although the component has dependents (1)")
	if results, called := set.Results(); !called || len(results) != 1 {
		t.Errorf("an empty rendering does not return the results of the generator: %v", results)
	}
	s.request.AllowEmpty = true
	if _, _, err := s.render(); err != nil {
		t.Errorf("Render of a component that allows an empty rendering returned %v", err)
	}
}

func TestARenderingFollowsItsLookups(t *testing.T) {
	s := newScene(t)
	woken := make(chan types.NamespacedName, 100)
	s.options.Wake = func(name types.NamespacedName) { woken <- name }
	s.restart()
	s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		value, err := lookUp(ctx, req.Target)
		return []client.Object{settings("a", value)}, client.IgnoreNotFound(err)
	}
	if value, _ := s.apply(); value != "" {
		t.Errorf("got %q", value)
	}
	s.put("1")
	if got := <-woken; got.Name != "web" {
		t.Errorf("the look-up enqueued the wrong component %s", got)
	}
	if value, calls := s.apply(); value != "1" || calls != 2 {
		t.Errorf("got the value %q after %d calls of the generator, want 1 after 2", value, calls)
	}
	s.put("2")
	<-woken
	s.eventually(func() bool { value, _ := s.apply(); return value == "2" })
	s.restart()
	if value, calls := s.apply(); value != "2" || calls != 1 {
		t.Errorf("after a restart: got the value %q after %d calls of the generator, want 2 after 1", value, calls)
	}
}

func TestTheLookupsOfAFailedRenderingAreFollowed(t *testing.T) {
	s := newScene(t)
	woken := make(chan types.NamespacedName, 100)
	s.options.Wake = func(name types.NamespacedName) { woken <- name }
	s.restart()
	s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		value, err := lookUp(ctx, req.Target)
		return []client.Object{settings("a", value)}, err
	}
	if _, _, err := s.render(); err == nil {
		t.Fatal("the rendering returned no error, although the looked-up object does not exist")
	}
	s.put("1")
	<-woken
	if value, _ := s.apply(); value != "1" {
		t.Errorf("got %q", value)
	}
}

func TestAChangedLookupIsNotForgottenWhenItsRenderingFails(t *testing.T) {
	s := newScene(t)
	woken := make(chan types.NamespacedName, 100)
	s.options.Wake = func(name types.NamespacedName) { woken <- name }
	s.restart()
	var failure error
	s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		value, err := lookUp(ctx, req.Target)
		if err == nil && value == "2" {
			err = failure
		}
		return []client.Object{settings("a", value)}, err
	}
	s.put("1")
	if value, _ := s.apply(); value != "1" {
		t.Fatalf("got %q", value)
	}
	failure = errors.New("2 is too much")
	s.put("2")
	<-woken
	for range 3 {
		if _, _, err := s.render(); err == nil {
			t.Fatal("the rendering returned no error, although the generator refuses the looked-up object")
		}
	}
	failure = nil
	if value, _ := s.apply(); value != "2" {
		t.Errorf("got %q, want the value of the looked-up object", value)
	}
	if value, calls := s.apply(); value != "2" || calls != 0 {
		t.Errorf("got the value %q after %d calls of the generator, want 2 after none", value, calls)
	}
}

func TestTheStatusOfALookedUpObjectCountsOnlyIfItIsUsed(t *testing.T) {
	for _, c := range []struct {
		name          string
		reads, proven bool
	}{
		{"the status is used", true, false},
		{"the status is not used", false, false},
		{"the status is used in a proven rendering", true, true},
		{"the status is not used in a proven rendering", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, proves := provingScene(t)
			*proves = c.proven
			s.Put("example.com/v1", "Widget", "shop", "w", map[string]any{"status": map[string]any{"address": "10.0.0.1"}})
			s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
				widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
				found, err := req.Target.Get(ctx, widget, "shop", "w")
				if err != nil {
					return nil, err
				}
				value := "fixed"
				if c.reads {
					value, _, _ = unstructured.NestedString(found.Object, "status", "address")
				}
				return []client.Object{settings("a", value)}, nil
			}
			set, _, err := s.render()
			if err != nil || set.Lookups.ReadsStatus != c.reads {
				t.Errorf("the rendering uses the status of looked-up objects: %t, with the error %v", set.Lookups.ReadsStatus, err)
			}
		})
	}
}

func TestASourceIsFetchedBeforeANewRendering(t *testing.T) {
	s := newScene(t)
	woken := make(chan struct{}, 1)
	fetcher := &slowFetcher{release: make(chan struct{})}
	s.options.Fetches = input.NewFetches(t.Context(), fetcher, clock.RealClock{}, nil)
	s.options.Wake = func(types.NamespacedName) { woken <- struct{}{} }
	s.restart()
	s.request.Inputs.Source = &metav1alpha1.SourceReference{URL: "https://example.com/a.tgz", SHA256: "a"}
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		data, err := fs.ReadFile(req.Source, "a.yaml")
		return []client.Object{settings("a", string(data))}, err
	}
	_, calls, err := s.render()
	expect(t, err, metav1alpha1.ReasonFetching, false, "the source is being fetched from https://example.com/a.tgz")
	if calls != 0 {
		t.Error("the generator was called before the source was fetched")
	}
	s.component.status.InputDigest = "inputs"
	if _, _, err := s.render(); !errors.Is(err, passerror.ErrObserving) {
		t.Errorf("the source of applied inputs is fetched again: %v", err)
	}
	close(fetcher.release)
	<-woken
	if value, _ := s.apply(); value != "content" {
		t.Errorf("got %q", value)
	}
	if _, calls := s.apply(); calls != 0 {
		t.Error("a rendering in the cache was rendered again")
	}
}

func TestATypeThatIsNotServedYetIsNormalisedAgain(t *testing.T) {
	s := newScene(t)
	gadgets := schema.GroupVersion{Group: "gadgets.example.com", Version: "v1"}
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(gadgets.String())
		o.SetKind("Gadget")
		o.SetName("g")
		return []client.Object{o}, nil
	}
	scope := func(want manifests.Scope, wantCalls int) bool {
		t.Helper()
		set, calls, err := s.render()
		if err != nil || calls > wantCalls {
			t.Fatalf("the generator was called %d times, with the error %v", calls, err)
		}
		return set.Objects[0].Scope == want
	}
	if !scope(manifests.ScopeUnknown, 2) || !scope(manifests.ScopeUnknown, 0) {
		t.Error("a type that is not served has a known scope")
	}
	first, _, _ := s.render()
	if again, _, err := s.render(); err != nil || &again.Objects[0] != &first.Objects[0] {
		t.Errorf("the set is normalised again although its type is still not served, with the error %v", err)
	}
	s.Serve(gadgets.String(), "gadgets", "Gadget", true)
	s.eventually(func() bool {
		s.request.Target.Client.Discovery.Mapper().Reset()
		return scope(manifests.ScopeNamespaced, 0)
	})
}

func TestOtherTypesCauseANewRenderingOnlyIfAnAnswerChanges(t *testing.T) {
	for _, c := range []struct {
		name  string
		asks  string
		calls int
	}{
		{"no type was asked for", "", 0},
		{"a type was asked for that is still not served", "others.example.com/v1", 0},
		{"a type was asked for that is served now", "gadgets.example.com/v1", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
				served := c.asks != "" && req.Capabilities.APIVersions.Has(c.asks)
				return []client.Object{settings("a", strconv.FormatBool(served))}, nil
			}
			before, _, err := s.render()
			if err != nil {
				t.Fatal(err)
			}
			s.Serve("gadgets.example.com/v1", "gadgets", "Gadget", true)
			calls := 0
			s.eventually(func() bool {
				set, more, err := s.render()
				if err != nil {
					t.Fatal(err)
				}
				calls += more
				return set.Lookups.Served.Digest != before.Lookups.Served.Digest
			})
			if calls != c.calls {
				t.Errorf("the generator was called %d times, want %d", calls, c.calls)
			}
		})
	}
}

func TestPhasesAreNormalisedForADeletion(t *testing.T) {
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": "bye", "namespace": "shop", "annotations": map[string]any{
				reconciler + "/" + manifests.AnnotationPhase: string(manifests.PhasePreDelete),
			},
		},
	}}
	after := body.DeepCopy()
	after.SetName("last")
	after.SetAnnotations(map[string]string{
		reconciler + "/" + manifests.AnnotationPhase: string(manifests.PhasePostDelete),
	})
	s := newScene(t)
	scopeOf := s.request.Target.Client.Discovery.Scope
	pre, post, err := NormalisePhases([]*unstructured.Unstructured{body, after}, owner, scopeOf, nil)
	if err != nil || len(pre) != 1 || len(post) != 1 || pre[0].Key.Name != "bye" || post[0].Key.Name != "last" {
		t.Errorf("the objects of the deletion phases are %v and %v, with the error %v", pre, post, err)
	}
	body.SetName("")
	_, _, err = NormalisePhases([]*unstructured.Unstructured{body}, owner, scopeOf, nil)
	expect(t, err, metav1alpha1.ReasonInvalidManifests, true, "name")
}

func TestAPartOfDiscoveryThatFailsRefusesASetThatLacksObjects(t *testing.T) {
	s := newScene(t)
	hasWidgets := func(req generator.Request) bool {
		return req.Capabilities.APIVersions.Has("example.com/v1")
	}
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		objects := []client.Object{settings("a", "1")}
		if hasWidgets(req) {
			objects = append(objects, settings("b", "1"))
		}
		return objects, nil
	}
	s.apply()
	if len(s.request.Inventory) != 2 {
		t.Fatalf("want two objects in the inventory, got %v", s.request.Inventory)
	}
	other := newScene(t)
	other.generate, other.component.status, other.request.Inventory = s.generate, s.component.status, s.request.Inventory
	other.request.Status = &other.component.status
	other.Break("example.com/v1")
	_, _, err := other.render()
	expect(t, err, metav1alpha1.ReasonRetrying, false, "discovery of example.com/v1 failed")
	if _, kept := other.renderer.cache.get(types.NamespacedName{Namespace: "shop", Name: "web"}); kept {
		t.Error("a refused rendering is in the cache")
	}
}

func TestTheRenderingThatIsComparedIsATrial(t *testing.T) {
	object := func(data map[string]any) []client.Object {
		return []client.Object{&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}, "data": data,
		}}}
	}
	for _, c := range []struct {
		name string
		data func(call int, trial bool) map[string]any
		want string
		ok   bool
	}{
		{"equal renderings", func(int, bool) map[string]any { return map[string]any{"value": "1"} }, "false true", true},
		{"values that differ", func(call int, _ bool) map[string]any {
			return map[string]any{"value": strconv.Itoa(call)}
		}, "false true", true},
		{"only a trial has other fields", func(_ int, trial bool) map[string]any {
			return map[string]any{"value": "1", "trial" + strconv.FormatBool(trial): "x"}
		}, "false true false", true},
		{"each rendering has other fields", func(call int, _ bool) map[string]any {
			return map[string]any{"value": "1", "call" + strconv.Itoa(call): "x"}
		}, "false true false", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			var trials []string
			s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
				trials = append(trials, strconv.FormatBool(req.Trial))
				return object(c.data(len(trials), req.Trial)), nil
			}
			_, _, err := s.render()
			if got := strings.Join(trials, " "); got != c.want || (err == nil) != c.ok {
				t.Errorf("trials %q, error %v; want %q", got, err, c.want)
			}
		})
	}
}
