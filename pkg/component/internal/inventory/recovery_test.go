package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var configMaps = discovery.Resource{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap",
	Namespaced: true,
}

// search implements Searcher.
type search struct {
	report     Report
	err        error
	namespaces []string
}

func (s *search) Search(
	_ context.Context, _ manifests.Owner, _ metav1alpha1.DeletePolicy, namespaces []string,
) (Report, error) {
	s.namespaces = namespaces
	return s.report, s.err
}

func (s *search) recovery() Recovery {
	return Recovery{
		Searcher: s, Namespace: "target", Namespaces: []string{"more", "shop"}, ManagedTypes: []string{"Gadget.example.com"},
		NamespaceGoes: func(_ context.Context, namespace string) bool { return namespace == "ending" },
	}
}

func everything(found ...metav1alpha1.InventoryEntry) *search {
	return &search{report: Report{{resource: configMaps, everywhere: true, entries: found}}}
}

func TestALostInventoryIsRecoveredAndWritten(t *testing.T) {
	three := entries(3)
	for name, test := range map[string]struct {
		lose   func(*metav1alpha1.Status)
		reason string
	}{
		"after lines were removed": {
			func(st *metav1alpha1.Status) { st.Inventory = st.Inventory[:1] },
			"RecordChanged",
		},
		"after the whole status was removed": {func(st *metav1alpha1.Status) { *st = metav1alpha1.Status{} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if err := c.store.Components.AddFinalizer(t.Context(), c.load()); err != nil {
				t.Fatal(err)
			}
			c.write(three)
			c.restart()
			c.edit(test.lose)
			searching := everything(three...)
			p := c.load()
			got, event, err := c.store.Load(t.Context(), p, c.owner(), searching.recovery)
			if err != nil || len(got) != 3 || event.Reason != test.reason {
				t.Fatalf("the recovery returned %d entries, the event %v and the error %v; want 3 entries and the event %q",
					len(got), event, err, test.reason)
			}
			if want := []string{"more", "shop", "target"}; !slices.Equal(searching.namespaces, want) {
				t.Errorf("the recovery searched the wrong namespaces %q", searching.namespaces)
			}
			stored := c.load()
			if len(stored.Status.Inventory) != 3 || c.store.isDamaged(stored) || len(stored.Status.ManagedTypes) != 1 {
				t.Errorf("the recovered inventory in the status has %d lines and the managed types %q, want 3 lines and 1 type",
					len(stored.Status.Inventory), stored.Status.ManagedTypes)
			}
			c.statuses = 0
			got, _, err = c.store.Load(t.Context(), p, c.owner(), noRecovery)
			if err != nil || len(got) != 3 || c.statuses > 0 {
				t.Errorf("the pass after the recovery: %d entries, %d writes of the status, error %v", len(got), c.statuses, err)
			}
		})
	}
}

