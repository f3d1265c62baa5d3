package applier

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

func TestNothingIsCreatedBeforeItIsRecorded(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("first", "0"), configMap("second", "1"))
	o := c.apply()
	c.expect("before", "record first+second", "PATCH first", "PATCH second")
	if !o.Done() || !o.Applied || o.Ready != 2 || o.Desired != 2 {
		t.Errorf("the first pass is not done, or does not count 2 of 2 objects as ready: %+v", o)
	}
	expectVerbs(t, o, "Create first", "Create second")
	if got := namesOf(o.Created.Sorted()); got != "first+second" {
		t.Errorf("the outcome names the created objects %s, want first+second", got)
	}

	o = c.apply()
	c.expect()
	if !o.Done() || len(o.Changes) != 0 || len(o.Created) != 0 {
		t.Errorf("a pass without drift made changes: %+v", o)
	}
}

func TestRecordedObjectIsCreatedAgainAfterTheComponentIsConfirmed(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"))
	c.apply()
	c.took()
	c.server.Delete("v1", "ConfigMap", "shop", "a")
	c.eventuallySeen(keyOf("a"), "")
	o := c.apply()
	c.expect("before", "confirm", "PATCH a")
	if got := namesOf(o.Created.Sorted()); got != "a" {
		t.Errorf("the outcome names the created objects %s, want a", got)
	}
}

func TestUpdatesAreNotConfirmed(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"))
	c.apply()
	c.took()
	changed := configMap("a", "0")
	changed.Object["data"] = map[string]any{"a": "2"}
	c.request.Revision = 2
	c.desire(changed)
	o := c.apply()
	c.expect("before", "PATCH a")
	expectVerbs(t, o, "Apply a")
	if len(o.Created) != 0 {
		t.Errorf("the outcome names the created objects %v, want none", o.Created)
	}
}

func TestNothingIsWrittenAfterACallbackFails(t *testing.T) {
	failure := errors.New("it fails")
	for _, c := range []struct {
		name   string
		change func(*Request)
		want   string
	}{
		{"Before", func(r *Request) { r.Before = func(context.Context) error { return failure } }, ""},
		{
			"WriteInventory", func(r *Request) {
				r.WriteInventory = func(context.Context, []metav1alpha1.InventoryEntry) error { return failure }
			}, "before",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs := newCluster(t)
			cs.desire(configMap("a", "0"))
			c.change(&cs.request)
			o, err := cs.run(cs.applier.Apply)
			if !errors.Is(err, failure) || o.Inventory != nil || len(o.Created)+len(o.Changes) != 0 {
				t.Errorf("a pass whose callback failed must end without a write, got %+v and the error %v", o, err)
			}
			if got := cs.took(); got != c.want {
				t.Errorf("the log of the pass is %q, want %q", got, c.want)
			}
		})
	}
}

func TestSupersededRequestEndsBeforeItsNextWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		// end interrupts the pass during its first write. The response of this write is still processed.
		end  func(superseded chan struct{}, cancel context.CancelFunc)
		want error
	}{
		{"the component has changed", func(s chan struct{}, _ context.CancelFunc) { close(s) }, passerror.ErrSuperseded},
		{"the process ends", func(_ chan struct{}, cancel context.CancelFunc) { cancel() }, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs := newCluster(t)
			superseded := make(chan struct{})
			cs.request.Superseded = superseded
			// The watches are synced first, so that the pass below is the only pass.
			cs.desire(configMap("first", "0"), configMap("second", "1"))
			cs.eventually(func() bool {
				_, ok := cs.applier.Watch(t.Context(), cs.client, cs.request)
				return ok
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cs.refuse(func(r apiservertest.Request) error {
				if r.Method == "PATCH" {
					c.end(superseded, cancel)
				}
				return nil
			})
			o, err := cs.applier.Apply(ctx, cs.client, cs.request)
			if !errors.Is(err, c.want) || o.Inventory != nil {
				t.Errorf("the interrupted pass returned the outcome %+v and the error %v, want no inventory", o, err)
			}
			cs.expect("before", "record first+second", "PATCH first")
			if got := namesOf(o.Created.Sorted()); got != "first" {
				t.Errorf("Created must have the create that was sent, got %s", got)
			}
		})
	}
}

