package component

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// entries returns n records of dependents, as they are once they are written.
func entries(n int) []metav1alpha1.InventoryEntry {
	source := rand.New(rand.NewPCG(1, 2))
	found := make([]metav1alpha1.InventoryEntry, 0, n)
	for i := range n {
		found = append(found, metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("settings-%d", i),
			UID:    types.UID(fmt.Sprintf("8f0c1f3e-2d1c-4a52-9b57-%012x", source.Uint64()>>16)),
			Digest: fmt.Sprintf("%016x", source.Uint64()), Fields: fmt.Sprintf("%016x", source.Uint64()), Revision: 1,
		})
	}
	return found
}

// withRecords gives a reconciler a store of records in an engine.
func withRecords(r *Reconciler[*part], e *Engine) *Reconciler[*part] {
	r.local = e
	r.records = r.newRecordStore()
	return r
}

func newPart() *part {
	p := &part{}
	p.Namespace, p.Name, p.ResourceVersion = "shop", "app", "7"
	return p
}

func TestWhereAnInventoryIs(t *testing.T) {
	small, middle, large := entries(1000), entries(1500), entries(3000)
	for _, c := range []struct {
		name   string
		before []metav1alpha1.InventoryEntry
		now    []metav1alpha1.InventoryEntry
		spills bool
	}{
		{"in the status where it fits", nil, middle, false},
		{"in Secrets where it takes more", nil, large, true},
		{"in Secrets where it will take more when all is written", nil, unwritten(entries(2300)), true},
		{"moved into Secrets when it grows", middle, large, true},
		{"still in Secrets when it shrinks a little", large, middle, true},
		{"back in the status when it takes half of what that holds", large, small[:800], false},
		{"back in the status when nothing is left", large, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, p := withRecords(NewReconciler[*part]("parts.example.com", nil, Options{}), &Engine{connection: &connection{}}), newPart()
			for _, inventory := range [][]metav1alpha1.InventoryEntry{c.before, c.now} {
				if err := r.setInventory(p, inventory); err != nil {
					t.Fatal(err)
				}
			}
			lines, _ := inventoryText(c.now)
			if p.status.HasInventoryRecord() != c.spills || slices.Equal(p.status.Inventory, lines) == c.spills {
				t.Errorf("in Secrets: %t, lines in the status: %d", p.status.HasInventoryRecord(), len(p.status.Inventory))
			}
			if p.status.InventoryDigest != components.InventoryDigest(lines) {
				t.Errorf("the digest is %q", p.status.InventoryDigest)
			}
			if components.Damaged(p, r.Finalizer()) {
				t.Error("it is taken for a damaged one")
			}
		})
	}
}

func unwritten(inventory []metav1alpha1.InventoryEntry) []metav1alpha1.InventoryEntry {
	for i := range inventory {
		inventory[i].UID, inventory[i].Digest, inventory[i].Fields = "", "", ""
	}
	return inventory
}

func TestTheNameOfAnInventoryInSecrets(t *testing.T) {
	name := func(r *Reconciler[*part], p *part, n int) string {
		t.Helper()
		if err := r.setInventory(p, entries(n)); err != nil {
			t.Fatal(err)
		}
		return p.status.InventoryRecord.Name
	}
	r, p := withRecords(NewReconciler[*part]("parts.example.com", nil, Options{}), &Engine{connection: &connection{}}), newPart()
	first := name(r, p, 3000)
	p.ResourceVersion = "8"
	if again := name(r, p, 3000); again != first {
		t.Error("an inventory that did not change is written again")
	}
	other := name(r, p, 3001)
	if other == first {
		t.Error("another inventory has the same name")
	}
	p.ResourceVersion = "9"
	if back := name(r, p, 3000); back == first {
		t.Error("an inventory that comes back has the name of the one that is being deleted")
	}
}