func TestALostInventoryIsRecoveredFromUnnamedSecrets(t *testing.T) {
	c := newCluster(t)
	recorded := entries(3000)
	recorded[0].DeletePolicy = metav1alpha1.DeletePolicy("Orphan")
	c.write(recorded)
	c.restart()
	c.edit(func(st *metav1alpha1.Status) { *st = metav1alpha1.Status{} })
	changed, again := recorded[0], recorded[1]
	changed.DeletePolicy, again.UID = "", "new"
	p := c.load()
	got, _, err := c.store.Load(t.Context(), p, c.owner(), everything(changed, again).recovery)
	if err != nil || len(got) != 3000 {
		t.Fatalf("the recovery returned %d entries and the error %v, want 3000 entries", len(got), err)
	}
	byName := map[string]metav1alpha1.InventoryEntry{}
	for _, e := range got {
		byName[e.Name] = e
	}
	if e := byName[changed.Name]; e.DeletePolicy != "" || e.Digest == "" {
		t.Errorf("the recovered entry lacks the digest, or has the old delete policy of the object: %+v", e)
	}
	if e := byName[again.Name]; e.UID != "new" {
		t.Errorf("the recovered entry of a recreated object does not have the new UID: %+v", e)
	}
	if err := c.store.DeleteStale(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, name := range c.secretsOf(records.Inventory) {
		if !components.RefOf(&p.Status).Names(name) {
			t.Errorf("Secret %s was not deleted, although the status does not name this Secret", name)
		}
	}
}

func TestAnObjectThatAnotherClientCreatedAgainIsNotRecorded(t *testing.T) {
	recorded := entries(3)
	again := recorded[1]
	again.UID = "again"
	for name, test := range map[string]struct {
		identity string
		found    []metav1alpha1.InventoryEntry
		want     string
	}{
		"the recorded object counts":                {"cluster/u", recorded[1:2], string(recorded[1].UID)},
		"another object of the name does not count": {"cluster/u", []metav1alpha1.InventoryEntry{again}, ""},
		"it counts in a component restored from a backup": {
			"cluster/former",
			[]metav1alpha1.InventoryEntry{again},
			"again",
		},
		"a recorded object counts that the search lacks":     {"cluster/u", nil, string(recorded[1].UID)},
		"an object of another name of a record counts never": {"cluster/u", entries(4)[3:], string(recorded[1].UID)},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.write(recorded)
			c.restart()
			c.edit(func(st *metav1alpha1.Status) { st.Identity, st.RecordDigest = test.identity, "doubt:1a2b edited" })
			searching := everything()
			searching.report[0].unproven = test.found
			got, event, err := c.store.Load(t.Context(), c.load(), c.owner(), searching.recovery)
			if err != nil || event.Reason != "RecordChanged" {
				t.Fatalf("the recovery returned the event %v and the error %v", event, err)
			}
			uid := ""
			for _, e := range got {
				if e.Name == again.Name {
					uid = string(e.UID)
				}
			}
			if uid != test.want || slices.ContainsFunc(got, func(e metav1alpha1.InventoryEntry) bool {
				return e.Name ==
					"settings-3"
			}) {
				t.Errorf("the recovered entry has the UID %q, want %q; all entries: %v", uid, test.want, got)
			}
		})
	}
}

func TestTheTargetOfARecordThatAnotherClientEdited(t *testing.T) {
	in := func(namespaces ...string) (found []metav1alpha1.InventoryEntry) {
		for i, namespace := range namespaces {
			e := entries(i + 1)[i]
			e.Namespace = namespace
			found = append(found, e)
		}
		return found
	}
	type place struct{ cluster, namespace, name string }
	declared := place{"here", "shop", "app"}
	for name, test := range map[string]struct {
		recorded place
		found    []metav1alpha1.InventoryEntry
		want     place
	}{
		"is the declared one if dependents are in its namespace":    {place{"x", "y", "z"}, in("shop"), declared},
		"is the declared one if dependents are in both namespaces":  {place{"x", "y", "z"}, in("shop", "y"), declared},
		"is the declared one if dependents are in other namespaces": {place{"x", "y", "z"}, in("elsewhere"), declared},
		"stays in a namespace that has all dependents": {
			place{"x", "y", "z"},
			in("y", "elsewhere"),
			place{"here", "y", "z"},
		},
		"stays in a cluster if no dependent was found in the declared one": {
			place{"x", "y", "z"},
			nil,
			place{"x", "shop", "app"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &part{Status: metav1alpha1.Status{
				RecordDigest: "doubt:1a2b edited", TargetCluster: test.recorded.cluster,
				TargetNamespace: test.recorded.namespace, TargetName: test.recorded.name,
			}}
			found := recovered{entries: entries(1), report: Report{{entries: test.found}}}
			found.restoreTarget(p, Recovery{Cluster: declared.cluster, Namespace: declared.namespace, Name: declared.name})
			if got := (place{p.Status.TargetCluster, p.Status.TargetNamespace, p.Status.TargetName}); got != test.want {
				t.Errorf("the target is %v, want %v", got, test.want)
			}
		})
	}
}

func TestFactsOfALiveObjectReplaceThoseOfItsRecord(t *testing.T) {
	live := metav1alpha1.InventoryEntry{
		Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a", UID: "a",
		Phase: "pre-delete", PrunePolicy: "at-once",
	}
	recorded := live
	recorded.Version, recorded.Phase, recorded.PrunePolicy, recorded.Types, recorded.Guarded = "v9", "", "",
		[]string{"*.apps"}, true
	recorded.Digest = "1a2b"
	want := live
	want.Digest = "1a2b"
	inventory := plan.NewInventory([]metav1alpha1.InventoryEntry{live})
	recovered{}.addRecorded(inventory, recorded)
	if got := inventory.Sorted(); len(got) != 1 || got[0].String() != want.String() {
		t.Errorf("the entries are %v, want %v", got, want)
	}
	recorded.External = true
	recovered{}.addRecorded(inventory, recorded)
	if got := inventory.Sorted(); len(got) != 1 || got[0].String() != want.String() {
		t.Errorf("after an entry of an external, the entries are %v, want %v", got, want)
	}
}