func TestFirstListIsAwaited(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"))
	c.request.Inventory = []metav1alpha1.InventoryEntry{
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "former"},
	}
	o, err := c.applier.Apply(t.Context(), c.client, c.request)
	if err != nil || !o.Observing || o.Done() || namesOf(o.Inventory) != "former" {
		t.Errorf("the pass must wait for the watches and keep the previous inventory, got %+v and the error %v", o, err)
	}
	if o := c.applier.Plan(t.Context(), c.client, c.request); o.Observing && namesOf(o.Inventory) != "former" {
		t.Errorf("the plan does not have the previous inventory: %+v", o)
	}
	c.awaitWake()
	c.expect()
}

func TestPlanReturnsTheFirstChangesAndWritesNothing(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("first", "0"), configMap("second", "1"))
	c.eventually(func() bool { return !c.applier.Plan(t.Context(), c.client, c.request).Observing })
	o := c.applier.Plan(t.Context(), c.client, c.request)
	expectVerbs(t, o, "Create first")
	c.expect()
}

func TestDependentsThatAreNotDesiredArePruned(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"), configMap("b", "0"))
	c.apply()
	c.took()
	c.desire(configMap("a", "0"))
	o := c.apply()
	c.expect("before", "DELETE b")
	if namesOf(o.Inventory) != "a" || o.Changes[0].Reason != string(plan.ReasonPruned) {
		t.Errorf("the outcome must have the pruned object as a change, and an inventory without it, got %+v", o)
	}
	if c.server.Object("v1", "ConfigMap", "shop", "b") != nil {
		t.Error("the ConfigMap b, which is no longer rendered, still exists")
	}
}

func TestDeleteIgnoresTheDesiredObjects(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"))
	c.apply()
	c.took()
	o := c.delete()
	c.expect("before", "DELETE a")
	if !o.Done() || len(o.Inventory) != 0 || o.Changes[0].Reason != string(plan.ReasonDeleted) {
		t.Errorf("the deletion pass must delete the object and empty the inventory, got %+v", o)
	}
	if got := c.request.ForDelete(); got.Desired != nil || !got.deleting || got.removalReason() != plan.ReasonDeleted {
		t.Errorf("ForDelete returned the wrong request %+v", got)
	}
	if c.applier.DefaultDeletePolicy() != metav1alpha1.DeleteDelete {
		t.Error("the default delete policy of the applier is not delete")
	}
}

func TestRepairsAreRememberedUntilTheNonceChanges(t *testing.T) {
	c := newCluster(t)
	c.request.RepairNonce = "x"
	c.desire(configMap("a", "0"))
	c.apply()
	c.server.Delete("v1", "ConfigMap", "shop", "a")
	c.eventuallySeen(keyOf("a"), "")
	if o := c.apply(); len(o.Changes) != 1 || o.Changes[0].Reason != string(plan.ReasonMissing) {
		t.Fatalf("the deleted object must be created again, got %+v", o)
	}
	kept := c.applier.state.repairsOf(component.ID(), "x")
	if repair := kept[keyOf("a")]; len(repair.Losses) != 1 || !repair.Last.Equal(start) {
		t.Errorf("the repair of the missing object is not remembered: %+v", kept)
	}
	if got := c.applier.state.repairsOf(component.ID(), "y"); len(got) != 0 {
		t.Errorf("the repairs of another repair nonce are kept: %+v", got)
	}

	t.Run("repairs that are reverted again and again are delayed", func(t *testing.T) {
		var hasConflict bool
		for range 10 {
			c.server.Delete("v1", "ConfigMap", "shop", "a")
			c.eventuallySeen(keyOf("a"), "")
			if o := c.apply(); len(o.RepairConflicts) > 0 && len(o.Changes) == 0 {
				hasConflict = o.NextDue.After(start)
				break
			}
		}
		if !hasConflict {
			t.Error("no repair of the object with a repair conflict was delayed")
		}
		c.request.RepairNonce = "y"
		expectVerbs(t, c.apply(), "Create a")
	})
	t.Run("forgetting an owner forgets its repairs", func(t *testing.T) {
		c.applier.Forget(component)
		if got := c.applier.state.repairsOf(component.ID(), "y"); len(got) != 0 {
			t.Errorf("the repairs of the component remain after Forget: %+v", got)
		}
	})
}

