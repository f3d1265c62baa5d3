package reconcile

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/dependencies"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

var (
	db      = types.NamespacedName{Namespace: "shop", Name: "db"}
	isReady = dependencies.Health{Generation: 1, ObservedGeneration: 1, IsReady: true}
)

// newDependencies returns Dependencies with an empty graph.
func (w *world) newDependencies() *Dependencies {
	return &Dependencies{
		Graph: dependencies.New(w.Wake), Author: fakeAuthor{w}, Store: w.Store, Finalizers: w.Finalizers,
	}
}

// newWaitingWorld returns a world whose component depends on the component db, which does not exist.
func newWaitingWorld(t *testing.T, edits ...func(*part)) *world {
	t.Helper()
	w := newWorld(t, edits...)
	w.Dependencies = w.newDependencies()
	w.needs = Needs{
		Field: "spec.dependsOn", Edges: []dependencies.Edge{{On: db, Kind: dependencies.DependsOn, Blocks: true}},
	}
	w.Dependencies.Complete()
	w.outcome = outcome.Outcome{Outcome: result.Outcome{
		Applied: true, Inventory: []metav1alpha1.InventoryEntry{settings}, Ready: 1, Desired: 1,
	}}
	return w
}

// made reports whether a step was made since the last call, and clears the log.
func (w *world) made(step string) bool {
	made := slices.Contains(w.steps, step)
	w.steps = nil
	return made
}

func (w *world) expectWoken(when string, want ...types.NamespacedName) {
	w.t.Helper()
	if !slices.Equal(w.woken, want) {
		w.t.Errorf("%s, passes were started over %v, not %v", when, w.woken, want)
	}
	w.woken = nil
}

func TestNewInputsWaitForDependencies(t *testing.T) {
	w := newWaitingWorld(t)
	w.reconcile()
	s := w.stored().Status
	if w.made("render") || s.State != metav1alpha1.StateProgressing || s.ProgressingSince != nil ||
		w.ready().Reason != metav1alpha1.ReasonDependencyNotReady {
		t.Errorf("the component does not wait: %+v", s)
	}
	want := []metav1alpha1.DependentReport{{
		Dependent: "Part.example.com shop/db", Reason: "ComponentNotReady", Message: "it does not exist (spec.dependsOn[0])",
	}}
	if !slices.Equal(s.Waiting, want) {
		t.Errorf("the status names %+v", s.Waiting)
	}
	w.clock.SetTime(start.Add(time.Hour))
	w.reconcile()
	if w.made("write the status") {
		t.Error("a component that goes on waiting writes its status")
	}

	w.woken = nil
	node := dependencies.Node{UID: "db", Version: "1", Health: dependencies.Health{Generation: 1}}
	w.Dependencies.Graph.Put(db, node)
	w.expectWoken("when db was created", web)
	w.reconcile()
	if message := w.ready().Message; w.made("render") || !strings.Contains(message, "shop/db: it is not Ready") {
		t.Errorf("the component waits with the message %q", message)
	}
	node.Version, node.Health = "2", isReady
	w.Dependencies.Graph.Put(db, node)
	w.expectWoken("when db became Ready", web)
	w.reconcile()
	if s := w.stored().Status; !w.made("apply") || s.State != metav1alpha1.StateReady || len(s.Waiting) > 0 {
		t.Errorf("the component is not applied: %+v", s)
	}
}

func TestRecordedInputsDoNotWait(t *testing.T) {
	w := newWaitingWorld(t, withRecord)
	w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
	w.reconcile()
	if !w.made("render") {
		t.Error("inputs that the component began to apply wait for a dependency")
	}
}

func TestTheFirstDependentsWait(t *testing.T) {
	w := newWaitingWorld(t, func(p *part) {
		withRecord(p)
		p.Status.Inventory, p.Status.InventoryDigest = nil, ""
	})
	w.reconcile()
	if w.made("render") {
		t.Error("a component without dependents does not wait for a dependency")
	}
}

func TestDependentsAreRepairedWhileNewInputsWait(t *testing.T) {
	w := newWaitingWorld(t, withRecord)
	w.loaded.Entries, w.inputs.Digest, w.last = []metav1alpha1.InventoryEntry{settings}, "new", &rendering.Set{}
	w.reconcile()
	if !w.made("apply") || !w.request.Hold {
		t.Error("the dependents are not repaired")
	}
	if s := w.stored().Status; s.InputDigest != "inputs" || len(s.Waiting) != 1 {
		t.Errorf("the status is %+v", s)
	}
	if message := w.ready().Message; !strings.HasSuffix(message, "until then, nothing of the new inputs is applied") {
		t.Errorf("the message is %q", message)
	}
}

