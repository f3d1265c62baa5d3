package plan

import (
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/typeset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var (
	shopKey    = manifests.Key{Kind: "Namespace", Name: "shop"}
	ownedEntry = metav1alpha1.InventoryEntry{
		Version: "v1", Kind: "Namespace", Name: "shop", UID: "u1", DeletePolicy: metav1alpha1.DeleteIfEmpty,
	}
)

// ownedNamespace changes the object to an empty namespace that was created for the component.
func ownedNamespace(s *scene) {
	namespace(Contents{})(s)
	s.defaults.MissingNamespaces = metav1alpha1.MissingNamespacesOwn
	s.entry = new(ownedEntry)
	s.live.Digest, s.live.Applied, s.live.Updated = "", "", "f1"
}

func containing(c Contents) func(*scene) { return func(s *scene) { s.contents = c } }

func contentsUnlisted(class FailureClass, reason WaitReason) func(*scene) {
	return containing(Contents{Failure: &Failure{Class: class, Reason: reason, Message: "no"}})
}

func TestRemovalOfAnOwnedNamespace(t *testing.T) {
	const (
		at       = " (uid u1, version 7)"
		released = "Orphan: it was created for dependents, and is kept" + at + " | "
		settings = "ConfigMap shop/settings"
	)
	theirs := Contents{Count: 1, Keys: []manifests.Key{{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}}
	for _, r := range []row{
		{
			"deletes an empty namespace that no dependent needs", edits(ownedNamespace),
			"Delete: it was created for dependents, and none needs it any more" + at,
		},
		{
			"deletes an empty namespace with its component", edits(ownedNamespace, withComponent),
			"Delete: the component is being deleted" + at,
		},
		{
			"releases a namespace with objects of others", edits(ownedNamespace, containing(theirs)),
			released + "it contains objects of others (1): " + settings,
		},
		{
			"releases a namespace with objects of others when its component is deleted",
			edits(ownedNamespace, withComponent, containing(theirs)),
			released + "it contains objects of others (1): " + settings,
		},
		{
			"releases a namespace whose contents may not be listed",
			edits(ownedNamespace, contentsUnlisted(Terminal, WaitForbidden)),
			released + "no",
		},
		{
			"lists the contents again after a failure that may end",
			edits(ownedNamespace, contentsUnlisted(Transient, WaitAPIError)),
			"fails (Transient), APIError: no; to keep the namespace, set missingNamespacesPolicy to create",
		},
		{
			"releases a namespace that others have changed", edits(ownedNamespace, managedBy("kubectl-label", "rancher")),
			released + "other clients changed it (managed by: kubectl-label)",
		},
		{
			"deletes a namespace that only the platform has changed", edits(ownedNamespace, managedBy("rancher")),
			"Delete: it was created for dependents, and none needs it any more" + at,
		},
		{
			"releases a namespace whose deletion is refused",
			edits(ownedNamespace, answered(VerbDelete), failed(Terminal, WaitForbidden)),
			released + "it could not be deleted: the API server refused it",
		},
		{
			"waits if the release is refused, too", edits(ownedNamespace, answered(VerbOrphan), failed(Terminal, WaitForbidden)),
			"fails (Terminal), Forbidden: the API server refused it",
		},
		{
			"releases a namespace if the policy has changed",
			edits(ownedNamespace, func(s *scene) { s.defaults.MissingNamespaces = metav1alpha1.MissingNamespacesCreate }),
			released + "missingNamespacesPolicy is not own any more, or deletePolicy is not delete",
		},
		{
			"releases a namespace if the component releases its dependents",
			edits(ownedNamespace, withComponent, func(s *scene) { s.defaults.Delete = metav1alpha1.DeleteOrphan }),
			released + "missingNamespacesPolicy is not own any more, or deletePolicy is not delete",
		},
		{"forgets a namespace without the label of the component", edits(ownedNamespace, unowned), "done"},
		{"forgets a namespace of another component", edits(ownedNamespace, ownedByOthers), "done"},
		{
			"reads a namespace that no watch shows", edits(ownedNamespace, absent),
			"Read: its absence must be confirmed (uid u1, version )",
		},
		{"forgets a namespace that does not exist", edits(ownedNamespace, confirmedAbsent), "done"},
		{
			"forgets a namespace that no watch shows, and that may not be read",
			edits(ownedNamespace, absent, answered(VerbRead), failed(Terminal, WaitForbidden)), "done",
		},
		{
			"waits for a namespace that no watch shows, and that cannot be read for a time",
			edits(ownedNamespace, absent, answered(VerbRead), failed(Transient, WaitAPIError)),
			"fails (Transient), APIError: the API server refused it",
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			d := decide(deleteRules, newScene(r.scene).removal())
			got := d.text()
			if d.action != nil && d.action.Note != "" {
				got += " | " + d.action.Note
			}
			if got != r.want {
				t.Errorf("the rules decide  %s\nwant %s", got, r.want)
			}
		})
	}
}

func TestOwnedNamespaceIsRecordedBeforeItIsCreated(t *testing.T) {
	for _, c := range []struct {
		name, namespace string
		change          func(*Facts)
		owned           bool
	}{
		{"a namespace", "shop", func(*Facts) {}, true},
		{"a namespace of Kubernetes", "kube-shop", func(*Facts) {}, false},
		{"the namespace default", "default", func(*Facts) {}, false},
		{
			"with the policy create", "shop",
			func(f *Facts) { f.Defaults.MissingNamespaces = metav1alpha1.MissingNamespacesCreate }, false,
		},
		{
			"of a component that releases its dependents", "shop",
			func(f *Facts) { f.Defaults.Delete = metav1alpha1.DeleteOrphanOnDelete }, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := desiredObject(0, manifests.StageWorkloads, "web")
			o.Key.Namespace = c.namespace
			f := Facts{
				Owner: us, Guard: Guard{Owner: "Shop a/us"}, Desired: []manifests.Object{o},
				Defaults:  Policies{MissingNamespaces: metav1alpha1.MissingNamespacesOwn, Delete: metav1alpha1.DeleteDelete},
				Inventory: Inventory{o.Key: newCandidate(Facts{}, &o).newEntry()},
				Results: map[manifests.Key]Result{o.Key: {
					Verb: VerbCreate, Attempts: 1, Failure: &Failure{Class: Transient, Reason: WaitNamespaceMissing},
				}},
			}
			c.change(&f)
			p := ForApply(f.seen(func(manifests.Key) Observed { return Observed{Presence: Absent} }))
			if len(p.Actions) != 1 || p.Actions[0].Verb != VerbCreateNamespace {
				t.Fatalf("the plan has the actions %v, want the creation of the namespace", p.Actions)
			}
			key := manifests.Key{Kind: "Namespace", Name: c.namespace}
			if IsOwnedNamespace(p.Inventory[key]) != c.owned || p.WriteInventory != c.owned ||
				(p.Actions[0].OwnerName != "") != c.owned {
				t.Errorf("the entry is %q, written before: %t, the owner of the namespace is %q; want an owner: %t",
					p.Inventory[key], p.WriteInventory, p.Actions[0].OwnerName, c.owned)
			}
		})
	}
}