// definition returns the manifest of a CustomResourceDefinition that is established.
func definition() *unstructured.Unstructured {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com", map[string]any{
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Widget", "plural": "widgets"},
		},
	})
}

// establish sets the conditions of the CustomResourceDefinition as an API server does.
func (c *cluster) establish() {
	c.t.Helper()
	const apiVersion, kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	stored := c.server.Put(apiVersion, kind, "", "widgets.example.com", map[string]any{
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Established", "status": "True"}, map[string]any{"type": "NamesAccepted", "status": "True"},
		}},
	})
	c.eventuallySeen(manifests.Key{
		Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.example.com",
	}, stored.GetResourceVersion())
}

func TestForeignInstancesBlockADeletion(t *testing.T) {
	c := newCluster(t)
	c.desire(definition(), configMap("a", "0"))
	c.apply()
	c.establish()
	c.apply()
	c.took()
	c.server.Put("example.com/v1", "Widget", "shop", "theirs", nil)
	o := c.delete()
	c.expect()
	if len(o.Blocked) != 1 || o.Blocked[0].Type != "Widget.example.com" || o.Blocked[0].Count != 1 ||
		len(o.Inventory) != 2 {
		t.Errorf("the deletion must be blocked by one foreign instance, got %+v", o)
	}
}

func TestAdditionalManagedTypesBlockADeletionWithDependents(t *testing.T) {
	c := newCluster(t)
	widgets, err := manifests.ParseManagedType("Widget.example.com")
	if err != nil {
		t.Fatal(err)
	}
	c.request.Managed = []manifests.ManagedType{widgets}
	c.desire(configMap("a", "0"))
	c.server.Put("example.com/v1", "Widget", "shop", "theirs", nil)
	c.apply()
	if o := c.apply(); !o.Done() {
		t.Errorf("foreign instances of additional managed types block an apply: %+v", o)
	}
	_, reason, message := c.client.Observer.Instances(c.client.Reader, widgets.GroupKind)
	if reason != plan.WaitObserving || message != "its instances are not watched yet" {
		t.Errorf("an apply watches the instances of additional types: %s", message)
	}
	if o := c.delete(); len(o.Blocked) != 1 || len(o.Inventory) != 1 {
		t.Errorf("the deletion must be blocked by a foreign instance, got %+v", o)
	}
	c.request.Inventory = nil
	if o := c.delete(); !o.Done() {
		t.Errorf("a deletion without dependents is blocked: %+v", o)
	}
}

func TestDefinitionIsDeletedAfterAGuardHolds(t *testing.T) {
	c := newCluster(t)
	c.desire(definition())
	c.apply()
	c.establish()
	c.apply()
	c.took()
	refused := false
	c.refuse(func(r apiservertest.Request) error {
		if r.DryRun && refused {
			return apierrors.NewForbidden(namespaces.GroupResource(), "probe", errors.New(
				"ValidatingAdmissionPolicy '"+plan.GuardName(reconciler, component.ID())+"' denied request"))
		}
		return nil
	})
	guard := plan.GuardName(reconciler, component.ID())

	o := c.delete()
	c.expect("DELETE widgets.example.com", "before", "record widgets.example.com", "PATCH "+guard, "PATCH "+guard,
		"POST customresourcedefinitions")
	if len(o.Waiting) != 1 || o.Waiting[0].Reason != string(plan.WaitUnguarded) || !o.NextDue.After(start) {
		t.Errorf("the deletion must wait for the guard of the definition, got %+v", o)
	}
	if known := c.applier.state.guardOf(component); !known.SetUp.Equal(start) ||
		!known.EffectiveSince.IsZero() {
		t.Errorf("the state has the wrong state of the guard: %+v", known)
	}

	refused = true
	c.request.Now = start.Add(time.Second)
	if o = c.delete(); o.Done() {
		t.Errorf("the definition was deleted before the admission guard was in effect long enough: %+v", o)
	}
	c.expect("before", "POST customresourcedefinitions")
	if known := c.applier.state.guardOf(component); !known.EffectiveSince.Equal(c.request.Now) {
		t.Errorf("the state does not have the time at which the guard took effect: %+v", known)
	}

	c.request.Now = c.request.Now.Add(time.Second)
	if o = c.delete(); !o.Done() || len(o.Inventory) != 0 {
		t.Errorf("the deletion pass is not done after the guard took effect: %+v", o)
	}
	if log := c.took(); !strings.HasPrefix(log, "before, DELETE widgets.example.com") {
		t.Errorf("the first request of the deletion pass is not the delete of the definition: %s", log)
	}
	if c.server.Object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com") != nil {
		t.Error("the definition still exists after the deletion pass")
	}
}