func TestAComponentWithoutConsentSeesNothing(t *testing.T) {
	w := newWaitingWorld(t)
	mesh := types.NamespacedName{Namespace: "infra", Name: "mesh"}
	w.needs.Edges[0].On = mesh
	w.reconcile()
	absent := w.ready().Message
	w.steps = nil
	w.Dependencies.Graph.Put(mesh, dependencies.Node{UID: "mesh", Version: "1", Health: isReady})
	w.expectWoken("when the other component was created")
	w.reconcile()
	if w.made("write the status") || !strings.Contains(absent, "allowDependents does not list the namespace shop") {
		t.Errorf("the message was %q, and is %q", absent, w.ready().Message)
	}
	w.Dependencies.Graph.Put(mesh, dependencies.Node{UID: "mesh", Version: "2", Health: isReady, Allows: []string{"shop"}})
	w.expectWoken("when the other component allowed it", web)
}

func TestADeletionWaitsForHolders(t *testing.T) {
	for _, c := range []struct {
		name     string
		deleting bool
		state    metav1alpha1.State
		message  string
	}{
		{"that are being deleted", true, metav1alpha1.StateDeleting, "dependents are not deleted until"},
		{"that stay", false, metav1alpha1.StateDeletionBlocked, "not being deleted: Part.example.com shop/db; delete them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWaitingWorld(t, withRecord, deleted)
			w.needs = Needs{}
			w.outcome = outcome.Outcome{}
			connection, err := target.Connect(t.Context(), unreachable(), target.Options{Reconciler: reconciler})
			if err != nil {
				t.Fatal(err)
			}
			w.target = target.Target{Client: connection.Own(), Local: connection.Own()}
			w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
			holder := dependencies.Node{
				UID: "db", Version: "1", Holds: true, Deleting: c.deleting,
				Edges: []dependencies.Edge{{On: web, Kind: dependencies.DependsOn, Blocks: true}},
			}
			w.Dependencies.Graph.Put(db, holder)
			if !c.deleting {
				// Whoever deletes both may delete the other one next.
				if after := w.reconcile(); after != settleTime || w.made("write the status") {
					t.Errorf("the next pass is due after %s, or the status was written", after)
				}
				w.clock.SetTime(start.Add(settleTime))
			}
			w.reconcile()
			s := w.stored().Status
			if w.made("delete") || s.State != c.state || w.ready().Reason != metav1alpha1.ReasonDependedOn ||
				!strings.Contains(w.ready().Message, c.message) {
				t.Errorf("the deletion does not wait: %+v", s)
			}
			if len(s.Waiting) != 1 || s.Waiting[0].Reason != result.ReportDependedOn {
				t.Errorf("the status names %+v", s.Waiting)
			}
			w.Dependencies.Graph.Remove(db, "db")
			if !slices.Contains(w.woken, web) {
				t.Error("the end of the holder starts no pass")
			}
			w.reconcile()
			if !w.made("delete") {
				t.Error("the deletion does not go on")
			}
		})
	}
}

// child is the inventory entry of the component db as a dependent of the component web.
var child = metav1alpha1.InventoryEntry{
	Group: "example.com", Version: "v1", Kind: "Part", Namespace: db.Namespace, Name: db.Name,
}

func TestAParentIsDeletedBeforeAChildThatDependsOnIt(t *testing.T) {
	w := newWaitingWorld(t, withRecord, deleted)
	w.needs, w.outcome = Needs{}, outcome.Outcome{}
	w.loaded.Entries = []metav1alpha1.InventoryEntry{child}
	w.Dependencies.Graph.Put(db, dependencies.Node{
		UID: "db", Version: "1", Holds: true,
		Edges: []dependencies.Edge{{On: web, Kind: dependencies.DependsOn, Blocks: true}},
	})
	w.reconcile()
	if !w.made("delete") {
		t.Errorf("the parent waits for its child, which only the parent deletes: %+v", w.stored().Status)
	}
}

func TestAChildThatDependsOnItsParentIsInACycle(t *testing.T) {
	w := newWaitingWorld(t)
	w.needs = Needs{}
	w.outcome.Inventory = []metav1alpha1.InventoryEntry{child}
	w.reconcile()
	node := dependencies.Node{
		UID: "db", Version: "1", Edges: []dependencies.Edge{{On: web, Kind: dependencies.DependsOn, Blocks: true}},
	}
	w.Dependencies.Graph.Enter(db, node)
	states := w.Dependencies.Graph.Follow(db, "db").States
	if len(states) != 1 || states[0].Cause != dependencies.InCycle {
		t.Errorf("the child waits with the states %+v", states)
	}
}

func TestCycleText(t *testing.T) {
	mesh := types.NamespacedName{Namespace: "infra", Name: "mesh"}
	cycle := []dependencies.Link{
		{Name: web, Kind: dependencies.DependsOn},
		{Name: mesh, Kind: dependencies.Exports},
		{Name: db, Kind: dependencies.Contains},
	}
	const want = "shop/web depends on (a component that the identity of web cannot read) reads an export of shop/db " +
		"contains shop/web"
	mayRead := func(name types.NamespacedName) bool { return name != mesh }
	if text := cycleText(cycle, mayRead); text != want {
		t.Errorf("the cycle is described as %q", text)
	}
}

