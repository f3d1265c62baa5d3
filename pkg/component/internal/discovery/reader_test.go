package discovery

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// apiServer is a fake API server for discovery. A request for a group and version with a nil list fails.
type apiServer struct {
	mu     sync.Mutex
	groups map[string][]metav1.APIResource
	asked  []string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path)
	var answer any
	switch path := strings.TrimPrefix(r.URL.Path, "/apis/"); r.URL.Path {
	case "/version":
		answer = version.Info{GitVersion: "v1.36.3"}
	case "/api":
		answer = metav1.APIVersions{}
	case "/apis":
		answer = s.list()
	case "/apis/" + s.group(path).Name:
		answer = s.group(path)
	default:
		resources, served := s.groups[path]
		switch {
		case !served:
			w.WriteHeader(http.StatusNotFound)
			return
		case resources == nil:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer = metav1.APIResourceList{GroupVersion: path, APIResources: resources}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *apiServer) list() metav1.APIGroupList {
	var all metav1.APIGroupList
	names := map[string]int{}
	for _, text := range slices.Sorted(maps.Keys(s.groups)) {
		name, version, _ := strings.Cut(text, "/")
		i, ok := names[name]
		if !ok {
			i = len(all.Groups)
			names[name], all.Groups = i, append(all.Groups, metav1.APIGroup{Name: name})
		}
		gv := metav1.GroupVersionForDiscovery{GroupVersion: text, Version: version}
		all.Groups[i].Versions, all.Groups[i].PreferredVersion = append(all.Groups[i].Versions, gv), gv
	}
	return all
}

// group returns the group with a name, or an empty group if the group is not served.
func (s *apiServer) group(name string) metav1.APIGroup {
	for _, group := range s.list().Groups {
		if group.Name == name {
			return group
		}
	}
	return metav1.APIGroup{}
}

func (s *apiServer) serve(groupVersion string, resources ...metav1.APIResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[groupVersion] = resources
}

// requests returns the number of requests for a path, or of all requests if path is empty.
func (s *apiServer) requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.asked), func(asked string) bool {
		return path != "" && asked != path
	}))
}

var (
	allVerbs = metav1.Verbs{"create", "delete", "get", "list", "watch"}
	widgets  = metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: allVerbs}
	clusters = metav1.APIResource{Name: "clusters", Kind: "Cluster", Verbs: allVerbs}
	gadgets  = metav1.APIResource{Name: "gadgets", Kind: "Gadget", Namespaced: true, Verbs: metav1.Verbs{"get"}}
)

var widgetResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// reading returns a Reader, its fake API server, which serves example.com/v1, and a function that simulates an event on
// definitions.
func reading(t *testing.T) (*Reader, *apiServer, func()) {
	t.Helper()
	api := &apiServer{groups: map[string][]metav1.APIResource{
		"example.com/v1": {
			widgets, {Name: "widgets/status", Kind: "Widget", Namespaced: true, Verbs: metav1.Verbs{"get"}}, clusters, gadgets,
		},
	}}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	event := func() { t.Error("the Reader did not follow definitions") }
	r, err := New(t.Context(), Options{
		Config: &rest.Config{Host: server.URL, QPS: -1}, Client: server.Client(),
		FollowDefinitions: func(_ context.Context, call func()) { event = call },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, api, func() { event() }
}

func kind(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: name}
}

func TestScope(t *testing.T) {
	r, _, _ := reading(t)
	for name, want := range map[string]manifests.Scope{
		"Widget": manifests.ScopeNamespaced, "Cluster": manifests.ScopeCluster, "Unheard": manifests.ScopeUnknown,
	} {
		if got, err := r.Scope(kind(name)); err != nil || got != want {
			t.Errorf("Scope of %s returned %v and the error %v", name, got, err)
		}
	}
}

// aggregated answers the first requests of the mapper as API servers do that send all groups in one document. It has a
// group whose API does not answer.
func aggregated(beneath http.Handler) http.Handler {
	const form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	group := func(name string, version apidiscoveryv2.APIVersionDiscovery) apidiscoveryv2.APIGroupDiscovery {
		version.Version = "v1"
		return apidiscoveryv2.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Versions: []apidiscoveryv2.APIVersionDiscovery{version},
		}
	}
	groups := map[string][]apidiscoveryv2.APIGroupDiscovery{"/api": {}, "/apis": {
		group("silent.example.com", apidiscoveryv2.APIVersionDiscovery{Freshness: apidiscoveryv2.DiscoveryFreshnessStale}),
		group("example.com", apidiscoveryv2.APIVersionDiscovery{Resources: []apidiscoveryv2.APIResourceDiscovery{{
			Resource: "widgets", Scope: apidiscoveryv2.ScopeNamespace, Verbs: allVerbs,
			ResponseKind: &metav1.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		}}}),
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items, ok := groups[r.URL.Path]
		if !ok || !strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList") {
			beneath.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", form)
		_ = json.NewEncoder(w).Encode(apidiscoveryv2.APIGroupDiscoveryList{
			TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"}, Items: items,
		})
	})
}

