package protect

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestForeign(t *testing.T) {
	key := func(name string) manifests.Key {
		return manifests.Key{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: name}
	}
	facts := plan.Facts{
		Owner: "us", Component: key("itself"),
		Inventory: plan.NewInventory([]metav1alpha1.InventoryEntry{
			{Group: "example.com", Version: "v1", Kind: "Widget", Namespace: "shop", Name: "ours", UID: "u1"},
			{Group: "example.com", Version: "v1", Kind: "Widget", Namespace: "shop", Name: "crashed"},
		}),
		Live: plan.Snapshot{},
	}
	for _, name := range []string{"itself", "ours", "crashed", "copy"} {
		facts.Live[key(name)] = &plan.Observed{Presence: plan.Present, Owner: "us", UID: "u2"}
	}
	for _, c := range []struct {
		name     string
		instance inspect.Instance
		want     int
	}{
		{"an instance in the inventory is not foreign", inspect.Instance{Key: key("ours"), UID: "u1"}, 0},
		{
			"an instance with the name of an inventory entry and another UID is foreign",
			inspect.Instance{Key: key("ours"), UID: "u9"},
			1,
		},
		{"an instance that is not in the inventory is foreign", inspect.Instance{Key: key("theirs"), UID: "u1"}, 1},
		{
			"an instance whose UID was not recorded because of a crash is not foreign",
			inspect.Instance{Key: key("crashed"), UID: "u2"},
			0,
		},
		{"the component itself is not foreign", inspect.Instance{Key: key("itself"), UID: "u4"}, 0},
		{
			"a recreated instance whose new UID was not recorded because of a crash is not foreign",
			inspect.Instance{Key: key("ours"), UID: "u2"},
			0,
		},
		{
			"an instance with the component's owner label under another name is foreign",
			inspect.Instance{Key: key("copy"), UID: "u2"},
			1,
		},
		{
			"an instance that another client created with the name of an inventory entry is foreign",
			inspect.Instance{Key: key("crashed"), UID: "u3"},
			1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := foreign(facts, []inspect.Instance{c.instance}); got.Count != c.want {
				t.Errorf("the foreign instances are %+v", got)
			}
		})
	}
	t.Run("in another cluster, an object with the type and name of the component is foreign", func(t *testing.T) {
		there := facts
		there.RemoteTarget = true
		if got := foreign(there, []inspect.Instance{{Key: key("itself"), UID: "u4"}}); got.Count != 1 {
			t.Errorf("want one foreign instance, got %+v", got)
		}
	})
	t.Run("ten foreign instances are named in alphabetical order, and all are counted", func(t *testing.T) {
		var many []inspect.Instance
		for _, name := range "lkjihgfedcba" {
			many = append(many, inspect.Instance{Key: key(string(name))})
		}
		got := foreign(facts, many)
		if got.Count != 12 || len(got.Keys) != 10 || got.Keys[0].String() != "Widget.example.com shop/a" {
			t.Errorf("want 12 foreign instances with the names of the first ten, got %+v", got)
		}
	})
}