func TestChildrenOf(t *testing.T) {
	other, orphan, external, later := child, child, child, child
	other.Kind, external.External, later.Name = "Other", true, "later"
	orphan.DeletePolicy = metav1alpha1.DeleteOrphan
	all := []metav1alpha1.InventoryEntry{settings, later, other, orphan, external, child}
	want := []types.NamespacedName{db, {Namespace: db.Namespace, Name: "later"}}
	if got := childrenOf(work{owner: owner}, all); !slices.Equal(got, want) {
		t.Errorf("the children are %v, not %v", got, want)
	}
	if got := childrenOf(work{owner: owner, target: target.Target{Cluster: "there"}}, all); len(got) > 0 {
		t.Errorf("in another cluster, the children are %v", got)
	}
}

func TestNothingWaitsInAPreview(t *testing.T) {
	w := newWaitingWorld(t)
	w.Dependencies = nil
	w.reconcile()
	if !w.made("render") {
		t.Error("a component waits without a graph")
	}
}

func TestDeletionBegan(t *testing.T) {
	for _, c := range []struct {
		state       metav1alpha1.State
		reason      string
		generation  int64
		want        bool
		description string
	}{
		{metav1alpha1.StateDeleting, metav1alpha1.ReasonDeleting, 2, true, "dependents are being deleted"},
		{metav1alpha1.StateStalled, metav1alpha1.ReasonDependentFailed, 2, true, "a dependent cannot be deleted"},
		{metav1alpha1.StateStalled, metav1alpha1.ReasonDependentFailed, 1, false, "a dependent failed before the deletion"},
		{metav1alpha1.StateStalled, metav1alpha1.ReasonForbidden, 2, false, "the cluster cannot be reached"},
		{metav1alpha1.StateDeleting, metav1alpha1.ReasonDependedOn, 2, false, "it waits for other components"},
		{metav1alpha1.StateDeleting, metav1alpha1.ReasonForeignFinalizers, 2, false, "it waits for other controllers"},
		{metav1alpha1.StateDeletionBlocked, metav1alpha1.ReasonForeignInstances, 2, false, "foreign instances block it"},
		{metav1alpha1.StateReady, metav1alpha1.ReasonReady, 1, false, "the deletion was not seen yet"},
	} {
		s := &metav1alpha1.Status{State: c.state, Conditions: []metav1.Condition{{
			Type: metav1alpha1.ConditionReady, Reason: c.reason, ObservedGeneration: c.generation,
		}}}
		if got := deletionBegan(s, 2); got != c.want {
			t.Errorf("%s: deletionBegan returned %t", c.description, got)
		}
	}
}

func TestIsElsewhere(t *testing.T) {
	remote := settings
	remote.Namespace = "infra"
	for name, c := range map[string]struct {
		status metav1alpha1.Status
		want   bool
	}{
		"no dependents":             {metav1alpha1.Status{}, false},
		"in the namespace":          {metav1alpha1.Status{Inventory: []string{settings.String()}}, false},
		"in another namespace":      {metav1alpha1.Status{Inventory: []string{settings.String(), remote.String()}}, true},
		"rendered for another one":  {metav1alpha1.Status{TargetNamespace: "infra"}, true},
		"in another cluster":        {metav1alpha1.Status{TargetCluster: "there"}, true},
		"in Secrets":                {metav1alpha1.Status{InventoryRecord: &metav1alpha1.InventoryRecord{Name: "a"}}, true},
		"not in the cached version": {metav1alpha1.Status{Inventory: []string{"not here"}}, true},
	} {
		if got := isElsewhere(&c.status, "shop"); got != c.want {
			t.Errorf("%s: isElsewhere returned %t", name, got)
		}
	}
}

func TestNodeOf(t *testing.T) {
	w := newWaitingWorld(t, withRecord)
	p := w.stored()
	p.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", ObservedGeneration: 1}}
	p.Status.AppliedDigest = "inputs"
	p.Status.History = []metav1alpha1.RevisionRecord{
		{Outcome: metav1alpha1.RevisionFailed},
		{Revision: 1, Outcome: metav1alpha1.RevisionReady},
	}
	node, needs := w.Dependencies.nodeOf(p)
	want := isReady
	want.RevisionReady, want.InputsApplied = true, true
	if !node.Holds || node.Deleting || node.Health != want || len(node.Edges) != 1 || needs.Field != "spec.dependsOn" {
		t.Errorf("the component has the facts %+v", node)
	}
	p.Spec.Suspend, p.Finalizers = true, nil
	if node, _ = w.Dependencies.nodeOf(p); node.Holds || !node.Health.Suspended {
		t.Errorf("a suspended component without our finalizer has the facts %+v", node)
	}
}