func TestAnAPIThatDoesNotAnswerIsNotAMissingType(t *testing.T) {
	api := &apiServer{groups: map[string][]metav1.APIResource{"silent.example.com/v1": nil}}
	server := httptest.NewServer(aggregated(api))
	t.Cleanup(server.Close)
	r, err := New(t.Context(), Options{
		Config: &rest.Config{Host: server.URL, QPS: -1}, Client: server.Client(),
		FollowDefinitions: func(context.Context, func()) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	silent := schema.GroupVersionKind{Group: "silent.example.com", Version: "v1", Kind: "Widget"}
	for range 2 { // The first request of the mapper gets another response than the second.
		if scope, err := r.Scope(silent); err == nil {
			t.Errorf("Scope of a group that does not respond returned %s and no error", scope)
		}
	}
	api.serve("silent.example.com/v1", widgets)
	if scope, err := r.Scope(silent); err != nil || scope != manifests.ScopeNamespaced {
		t.Errorf("Scope returned %s and the error %v, want the scope Namespaced", scope, err)
	}
}

func TestStatusSubresource(t *testing.T) {
	r, _, _ := reading(t)
	for name, want := range map[string]bool{"Widget": true, "Cluster": false} {
		if got, err := r.HasStatusSubresource(kind(name)); err != nil || got != want {
			t.Errorf("HasStatusSubresource of %s returned %t and the error %v", name, got, err)
		}
	}
	if _, err := r.HasStatusSubresource(kind("Unheard")); !meta.IsNoMatchError(err) {
		t.Errorf("want no error for a type that is not served, got %v", err)
	}
}

func TestVerbs(t *testing.T) {
	r, _, _ := reading(t)
	for name, want := range map[string][]string{"widgets": allVerbs, "gadgets": {"get"}, "unheard": nil} {
		got, err := r.Verbs(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: name})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, difference %s", name, err, diff)
		}
	}
	unserved := schema.GroupVersionResource{Group: "example.com", Version: "v7", Resource: "widgets"}
	if _, err := r.Verbs(unserved); err == nil {
		t.Error("a version that is not served has verbs")
	}
}

func TestListsOfResourcesAreSharedForAMoment(t *testing.T) {
	r, api, event := reading(t)
	if _, err := r.Capabilities(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r.lists.clock, r.mapper.clock = clock, clock
	const path = "/apis/example.com/v1"
	ask := func() int {
		t.Helper()
		before := api.requests(path)
		if _, err := r.Verbs(widgetResource); err != nil {
			t.Fatal(err)
		}
		return api.requests(path) - before
	}
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"are read at first", func() {}, 1},
		{"are kept", func() {}, 0},
		{"are dropped after two seconds", func() { clock.SetTime(clock.Now().Add(resourceListLifetime)) }, 1},
		{"are kept again", func() {}, 0},
		{"are dropped by Reset", r.Mapper().Reset, 1},
		{"are dropped by an event on definitions", event, 1},
	} {
		step.do()
		if got := ask(); got != step.want {
			t.Errorf("lists %s: %d requests were sent, want %d", step.name, got, step.want)
		}
	}
}