func TestUnchecked(t *testing.T) {
	entry := func(kind, name string, types ...string) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{Version: "v1", Kind: kind, Name: name, Types: types}
	}
	widgets := entry("Definition", "widgets", "Widget.example.com")
	gizmos := entry("Definition", "gizmos", "Gizmo.example.com")
	settings, namespace := entry("ConfigMap", "settings"), entry("Namespace", "shop")
	p := plan.Plan{Inventory: plan.NewInventory([]metav1alpha1.InventoryEntry{widgets, gizmos, settings, namespace})}
	checked := map[manifests.Key]bool{}
	for _, c := range []struct {
		name    string
		verb    plan.Verb
		entries []metav1alpha1.InventoryEntry
		want    []metav1alpha1.InventoryEntry
	}{
		{
			"the instances of a definition that must be read first are not checked",
			plan.VerbRead,
			[]metav1alpha1.InventoryEntry{widgets},
			nil,
		},
		{
			"an object that neither defines nor contains other objects is not checked",
			plan.VerbDelete,
			[]metav1alpha1.InventoryEntry{settings},
			nil,
		},
		{
			"the instances of the first definition are listed", plan.VerbDelete,
			[]metav1alpha1.InventoryEntry{widgets, settings},
			[]metav1alpha1.InventoryEntry{widgets},
		},
		{
			"the instances of a later definition are listed, and those of the first definition are not listed again",
			plan.VerbDelete,
			[]metav1alpha1.InventoryEntry{widgets, gizmos},
			[]metav1alpha1.InventoryEntry{gizmos},
		},
		{
			"the instances of no definition are listed twice",
			plan.VerbDelete,
			[]metav1alpha1.InventoryEntry{widgets, gizmos},
			nil,
		},
		{
			"the contents of a namespace are listed",
			plan.VerbDelete,
			[]metav1alpha1.InventoryEntry{namespace},
			[]metav1alpha1.InventoryEntry{namespace},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.Actions = nil
			for _, e := range c.entries {
				p.Actions = append(p.Actions, plan.Action{Verb: c.verb, Key: plan.KeyOf(e)})
			}
			ignore := cmpopts.IgnoreUnexported(metav1alpha1.InventoryEntry{})
			if diff := cmp.Diff(c.want, unchecked(p, checked), ignore); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWatchedForeignInstances(t *testing.T) {
	server, p := newProtector(t)
	ours := server.Put("example.com/v1", "Widget", "shop", "ours", nil)
	server.Put("example.com/v1", "Widget", "shop", "theirs", nil)
	instance := metav1alpha1.InventoryEntry{
		Group: "example.com", Version: "v1", Kind: "Widget", Namespace: "shop", Name: "ours", UID: ours.GetUID(),
	}
	f := deleting(widgets(), instance)
	managed := p.Types(t.Context(), plan.Removals(f.Inventory, nil), nil)
	if diff := cmp.Diff([]schema.GroupKind{widgetKind}, managed.Kinds()); diff != "" {
		t.Error(diff)
	}
	if got := p.WatchedForeign(t.Context(), f, managed)[widgetType]; got.Err == nil {
		t.Errorf("want an error before the instances are watched, got %+v", got)
	}
	watchInstances(t, p, widgetKind)
	server.Requests()
	want := plan.ForeignInstances{Count: 1, Keys: []manifests.Key{{
		Group: "example.com", Kind: "Widget", Namespace: "shop",
		Name: "theirs",
	}}}
	if diff := cmp.Diff(want, p.WatchedForeign(t.Context(), f, managed)[widgetType]); diff != "" {
		t.Error(diff)
	}
	if got := server.Requests(); len(got) != 0 {
		t.Errorf("requests were sent although the watch has the instances: %v", got)
	}

	t.Run("a dependent that must be kept is foreign, because it would be deleted with its definition", func(t *testing.T) {
		instance.DeletePolicy = metav1alpha1.DeleteOrphan
		if got := p.WatchedForeign(t.Context(), deleting(widgets(), instance), managed)[widgetType]; got.Count != 2 {
			t.Errorf("want 2 foreign instances, got %+v", got)
		}
	})
}

func TestTypesThatAreNotServed(t *testing.T) {
	gizmo := schema.GroupKind{Group: "example.com", Kind: "Gizmo"}
	entry := metav1alpha1.InventoryEntry{
		Group: definitions.Group, Version: "v1", Kind: definitions.Kind, Name: "gizmos.example.com",
		Types: []string{"Gizmo.example.com"},
	}
	established := map[string]any{"status": map[string]any{
		"conditions": []any{map[string]any{"type": "Established", "status": "True"}},
	}}
	for _, c := range []struct {
		name   string
		change func(*apiservertest.Server)
		want   string
	}{
		{"without a definition there are no instances", func(*apiservertest.Server) {}, ""},
		{
			"a definition that was served may have instances in storage", func(s *apiservertest.Server) {
				s.Put("apiextensions.k8s.io/v1", definitions.Kind, "", "gizmos.example.com", established)
			},
			"its instances cannot be listed: gizmos.example.com has served a version before, so instances may exist",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, p := newProtector(t)
			c.change(server)
			watchInstances(t, p, gizmo)
			f := deleting(entry)
			got := p.WatchedForeign(t.Context(), f, p.Types(t.Context(), plan.Removals(f.Inventory, nil), nil))
			found := got[manifests.ManagedType{GroupKind: gizmo}]
			if found.Count != 0 || (found.Err != nil) != (c.want != "") || found.Err != nil &&
				!strings.HasPrefix(found.Err.Error(), c.want) {
				t.Errorf("the check of the instances returned %+v", found)
			}
		})
	}
}

func TestCheckListsAgainRightBeforeADefinitionIsDeleted(t *testing.T) {
	server, p := newProtector(t)
	f := deleting(widgets())
	decided := plan.Plan{
		Inventory: f.Inventory, Actions: []plan.Action{{Verb: plan.VerbDelete, Key: plan.KeyOf(widgets())}},
	}
	f.Foreign[widgetType] = plan.ForeignInstances{}
	server.Put("example.com/v1", "Widget", "shop", "late", nil)
	checked := map[manifests.Key]bool{}
	if !p.Check(t.Context(), f, decided, checked) {
		t.Error("Check did not list the instances")
	}
	want := plan.ForeignInstances{Count: 1, Keys: []manifests.Key{{
		Group: "example.com", Kind: "Widget", Namespace: "shop",
		Name: "late",
	}}}
	if diff := cmp.Diff(want, f.Foreign[widgetType]); diff != "" {
		t.Error(diff)
	}
	server.Requests()
	if p.Check(t.Context(), f, decided, checked) || len(server.Requests()) > 0 {
		t.Error("Check listed the instances twice")
	}

	clear(checked)
	server.Refuse(func(apiservertest.Request) error {
		resource := schema.GroupResource{Group: "example.com", Resource: "widgets"}
		return apierrors.NewForbidden(resource, "", errors.New("no right"))
	})
	if p.Check(t.Context(), f, decided, checked); f.Foreign[widgetType].Err == nil {
		t.Error("a failed list request was treated as an empty list")
	}
}

func TestTypesOfAggregatedAPIs(t *testing.T) {
	server, p := newProtector(t)
	server.Serve("metrics.example.com/v1", "samples", "Sample", true)
	server.Serve("metrics.example.com/v1", "rates", "Rate", true, "get", "list")
	server.Serve("metrics.example.com/v2", "samples", "Sample", true)
	server.Serve("metrics.example.com/v2", "series", "Series", false)
	all := manifests.ManagedType{GroupKind: schema.GroupKind{Group: "metrics.example.com", Kind: "*"}}
	sample := schema.GroupKind{Group: "metrics.example.com", Kind: "Sample"}
	series := schema.GroupKind{Group: "metrics.example.com", Kind: "Series"}

	types := p.Types(t.Context(), []metav1alpha1.InventoryEntry{
		apiService("v1"), apiService("v2"), widgets(),
	}, nil)
	if len(types) != 2 || types[0].ManagedType != all || types[0].failure != "" || types[1].ManagedType != widgetType {
		t.Errorf("the managed types are %+v", types)
	}
	if diff := cmp.Diff([]schema.GroupKind{sample, series, widgetKind}, types.Kinds()); diff != "" {
		t.Error(diff)
	}

	server.Break("metrics.example.com/v2")
	types = p.Types(t.Context(), []metav1alpha1.InventoryEntry{
		apiService("v1"), apiService("v2"),
	}, nil)
	const failure = "APIService v2.metrics.example.com does not answer"
	if len(types) != 1 || !strings.HasPrefix(types[0].failure, failure) {
		t.Errorf("the managed type must have a failure, got %+v", types)
	}
	watchInstances(t, p, sample)
	got := p.WatchedForeign(t.Context(), deleting(), types)[all]
	if got.Err == nil || !strings.HasPrefix(got.Err.Error(), failure) {
		t.Errorf("a version that does not answer was ignored: %+v", got)
	}
}

func TestFailuresNameTheKindOfAnAggregatedAPI(t *testing.T) {
	_, p := newProtector(t)
	other := schema.GroupKind{Group: "example.com", Kind: "Gizmo"}
	m := managedType{ManagedType: widgetType, kinds: []schema.GroupKind{widgetKind, other}}
	got := p.foreignOf(deleting(), m, func(gk schema.GroupKind) ([]inspect.Instance, error) {
		return []inspect.Instance{{UID: types.UID("u")}}, errors.New("no " + gk.Kind)
	})
	if got.Err == nil || got.Err.Error() != "no Widget; Gizmo.example.com: no Gizmo" || got.Count != 0 {
		t.Errorf("the error must contain the failures of both kinds, got %+v", got)
	}
}

func TestAdditionalTypes(t *testing.T) {
	server, p := newProtector(t)
	server.Serve("other.example.com/v1", "gizmos", "Gizmo", true)
	server.Serve("other.example.com/v1", "reviews", "Review", true, "create")
	parse := func(text string) manifests.ManagedType {
		parsed, err := manifests.ParseManagedType(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	all, absent := parse("*.other.example.com"), parse("Absent.example.com")
	gizmo := schema.GroupKind{Group: "other.example.com", Kind: "Gizmo"}
	types := p.Types(t.Context(), nil, []manifests.ManagedType{all, absent, widgetType})
	if diff := cmp.Diff([]schema.GroupKind{gizmo, widgetKind}, types.Kinds()); diff != "" {
		t.Error(diff)
	}
	if len(types) != 3 || types[0].failure != "" || types[0].definition.Name != "" || len(types[1].kinds) != 0 {
		t.Errorf("the managed types are %+v", types)
	}
	server.Requests()
	if got := p.Types(t.Context(), nil, nil); len(got) != 0 {
		t.Errorf("a component without managed types has the types %+v", got)
	}

	server.Break("other.example.com/v1")
	types = p.Types(t.Context(), nil, []manifests.ManagedType{all, widgetType})
	if types[0].failure == "" || types[1].failure != "" {
		t.Errorf("only types that match the broken group may have a failure: %+v", types)
	}
	t.Run("an instance of an additional managed type is foreign unless it is a dependent", func(t *testing.T) {
		server.Put("example.com/v1", "Widget", "shop", "a", nil)
		watchInstances(t, p, widgetKind)
		if got := p.WatchedForeign(t.Context(), deleting(), types[1:])[widgetType]; got.Count != 1 {
			t.Errorf("want one foreign instance, got %+v", got)
		}
	})
}

func TestAdditionalTypesThatTheIdentityMayNotList(t *testing.T) {
	server, own := newProtector(t)
	server.Serve("other.example.com/v1", "gizmos", "Gizmo", true)
	server.Put("other.example.com/v1", "Gizmo", "shop", "of-another-tenant", nil)
	server.Refuse(func(r apiservertest.Request) error {
		if r.User != "" && strings.HasSuffix(r.Path, "/gizmos") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "gizmos"}, "", nil)
		}
		return nil
	})
	client, err := own.client.As(target.Identity{User: "tenant"})
	if err != nil {
		t.Fatal(err)
	}
	chosen := manifests.ManagedType{GroupKind: schema.GroupKind{Group: "*.example.com", Kind: "Gizmo"}}
	of := func(p *Protector, defined ...metav1alpha1.InventoryEntry) Types {
		return p.Types(t.Context(), defined, []manifests.ManagedType{chosen, widgetType})
	}
	p := New(client, WellKnown, nil)
	types := of(p)
	if diff := cmp.Diff([]schema.GroupKind{widgetKind}, types.Kinds()); diff != "" {
		t.Errorf("only the types that the identity may list are watched: %s", diff)
	}
	watchInstances(t, p, widgetKind)
	got := p.WatchedForeign(t.Context(), deleting(), types)
	want := "tenant may not list gizmos.other.example.com in all namespaces, so it is not known whether there are " +
		"foreign instances; grant this right; if nothing can be done about that, a person can accept the loss of " +
		"these instances: " +
		"fairlead delete -n shop shop.example.com/web --accept-unknown '*.example.com'"
	if f := got[chosen]; f.Err == nil || f.Err.Error() != want || f.Count != 0 || len(f.Keys) != 0 {
		t.Errorf("got %+v, want the error %q and no names", f, want)
	}
	if f := got[widgetType]; f.Err != nil {
		t.Errorf("a type that the identity may list has the error %v", f.Err)
	}

	definition := widgets()
	definition.Name, definition.Types = "gizmos.other.example.com", []string{"Gizmo.other.example.com"}
	if types := of(p, definition); len(types.Kinds()) != 2 || types[1].failure != "" {
		t.Errorf("the types that a dependent defines need no right of the identity, got %+v", types)
	}
	if types := of(own); len(types.Kinds()) != 2 || types[0].failure != "" {
		t.Errorf("a component without an impersonated identity lists with the rights of the connection, got %+v", types)
	}
	accepting := New(client, WellKnown, []string{"*.example.com"})
	if f := accepting.WatchedForeign(t.Context(), deleting(), of(accepting))[chosen]; f.Err != nil || f.Count != 0 {
		t.Errorf("in an accepted group only instances that can be listed block a deletion, got %+v", f)
	}
}