func TestALatestInventoryInSecretsDoesNotBringBackAReplacedObject(t *testing.T) {
	c := newCluster(t)
	recorded := entries(3000)
	c.write(recorded)
	c.restart()
	c.edit(func(st *metav1alpha1.Status) { st.Identity, st.RecordDigest = "cluster/u", "doubt:1a2b edited" })
	again := recorded[1]
	again.UID = "again"
	searching := everything(recorded[0])
	searching.report[0].unproven = []metav1alpha1.InventoryEntry{again}
	got, event, err := c.store.Load(t.Context(), c.load(), c.owner(), searching.recovery)
	if err != nil || len(got) != 2999 || !strings.Contains(event.Note, "not counted") {
		t.Errorf("the recovery returned %d entries, the event %v and the error %v, want 2999 entries", len(got), event, err)
	}
}

func TestSearchesAreLimitedWhoseResultsCannotBeWritten(t *testing.T) {
	c := newCluster(t)
	c.write(entries(2))
	for i := range maxSearches + 1 {
		p := c.load()
		p.Status.RecordDigest = "doubt:1a2b edited"
		// The stored component has another inventory record by the time of the write.
		searching, conflict := everything(entries(2)...), errors.New("no search")
		_, _, err := c.store.Load(t.Context(), p, c.owner(), func() Recovery {
			conflict = nil
			c.edit(func(st *metav1alpha1.Status) { st.Inventory = []string{fmt.Sprint(i)} })
			return searching.recovery()
		})
		isLimited := passerror.Of(err) != nil && passerror.Of(err).RetryAfter > 0
		if err == nil || isLimited != (i == maxSearches) || isLimited != (conflict != nil) {
			t.Errorf("search %d returned %v", i, err)
		}
	}
}

func TestTheCauseOfARecordThatIsNotUsed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*metav1alpha1.Status)
		want   string
	}{
		"another client wrote the record": {
			func(st *metav1alpha1.Status) { st.RecordDigest = "doubt:1a2b edited" }, "was changed by another client (edited)",
		},
		"lines were removed": {
			func(st *metav1alpha1.Status) { st.Inventory = st.Inventory[:1] },
			"was changed by another client (the inventory does",
		},
		"the lines could not be written": {
			func(st *metav1alpha1.Status) {
				st.Inventory, st.InventoryRecord, st.InventoryDigest = nil, &metav1alpha1.InventoryRecord{}, "other"
			}, "is lost or damaged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.write(entries(2))
			p := c.load()
			test.change(&p.Status)
			failing := &search{err: errors.New("discovery failed")}
			_, err := c.store.Read(t.Context(), p, c.owner(), failing.recovery)
			if err == nil || !strings.Contains(err.Error(), "the recorded inventory "+test.want) {
				t.Errorf("Read returned %v, want %q", err, test.want)
			}
		})
	}
}

func TestNothingIsWrittenForAComponentThatNeverHadAnything(t *testing.T) {
	c := newCluster(t)
	c.edit(func(st *metav1alpha1.Status) { st.InventoryDigest = "edited" })
	c.statuses = 0
	got, _, err := c.store.Load(t.Context(), c.load(), c.owner(), everything().recovery)
	if err != nil || len(got) != 0 || c.statuses > 0 {
		t.Errorf("got %d entries after %d writes of the status, with the error %v; want no entry and no write", len(got),
			c.statuses, err)
	}
}

func TestReadWritesNothing(t *testing.T) {
	c := newCluster(t)
	c.edit(func(st *metav1alpha1.Status) { st.InventoryDigest = "edited" })
	c.statuses = 0
	got, err := c.store.Read(t.Context(), c.load(), c.owner(), everything(entries(2)...).recovery)
	if err != nil || len(got) != 2 || c.statuses > 0 {
		t.Errorf("got %d entries after %d writes of the status, with the error %v; want 2 entries and no write", len(got),
			c.statuses, err)
	}
}