func TestContentsOfANamespaceAreListedRightBeforeItsDeletion(t *testing.T) {
	c := newCluster(t)
	c.desire(object("v1", "Namespace", "own", nil))
	c.apply()
	c.took()
	c.server.Put("v1", "Secret", "own", "theirs", nil)
	o := c.delete()
	c.expect()
	if len(o.Waiting) != 1 || o.Waiting[0].Reason != string(plan.WaitNotEmpty) ||
		!strings.Contains(o.Waiting[0].Message, "Secret own/theirs") {
		t.Errorf("the deletion of the namespace must be blocked by the Secret own/theirs, got %+v", o)
	}
	c.server.Delete("v1", "Secret", "own", "theirs")
	o = c.delete()
	c.expect("before", "DELETE own")
	if !o.Done() {
		t.Errorf("the deletion pass is not done after the Secret was deleted: %+v", o)
	}
}

func TestContentsOfANamespaceAreListedAgainAfterAConflict(t *testing.T) {
	c := newCluster(t)
	c.desire(object("v1", "Namespace", "own", nil))
	c.apply()
	c.took()
	c.refuse(func(r apiservertest.Request) error {
		if r.Method != "DELETE" || c.server.Object("v1", "Secret", "own", "late") != nil {
			return nil
		}
		c.server.Put("v1", "Secret", "own", "late", nil)
		return apierrors.NewConflict(namespaces.GroupResource(), "own", errors.New("it has changed"))
	})
	o := c.delete()
	c.expect("before", "DELETE own")
	if len(o.Waiting) != 1 || o.Waiting[0].Reason != string(plan.WaitNotEmpty) ||
		c.server.Object("v1", "Namespace", "", "own") == nil {
		t.Errorf("the namespace must not be deleted, because it contains a new Secret: %+v", o)
	}
}

func TestTypesThatCannotBeWatchedAreReported(t *testing.T) {
	c := newCluster(t)
	c.refuse(func(r apiservertest.Request) error {
		if r.Method == "GET" && strings.HasSuffix(r.Path, "/configmaps") {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no right"))
		}
		return nil
	})
	c.desire(configMap("a", "0"))
	o := c.apply()
	if len(o.Unwatched) != 1 || o.Unwatched[0].Type != "ConfigMap" ||
		!strings.Contains(o.Unwatched[0].Message, "no right") {
		t.Errorf("the outcome does not report the type that cannot be watched: %+v", o)
	}
	if !o.Applied || c.server.Object("v1", "ConfigMap", "shop", "a") == nil {
		t.Errorf("the ConfigMap is not applied: %+v", o)
	}
}

func TestWatchesThatAPassDoesNotNeedEnd(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"), object("v1", "Secret", "b", nil))
	c.apply()
	secret := manifests.Key{Kind: "Secret", Namespace: "shop", Name: "b"}
	presence := func() plan.Presence {
		return c.client.Observer.Snapshot(c.client.Reader, []manifests.Key{secret}).Of(secret).Presence
	}
	c.eventually(func() bool { return presence() == plan.Present })
	c.desire(configMap("a", "0"))
	c.apply()
	if got := presence(); got != plan.Unknown {
		t.Errorf("Secrets are still watched, although no dependent is a Secret: the presence of Secret b is %s", got)
	}
}