// meeting is a transport in which each list request of an instance waits until the given number of them has been sent.
type meeting struct {
	http.RoundTripper
	sent *sync.WaitGroup
}

func (m meeting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/widgets") || strings.HasSuffix(r.URL.Path, "/gadgets") {
		m.sent.Done()
		m.sent.Wait()
	}
	return m.RoundTripper.RoundTrip(r)
}

func TestCheckListsTheInstancesOfAllDefinitionsAtTheSameTime(t *testing.T) {
	server := apiservertest.New(t)
	server.Serve("example.com/v1", "gadgets", "Gadget", true)
	var sent sync.WaitGroup
	sent.Add(2)
	connection, err := target.Connect(t.Context(), server.Config(), target.Options{
		Reconciler: reconciler,
		Wrap:       func(next http.RoundTripper) http.RoundTripper { return meeting{next, &sent} },
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Put("example.com/v1", "Gadget", "shop", "late", nil)
	gadgets := widgets()
	gadgets.Name, gadgets.Types = "gadgets.example.com", []string{"Gadget.example.com"}
	f := deleting(widgets(), gadgets)
	decided := plan.Plan{Inventory: f.Inventory, Actions: []plan.Action{
		{Verb: plan.VerbDelete, Key: plan.KeyOf(widgets())}, {Verb: plan.VerbDelete, Key: plan.KeyOf(gadgets)},
	}}
	New(connection.Own(), WellKnown, nil).Check(t.Context(), f, decided, map[manifests.Key]bool{})
	want := map[manifests.ManagedType]plan.ForeignInstances{
		widgetType: {},
		{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Gadget"}}: {
			Count: 1, Keys: []manifests.Key{{Group: "example.com", Kind: "Gadget", Namespace: "shop", Name: "late"}},
		},
	}
	if diff := cmp.Diff(want, f.Foreign, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