func TestAnAnswerFromBeforeForgetIsNotKept(t *testing.T) {
	var lists *resourceLists
	reads := 0
	server := listServer(func() {
		if reads++; reads == 1 {
			lists.forget()
		}
	})
	lists = newResourceLists(server, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	for range 3 {
		if _, err := lists.of(t.Context(), schema.GroupVersion{Version: "v1"}); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 2 {
		t.Errorf("discovery was read %d times, want 2", reads)
	}
}

// listServer is called for each request for a list of resources. The response is an empty list.
type listServer func()

func (s listServer) ServerResourcesForGroupVersionWithContext(
	context.Context, string,
) (*metav1.APIResourceList, error) {
	s()
	return &metav1.APIResourceList{}, nil
}

func TestAVersionThatAGroupGetsLaterIsFound(t *testing.T) {
	r, api, _ := reading(t)
	late := schema.GroupKind{Group: "example.com", Kind: "Late"}
	if _, err := r.Mapper().RESTMapping(late); !meta.IsNoMatchError(err) {
		t.Fatalf("the look-up of a kind before it is served returned %v", err)
	}
	api.serve("example.com/v2", metav1.APIResource{Name: "lates", Kind: "Late", Verbs: allVerbs})
	for range 2 {
		mapping, err := r.Mapper().RESTMapping(late)
		if err != nil {
			t.Fatal(err)
		}
		if want := late.WithVersion("v2"); mapping.GroupVersionKind != want || r.Resets() != 0 {
			t.Errorf("the look-up of a kind returned %s after %d resets of the mapper, want version v2 without a reset",
				mapping.GroupVersionKind, r.Resets())
		}
	}
}

func TestAKindMayBeServedByAVersionThatDoesNotAnswer(t *testing.T) {
	r, api, _ := reading(t)
	late := schema.GroupKind{Group: "example.com", Kind: "Late"}
	if _, err := r.Mapper().RESTMapping(late); !meta.IsNoMatchError(err) {
		t.Fatalf("the look-up of a kind before it is served returned %v", err)
	}
	api.serve("example.com/v2")
	if _, err := r.Mapper().RESTMapping(late); err == nil || meta.IsNoMatchError(err) {
		t.Errorf("while the version v2 does not respond, the look-up of a kind returned %v", err)
	}
	widget := kind("Widget").GroupKind()
	if mapping, err := r.Mapper().RESTMapping(widget); err != nil || mapping.GroupVersionKind.Version != "v1" {
		t.Errorf("the look-up of a kind that the version v1 serves returned %v", err)
	}
}

func TestAKindThatIsNotServedCostsOneRequest(t *testing.T) {
	r, api, _ := reading(t)
	for _, group := range []string{"example.com", "nobody.example.com"} {
		unheard := schema.GroupKind{Group: group, Kind: "Unheard"}
		for range 2 {
			before := api.requests("")
			if _, err := r.Mapper().RESTMapping(unheard); !meta.IsNoMatchError(err) {
				t.Fatal(err)
			}
			if _, err := r.Verbs(widgetResource); err != nil {
				t.Fatal(err)
			}
			got := api.requests("") - before
			if first := group == "example.com" && before == 0; got != 1 && (!first || got != 2) {
				t.Errorf("%s: discovery of this group was read %d times, want once", group, got)
			}
		}
	}
	if api.requests("/apis") != 0 {
		t.Error("all API groups were read again")
	}
}

func TestAKindOfAnyVersionIsKept(t *testing.T) {
	r, api, _ := reading(t)
	widget := kind("Widget").GroupKind()
	for i := range 2 {
		before := api.requests("")
		if mapping, err := r.Mapper().RESTMapping(widget); err != nil || mapping.Resource != widgetResource {
			t.Fatal(mapping, err)
		}
		if i > 0 && api.requests("") != before {
			t.Error("the resources of a kind were read again")
		}
	}
}

func TestAKindWhoseDefinitionWasDeletedIsNotServed(t *testing.T) {
	r, api, _ := reading(t)
	widget := kind("Widget").GroupKind()
	expect := func(what string, want bool) {
		t.Helper()
		if served, err := r.Serves(widget); err != nil || served != want {
			t.Errorf("%s: Serves returned %t, %v", what, served, err)
		}
	}
	refresh := func() {
		t.Helper()
		if err := r.capabilities.refresh(); err != nil {
			t.Fatal(err)
		}
		r.lists.forget()
	}
	expect("before the capabilities are read", true)
	r.capabilities.follow = func() {}
	refresh()
	before := api.requests("")
	expect("with its definition", true)
	if got := api.requests(""); got != before {
		t.Errorf("a kind that the capabilities have cost %d requests", got-before)
	}
	api.serve("example.com/v1", clusters)
	refresh()
	expect("without its definition", false)
	api.serve("example.com/v1", clusters, widgets)
	r.lists.forget()
	expect("with a definition that the capabilities do not have yet", true)
}

func TestResources(t *testing.T) {
	r, api, _ := reading(t)
	api.serve("broken.example.com/v1")
	api.serve("example.com/v2", widgets)
	found, err := r.Resources(t.Context(), "list", "create")
	want := []Resource{
		{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "clusters"}, "Cluster", false},
		{schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "widgets"}, "Widget", true},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	concerns := func(group string) bool { return group == "broken.example.com" }
	if failure := PartialFailure(err, concerns); !strings.HasPrefix(failure, "broken.example.com/v1 does not answer (") {
		t.Errorf("the failure of the broken group is %q", failure)
	}
	if gk := found[1].GroupKind(); gk != kind("Widget").GroupKind() {
		t.Errorf("the resource has the group and kind %s, want Widget", gk)
	}
}

func TestAggregatedKinds(t *testing.T) {
	r, api, _ := reading(t)
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	want := []schema.GroupKind{kind("Widget").GroupKind(), kind("Cluster").GroupKind()}
	for range 2 {
		kinds, err := r.AggregatedKinds(t.Context(), gv)
		if diff := cmp.Diff(want, kinds); err != nil || diff != "" {
			t.Errorf("the kinds were listed with the error %v and the difference %s", err, diff)
		}
	}
	if asked := api.requests("/apis/example.com/v1"); asked != 2 {
		t.Errorf("%d requests were sent, want a request for each of 2 calls", asked)
	}
	api.serve("example.com/v1")
	_, err := r.AggregatedKinds(t.Context(), gv)
	if err == nil || !strings.HasPrefix(err.Error(), "APIService v1.example.com does not answer (") {
		t.Errorf("while the API of the APIService does not respond, the look-up returned %v", err)
	}
}

func TestSubscribersAreWokenWhenOtherCapabilitiesAreRead(t *testing.T) {
	r, api, event := reading(t)
	now, err := r.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := "example.com/v1/Widget"; !now.APIVersions.Has(want) || now.Version.GitVersion != "v1.36.3" {
		t.Errorf("the capabilities have the version %s, and the API versions %v without %s", now.Version.GitVersion,
			now.APIVersions.All(), want)
	}
	woken := make(chan struct{}, 1)
	r.Subscribe("owner", now.Digest, func() { woken <- struct{}{} })
	r.Subscribe("ended", now.Digest, func() { t.Error("a component that was unsubscribed is woken") })
	r.Unsubscribe("ended")
	api.serve("example.com/v2", widgets)
	event()
	inTime(t, "the subscriber", func() { <-woken })
}

func TestSubscribersAreWokenWhenAMissingKindIsBackAtTheNextReading(t *testing.T) {
	for name, miss := range map[string]func(*Reader) bool{
		"Scope": func(r *Reader) bool {
			scope, err := r.Scope(kind("Widget"))
			return err == nil && scope == manifests.ScopeUnknown
		},
		"Serves": func(r *Reader) bool {
			served, err := r.Serves(kind("Widget").GroupKind())
			return err == nil && !served
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, api, _ := reading(t)
			r.capabilities.follow = func() {}
			now, err := r.Capabilities(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			woken := 0
			r.Subscribe("owner", now.Digest, func() { woken++ })
			all := api.groups["example.com/v1"]
			api.serve("example.com/v1", clusters)
			if !miss(r) {
				t.Fatal("the kind is served without its definition")
			}
			api.serve("example.com/v1", all...)
			if err := r.capabilities.refresh(); err != nil || woken != 1 {
				t.Errorf("the subscriber was woken %d times, with the error %v", woken, err)
			}
		})
	}
}

func TestMapperFindsResources(t *testing.T) {
	r, _, _ := reading(t)
	m, gvr, gvk := r.Mapper(), widgetResource, kind("Widget")
	if got, err := m.KindFor(gvr); err != nil || got != gvk {
		t.Errorf("KindFor: %v, %v", got, err)
	}
	if got, err := m.KindsFor(gvr); err != nil || !slices.Equal(got, []schema.GroupVersionKind{gvk}) {
		t.Errorf("KindsFor: %v, %v", got, err)
	}
	if got, err := m.ResourceFor(gvr); err != nil || got != gvr {
		t.Errorf("ResourceFor: %v, %v", got, err)
	}
	if got, err := m.ResourcesFor(gvr); err != nil || !slices.Equal(got, []schema.GroupVersionResource{gvr}) {
		t.Errorf("ResourcesFor: %v, %v", got, err)
	}
	if got, err := m.RESTMappings(gvk.GroupKind()); err != nil || len(got) != 1 {
		t.Errorf("RESTMappings: %v, %v", got, err)
	}
	if got, err := m.RESTMapping(gvk.GroupKind(), "v7", "v1"); err != nil || got.GroupVersionKind != gvk {
		t.Errorf("RESTMapping: %v, %v", got, err)
	}
	if got, err := m.ResourceSingularizer("widgets"); err != nil || got != "widget" {
		t.Errorf("ResourceSingularizer: %v, %v", got, err)
	}
}