func TestPoliciesOfTheRequestReplaceThoseOfTheApplier(t *testing.T) {
	c := newCluster(t)
	c.server.Put("v1", "ConfigMap", "shop", "a", nil)
	c.request.Policies.Adoption = metav1alpha1.AdoptNever
	c.desire(configMap("a", "0"))
	if o := c.apply(); len(o.Waiting) != 1 || o.Waiting[0].Reason != string(plan.WaitOwnershipConflict) {
		t.Errorf("the adoption policy of the request is not used: %+v", o)
	}
	c.request.Policies = metav1alpha1.Policies{}
	expectVerbs(t, c.apply(), "Adopt a")
}

func TestSortedEntries(t *testing.T) {
	entries := []metav1alpha1.InventoryEntry{
		{Version: "v1", Kind: "Secret", Namespace: "shop", Name: "a"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "c"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "b"},
	}
	sorted := plan.NewInventory(entries).Sorted()
	slices.Reverse(entries)
	if again := plan.NewInventory(entries).Sorted(); namesOf(sorted) != "b+c+a" || namesOf(again) != "b+c+a" {
		t.Errorf("the inventory is sorted as %s, and from reversed entries as %s; want b+c+a", namesOf(sorted),
			namesOf(again))
	}
	if got := plan.Inventory(nil).Sorted(); got == nil || len(got) != 0 {
		t.Errorf("Sorted of an empty inventory must return an empty slice and not nil, got %v", got)
	}
}

func TestReadDependent(t *testing.T) {
	c := newCluster(t)
	c.server.Put("v1", "ConfigMap", "shop", "a", map[string]any{"data": map[string]any{"a": "1"}})
	widget := manifests.Key{Kind: "Namespace", Name: "shop"}
	for _, r := range []struct {
		key     manifests.Key
		version string
	}{{keyOf("a"), "v1"}, {keyOf("a"), "v1beta1"}, {widget, "v1"}} {
		obj, err := ReadDependent(t.Context(), c.client, r.key, r.version)
		if err != nil || obj.GetName() != r.key.Name {
			t.Errorf("%s: got %v, %v", r.key, obj, err)
		}
	}
	if _, err := ReadDependent(t.Context(), c.client, keyOf("b"), "v1"); !apierrors.IsNotFound(err) {
		t.Errorf("ReadDependent of a missing object returned %v, want a NotFound error", err)
	}
	unknown := manifests.Key{Group: "example.com", Kind: "Gizmo", Namespace: "shop", Name: "a"}
	if _, err := ReadDependent(t.Context(), c.client, unknown, "v1"); err == nil {
		t.Error("read an object whose type is not served")
	}
	var status apierrors.APIStatus
	if err := NotDependent(keyOf("a")); !apierrors.IsNotFound(err) || !errors.As(err, &status) ||
		status.Status().Reason != metav1.StatusReasonNotFound || !strings.Contains(err.Error(), "shop/a") {
		t.Errorf("NotDependent must return a NotFound error that names the object, got %v", err)
	}
}

func TestObjectThatChangesDuringTheLastPlanIsPlannedForInTheSamePass(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "0"))
	c.apply()
	plans := 0
	change := func(plan.Facts) plan.Plan {
		plans++
		data := map[string]any{"n": strconv.Itoa(plans)}
		version := c.server.Put("v1", "ConfigMap", "shop", "a", map[string]any{"data": data}).GetResourceVersion()
		c.eventuallySeen(keyOf("a"), version)
		return plan.Plan{}
	}
	if _, err := c.applier.run(t.Context(), c.client, c.request, change); err != nil {
		t.Fatal(err)
	}
	if plans != 2 {
		t.Errorf("the pass made %d plans, want 2: it must end although the object changes during each plan", plans)
	}
	plans = 0
	if _, err := c.applier.run(t.Context(), c.client, c.request, func(plan.Facts) plan.Plan {
		plans++
		return plan.Plan{}
	}); err != nil || plans != 1 {
		t.Errorf("a pass during which nothing changes made %d plans, want 1; error: %v", plans, err)
	}
}