func TestAnInventoryThatFitsNowhereIsRefused(t *testing.T) {
	r, p := withRecords(NewReconciler[*part]("parts.example.com", nil, Options{}), &Engine{connection: &connection{}}), newPart()
	p.status.Inventory = []string{"as it was"}
	err := r.setInventory(p, slices.Repeat(entries(1000), 150))
	if problem := condition.Of(err); problem == nil || !problem.Terminal || !strings.Contains(problem.Message, "150000 dependents") {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(p.status.Inventory, []string{"as it was"}) || p.status.HasInventoryRecord() {
		t.Error("the status was changed")
	}
}

func TestWhatADeletionRecordsThatMayNotWriteSecrets(t *testing.T) {
	const room = 1800
	// otherwise are the same dependents, of which more is known than was recorded.
	otherwise := entries(2 * room)
	for i := range otherwise {
		otherwise[i].Completed = true
	}
	for _, c := range []struct {
		name string
		left []metav1alpha1.InventoryEntry
		// ending says that the namespace is being deleted.
		ending bool
		// unread says that the Secrets which the status names are lost.
		unread                 bool
		goesOn, named, damaged bool
	}{
		{name: "in the status what fits there", left: entries(room), goesOn: true},
		{name: "nothing where all that is left is recorded", left: entries(2*room + 1)[:2*room], goesOn: true, named: true},
		{name: "nothing where more is known of it than is recorded", left: otherwise, goesOn: true, named: true},
		{name: "nothing where more is left, and the namespace goes, and says so", left: entries(3 * room), ending: true, goesOn: true, damaged: true},
		{name: "nothing where the record is lost, and the namespace goes, and says so", left: entries(2 * room), ending: true, unread: true, goesOn: true, damaged: true},
		{name: "or waits for a role where more is left", left: entries(3 * room), named: true},
		{name: "or waits for a role where the record is lost", left: entries(2 * room), unread: true, named: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, p := withRecords(NewReconciler[*part]("parts.example.com", nil, Options{}), &Engine{connection: &connection{}}), newPart()
			p.status.Reconciler = r.name
			name := client.ObjectKeyFromObject(p)
			if err := r.setInventory(p, entries(2*room)); err != nil {
				t.Fatal(err)
			}
			r.named(name, &p.status)
			if c.unread {
				r.shelves.forget(name)
			}
			if got := r.keepElsewhere(p, c.left, func() bool { return c.ending }); got != c.goesOn {
				t.Fatalf("it goes on: %t", got)
			}
			if p.status.HasInventoryRecord() != c.named || components.Damaged(p, r.Finalizer()) != c.damaged {
				t.Errorf("names Secrets: %t, looks for dependents after a restart: %t", p.status.HasInventoryRecord(), components.Damaged(p, r.Finalizer()))
			}
			if !c.goesOn {
				return
			}
			known, err := r.inventory(t.Context(), p, manifests.Owner{}, nil)
			if err != nil || !reflect.DeepEqual(known, c.left) {
				t.Errorf("this process knows of %d: %v", len(known), err)
			}
		})
	}
}

func TestNoStatusThatIsWrittenIsLarge(t *testing.T) {
	// A component has a spec, too, and all have managed fields.
	const limit = 512<<10 - 8<<10
	name := strings.Repeat("n", 253)
	r := withRecords(NewReconciler[*part](name, nil, Options{}), &Engine{connection: &connection{}})
	large := newPart()
	if err := r.setInventory(large, entries(1700)); err != nil || large.status.HasInventoryRecord() {
		t.Fatalf("the largest inventory of a status is in Secrets: %v", err)
	}
	for range 6 {
		large.status.Conditions = append(large.status.Conditions, metav1.Condition{Type: name, Message: strings.Repeat("m", 4096)})
	}
	for range maxLookups {
		large.status.Lookups = append(large.status.Lookups, metav1alpha1.Lookup{Group: name, Version: name, Kind: name, Namespace: name, Name: name}.String())
	}
	report := metav1alpha1.DependentReport{Dependent: name, Reason: name, Message: strings.Repeat("m", 2000)}
	large.status, _ = status.Next(large.status, status.Report{Outcome: outcome.Outcome{
		Inventory: []metav1alpha1.InventoryEntry{}, Waiting: slices.Repeat([]outcome.Waiting{{DependentReport: report}}, 20),
	}})
	text, err := json.Marshal(large.status)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(text))
	if len(text) > limit {
		t.Errorf("%d bytes", len(text))
	}
}