// creationFails makes the creation of the namespace shop fail in this pass.
func creationFails(class FailureClass) func(*Facts) {
	return func(f *Facts) {
		f.Results = map[manifests.Key]Result{shopKey: {
			Verb: VerbCreateNamespace, Attempts: 1, Failure: &Failure{Class: class, Reason: WaitForbidden},
		}}
	}
}

func TestEntriesOfOwnedNamespaces(t *testing.T) {
	labelled := Observed{Presence: Present, UID: "u2", Owner: us}
	for _, c := range []struct {
		name   string
		live   Observed
		change func(*Facts)
		// want is the entry after the plan; empty if there is none.
		want string
	}{
		{"the UID of a namespace with our label is recorded", labelled, nil, "/v1/Namespace//shop u=u2 dp=if-empty"},
		{"a namespace without a label is not ours", Observed{Presence: Present, UID: "u1"}, nil, ""},
		{"a namespace of another component is not ours", Observed{Presence: Present, UID: "u1", Owner: them}, nil, ""},
		{
			"an absent namespace is created again, or read when it is removed",
			Observed{Presence: Absent},
			nil,
			"/v1/Namespace//shop u=u1 dp=if-empty",
		},
		{"the state of the namespace is not known", NotObserved(), nil, "/v1/Namespace//shop u=u1 dp=if-empty"},
		{
			"a namespace is released later if the policy changes", labelled,
			func(f *Facts) { f.Defaults.MissingNamespaces = metav1alpha1.MissingNamespacesRefuse },
			"/v1/Namespace//shop u=u2 dp=orphan",
		},
		{"a namespace whose creation was refused is not ours", Observed{Presence: Absent}, creationFails(Terminal), ""},
		{
			"a namespace whose creation failed for a time may exist",
			Observed{Presence: Absent},
			creationFails(Transient),
			"/v1/Namespace//shop u=u1 dp=if-empty",
		},
		{
			"a namespace that appears after its creation was refused", labelled, creationFails(Terminal),
			"/v1/Namespace//shop u=u2 dp=if-empty",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := desiredObject(0, manifests.StageWorkloads, "web")
			o.Key.Namespace = "shop"
			f := Facts{
				Owner: us, Desired: []manifests.Object{o}, Inventory: Inventory{shopKey: ownedEntry},
				Defaults: Policies{MissingNamespaces: metav1alpha1.MissingNamespacesOwn},
			}
			if c.change != nil {
				c.change(&f)
			}
			p := ForApply(f.seen(func(key manifests.Key) Observed {
				if key == shopKey {
					return c.live
				}
				return Observed{Presence: Absent}
			}))
			got := ""
			if e, recorded := p.Inventory[shopKey]; recorded {
				got = e.String()
			}
			if got != c.want {
				t.Errorf("the entry is  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestAnOwnedNamespaceIsNoRemovalWhileADependentIsInIt(t *testing.T) {
	inside := desiredObject(0, manifests.StageWorkloads, "web")
	inside.Key.Namespace = "shop"
	ordinary := ownedEntry
	ordinary.DeletePolicy = ""
	for _, c := range []struct {
		name    string
		entry   metav1alpha1.InventoryEntry
		desired []manifests.Object
		want    int
	}{
		{"a dependent is in it", ownedEntry, []manifests.Object{inside}, 0},
		{"no dependent is in it", ownedEntry, nil, 1},
		{"a namespace that was rendered before is pruned", ordinary, []manifests.Object{inside}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Removals(Inventory{shopKey: c.entry}, c.desired); len(got) != c.want {
				t.Errorf("the removals are %v, want %d", got, c.want)
			}
		})
	}
}

// A dependent with a negative apply order has a later delete wave than the namespace, in which it must not be lost.
func TestAnOwnedNamespaceIsRemovedAfterAllWaves(t *testing.T) {
	early := metav1alpha1.InventoryEntry{Version: "v1", Kind: "Secret", Namespace: "shop", Name: "a", Order: -5}
	role := metav1alpha1.InventoryEntry{Group: rbacGroup, Version: "v1", Kind: "ClusterRole", Name: "a", Order: -7}
	steps := deleteSteps([]metav1alpha1.InventoryEntry{ownedEntry, early, role}, typeset.New(nil))
	if last := steps[len(steps)-1]; len(steps) != 3 || KeyOf(last[0]) != shopKey {
		t.Errorf("the steps are %v, want the namespace in the last of three", steps)
	}
}

func TestAnOwnedNamespaceStaysForPostDelete(t *testing.T) {
	inside := desiredObject(0, manifests.StageWorkloads, "cleanup")
	inside.Key.Namespace, inside.Settings.Phase = "shop", manifests.PhasePostDelete
	other, ordinary := ownedEntry, ownedEntry
	other.Name, ordinary.DeletePolicy = "bank", ""
	entries := []metav1alpha1.InventoryEntry{ownedEntry, other, ordinary}
	stays := stayingForPhase(Facts{PostDelete: []manifests.Object{inside}})
	if got := slices.IndexFunc(entries, stays); got != 0 || stays(other) || stays(ordinary) {
		t.Errorf("the stays are %t, %t, %t; want only the first", stays(ownedEntry), stays(other), stays(ordinary))
	}
}

// The roles and bindings stay for an object of post-delete with a service account, wherever they are.
func TestAnOwnedNamespaceStaysWithTheObjectsThatPostDeleteUses(t *testing.T) {
	job := rendered(t, "batch", "Job", "home", "cleanup", "{template: {spec: {serviceAccountName: cleaner}}}")
	binding := metav1alpha1.InventoryEntry{
		Group: rbacGroup, Version: "v1", Kind: "RoleBinding", Namespace: "shop", Name: "cleaner",
	}
	settings := metav1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "bank", Name: "settings"}
	other := ownedEntry
	other.Name = "bank"
	stays := stayingForPhase(Facts{
		PostDelete: []manifests.Object{job},
		Inventory:  NewInventory([]metav1alpha1.InventoryEntry{ownedEntry, other, binding, settings}),
	})
	if !stays(binding) || !stays(ownedEntry) || stays(settings) || stays(other) {
		t.Errorf("the stays are %t, %t, %t, %t; want only the binding and its namespace",
			stays(binding), stays(ownedEntry), stays(settings), stays(other))
	}
}

// Nothing of the component is in the namespace when it is deleted, so no foreign instance loses its controller.
func TestForeignInstancesDoNotBlockTheDeletionOfAnOwnedNamespace(t *testing.T) {
	f := Facts{
		Owner: us, Reason: ReasonDeleted, Inventory: Inventory{shopKey: ownedEntry},
		Defaults: Policies{MissingNamespaces: metav1alpha1.MissingNamespacesOwn},
		Managed:  []manifests.ManagedType{widgets},
		Foreign:  map[manifests.ManagedType]ForeignInstances{widgets: {Count: 1}},
	}
	p := ForDelete(f.seen(func(manifests.Key) Observed { return Observed{Presence: Present, UID: "u1", Owner: us} }))
	if len(p.Blocked) > 0 || len(p.Actions) != 1 || p.Actions[0].Verb != VerbDelete {
		t.Errorf("the plan has the blockers %v and the actions %v, want the deletion", p.Blocked, p.Actions)
	}
}

func TestAnOlderVersionReleasesAnUnknownPolicy(t *testing.T) {
	unknown := ownedEntry
	unknown.DeletePolicy = "of-a-newer-version"
	misused := metav1alpha1.InventoryEntry{
		Version: "v1", Kind: "Secret", Name: "a", DeletePolicy: metav1alpha1.DeleteIfEmpty,
	}
	for _, reason := range []Reason{ReasonPruned, ReasonDeleted} {
		if !Orphans(unknown, reason) || !Orphans(misused, reason) || Orphans(ownedEntry, reason) {
			t.Errorf("because %s, an unknown policy releases: %t, a Secret with the policy is released: %t, "+
				"an owned namespace: %t", reason, Orphans(unknown, reason), Orphans(misused, reason), Orphans(ownedEntry, reason))
		}
	}
}