func TestWhatASearchCouldNotReachIsReported(t *testing.T) {
	refused := listing{resource: discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespaced: true,
	}, refused: errors.New("forbidden")}
	for _, deleting := range []bool{false, true} {
		c := newCluster(t)
		c.edit(func(st *metav1alpha1.Status) { st.InventoryDigest = "edited" })
		searching := everything(entries(1)...)
		searching.report = append(searching.report, refused)
		p := c.load()
		if deleting {
			p.Finalizers, p.DeletionTimestamp = []string{"example.com/other"}, new(metav1.NewTime(start))
			if err := c.server.Update(t.Context(), withFinalizer(c.load())); err != nil {
				t.Fatal(err)
			}
			if err := c.server.Delete(t.Context(), c.load()); err != nil {
				t.Fatal(err)
			}
			p = c.load()
		}
		_, event, err := c.store.Load(t.Context(), p, c.owner(), searching.recovery)
		if err != nil || event.Reason != "InventoryIncomplete" || !strings.Contains(event.Note, "pods") {
			t.Errorf("Load returned the event %v and the error %v, want the event InventoryIncomplete about pods", event, err)
		}
		if got := c.states.Of(app).Unsearched(); (got != "") != deleting {
			t.Errorf("component being deleted: %t; the state names these unsearched types: %q", deleting, got)
		}
	}
}

func withFinalizer(p *part) *part {
	p.Finalizers = []string{"example.com/other"}
	return p
}

func TestASearchThatSawNothingIsRefused(t *testing.T) {
	refusal := errors.New(`User "op" cannot list resource "configmaps"`)
	blind := &search{report: Report{{resource: configMaps, refused: refusal}}}
	now := metav1.NewTime(start)
	for _, test := range []struct {
		name     string
		change   func(*part, *Recovery, *cluster)
		accepted bool
		message  string
	}{
		{"if all lists are forbidden", func(*part, *Recovery, *cluster) {}, false, "in the namespace target"},
		{
			"if only the components themselves can be listed",
			func(_ *part, r *Recovery, _ *cluster) {
				part := discovery.Resource{
					GroupVersionResource: partGVK.GroupVersion().WithResource("parts"), Kind: partGVK.Kind, Namespaced: true,
				}
				r.AsOperator, r.Searcher = true, &search{report: append(Report{{resource: part, everywhere: true}},
					blind.report...)}
			}, false, "in the namespace target",
		},
		{
			"if the dependents have no namespace", func(_ *part, r *Recovery, _ *cluster) { r.Namespace = "" }, false,
			"may be listed anywhere",
		},
		{
			"if the component is being deleted", func(p *part, _ *Recovery, _ *cluster) { p.DeletionTimestamp = &now }, false,
			"remove the operator's finalizer",
		},
		{
			"but not in a deletion if the namespace of the dependents is being deleted",
			func(p *part, r *Recovery, _ *cluster) { p.DeletionTimestamp, r.Namespace = &now, "ending" }, true, "",
		},
		{
			"but not in a deletion if the namespace of the component is being deleted",
			func(p *part, _ *Recovery, c *cluster) { p.DeletionTimestamp, c.ending = &now, []string{"shop"} }, true, "",
		},
		{
			"in a deletion if only the namespace of the component is being deleted, in another cluster",
			func(p *part, r *Recovery, c *cluster) {
				p.DeletionTimestamp, c.ending, r.Remote = &now, []string{"shop"}, true
			},
			false, "remove the operator's finalizer",
		},
		{
			"if the status is lost, with advice to remove the finalizer",
			func(p *part, _ *Recovery, _ *cluster) { p.Status = metav1alpha1.Status{} }, false,
			"continues with an empty inventory",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			p, r := c.load(), blind.recovery()
			p.Status.Reconciler = reconciler
			test.change(p, &r, c)
			report, _ := r.Searcher.Search(t.Context(), c.owner(), "", nil)
			recoverer := &recoverer{store: c.store, obj: p, owner: c.owner()}
			err := recoverer.checkReport(t.Context(), r, report)
			if (err == nil) != test.accepted || err != nil && !strings.Contains(err.Error(), test.message) {
				t.Errorf("the recovery returned %v", err)
			}
		})
	}
}

func TestAnInventoryThatCannotBeReadIsRetried(t *testing.T) {
	c := newCluster(t)
	c.edit(func(st *metav1alpha1.Status) { st.InventoryDigest = "edited" })
	failing := &search{err: errors.New("discovery failed")}
	_, _, err := c.store.Load(t.Context(), c.load(), c.owner(), failing.recovery)
	if problem := passerror.Of(err); problem == nil || problem.Terminal || !strings.Contains(problem.Message,
		"discovery failed") {
		t.Errorf("a failed discovery must be a retried error, got %v", err)
	}
	p := c.write(entries(3000))
	c.restart()
	c.Refuse = func(string, string) error { return later() }
	if _, _, err = c.store.Load(t.Context(), p, c.owner(), noRecovery); passerror.Of(err).Terminal {
		t.Errorf("the failed recovery must be retried, got %v", err)
	}
	c.Refuse = nil
	p.Status.InventoryRecord.Name = "inventory-of-another"
	if _, err := c.store.lines(t.Context(), p, c.owner()); !records.IsLost(err) {
		t.Errorf("if the status names Secrets of another component, want a lost inventory, got %v", err)
	}
	p = c.load()
	p.Status.InventoryDigest = "edited"
	if lines, err := c.store.lines(t.Context(), p, c.owner()); !records.IsLost(err) || len(lines) != 3000 {
		t.Errorf("if the digest in the status was edited, want a lost inventory, got %v with %d lines", err, len(lines))
	}
	c.ending, c.Refuse = []string{"shop"}, func(string, string) error { return forbidden() }
	if _, err := c.store.lines(t.Context(), p, c.owner()); !records.IsLost(err) {
		t.Errorf("if the Secrets cannot be read in a namespace that is being deleted, want a lost inventory, got %v", err)
	}
}

// served are the types that a cluster serves.
type served []discovery.Resource

func (s served) Resources(_ context.Context, verbs ...string) ([]discovery.Resource, error) {
	if !slices.Equal(verbs, []string{"list", "delete"}) {
		return nil, errors.New("unexpected verbs")
	}
	return s, nil
}

func TestDependentsAreFoundByLabelAndAnnotation(t *testing.T) {
	owner := manifests.Owner{Cluster: "here", Reconciler: reconciler, Namespace: "shop", Name: "app"}
	definitions := discovery.Resource{GroupVersionResource: schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}, Kind: "CustomResourceDefinition"}
	object := func(name string, annotations map[string]string) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
		m.Labels = map[string]string{reconciler + "/" + manifests.LabelOwnerID: owner.ID()}
		m.Annotations = map[string]string{reconciler + "/" + manifests.AnnotationOwnerID: owner.String()}
		maps.Copy(m.Annotations, annotations)
		return m
	}
	metadata := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	metadata.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		list := &metav1.List{}
		add := func(objects ...*metav1.PartialObjectMetadata) {
			for _, o := range objects {
				list.Items = append(list.Items, runtime.RawExtension{Object: o})
			}
		}
		switch resource, namespace := a.GetResource().Resource, a.GetNamespace(); {
		case resource == "configmaps":
			add(
				object("plain", nil),
				object("phase", map[string]string{reconciler + "/" + manifests.AnnotationPhase: string(manifests.PhasePreDelete)}),
				object("copied", map[string]string{reconciler + "/" + manifests.AnnotationOwnerID: "another"}),
			)
		case resource == "customresourcedefinitions":
			add(object("gadgets.example.com", nil))
		case namespace != "shop":
			return true, nil, forbidden()
		default:
			add(object("inside", nil))
		}
		return true, list, nil
	})
	whole := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	whole.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Gadget"}},
		}}, nil
	})
	pods, nodes := configMaps, configMaps
	pods.Resource, pods.Kind = "pods", "Pod"
	nodes.Resource, nodes.Kind, nodes.Namespaced = "nodes", "Node", false
	s := LabelSearch{Discovery: served{configMaps, definitions, nodes, pods}, Metadata: metadata, Dynamic: whole}
	report, err := s.Search(t.Context(), owner, "Orphan", []string{"other", "shop"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]metav1alpha1.InventoryEntry{}
	for _, e := range report.entries() {
		found[e.Name] = e
	}
	want := []string{"gadgets.example.com", "inside", "phase", "plain"}
	if names := slices.Sorted(maps.Keys(found)); !slices.Equal(names, want) {
		t.Errorf("the recovery found the wrong objects %q", names)
	}
	if found["phase"].Phase != string(manifests.PhasePreDelete) || found["plain"].Phase != "" {
		t.Errorf("the recovered entries have the phases %q and %q", found["phase"].Phase, found["plain"].Phase)
	}
	if defined := found["gadgets.example.com"]; !defined.Guarded || len(defined.Types) != 1 {
		t.Errorf("the recovered entry of the definition is %+v", defined)
	}
	const unsearched = "not listed, because that is forbidden: nodes; listed in shop only: pods"
	if got := report.unsearched(); got != unsearched {
		t.Errorf("the report names the unsearched types %q", got)
	}
}
