package inventory

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

func TestWhereAnInventoryIs(t *testing.T) {
	small, middle, large := entries(1000), entries(1500), entries(3000)
	for _, test := range []struct {
		name      string
		before    []metav1alpha1.InventoryEntry
		now       []metav1alpha1.InventoryEntry
		inSecrets bool
	}{
		{"in the status if the inventory fits there", nil, middle, false},
		{"in Secrets if the inventory is too large for the status", nil, large, true},
		{
			"in Secrets if it will be too large for the status when all objects are written", nil,
			unwritten(entries(2300)), true,
		},
		{"moved into Secrets when it grows", middle, large, true},
		{"still in Secrets when it shrinks a little", large, middle, true},
		{"back in the status when it takes half of the limit", large, small[:800], false},
		{"back in the status when it is empty", large, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			p := c.load()
			for _, inventory := range [][]metav1alpha1.InventoryEntry{test.before, test.now} {
				if err := c.store.enter(p, inventory); err != nil {
					t.Fatal(err)
				}
			}
			lines, _ := linesOf(test.now)
			inSecrets := p.Status.HasInventoryRecord()
			if inSecrets != test.inSecrets || slices.Equal(p.Status.Inventory, lines) == test.inSecrets {
				t.Errorf("the inventory is in Secrets: %t; the status has %d lines", inSecrets, len(p.Status.Inventory))
			}
			if p.Status.InventoryDigest != components.InventoryDigest(lines) {
				t.Errorf("the digest of the inventory in the status is %q", p.Status.InventoryDigest)
			}
			if c.store.isDamaged(p) {
				t.Error("the written inventory is reported as damaged")
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
	c := newCluster(t)
	p := c.load()
	name := func(n int) string {
		t.Helper()
		if err := c.store.enter(p, entries(n)); err != nil {
			t.Fatal(err)
		}
		return p.Status.InventoryRecord.Name
	}
	first := name(3000)
	p.ResourceVersion = "8"
	if again := name(3000); again != first {
		t.Error("an inventory that did not change is written again")
	}
	other := name(3001)
	if other == first {
		t.Error("two different inventories have Secrets of the same name")
	}
	p.ResourceVersion = "9"
	if back := name(3000); back == first {
		t.Error("an inventory that is recorded again has the name of the record that is being deleted")
	}
}

func TestAnInventoryThatFitsNowhereIsRefused(t *testing.T) {
	c := newCluster(t)
	p := c.load()
	p.Status.Inventory = []string{"as it was"}
	err := c.store.enter(p, slices.Repeat(entries(1000), 150))
	problem := passerror.Of(err)
	if problem == nil || !problem.Terminal || !strings.Contains(problem.Message, "150000 dependents") {
		t.Errorf("Write of 150000 dependents must return a terminal error, got %v", err)
	}
	if !slices.Equal(p.Status.Inventory, []string{"as it was"}) || p.Status.HasInventoryRecord() {
		t.Error("a refused inventory changed the status")
	}
}

func TestAnInventoryInSecretsIsReadOnceAfterAStart(t *testing.T) {
	c := newCluster(t)
	inventory := entries(3000)
	c.write(inventory)
	c.restart()
	for range 2 {
		c.Requests = nil
		got, err := c.store.Recorded(t.Context(), c.load(), c.owner())
		if err != nil || !reflect.DeepEqual(got, inventory) {
			t.Fatalf("got %d entries: %v", len(got), err)
		}
	}
	if len(c.Requests) > 0 {
		t.Errorf("Load sent the requests %q although the inventory is in memory", c.Requests)
	}
}

func TestFormerInventoriesAreDeletedAfterTheStatusNamesTheNext(t *testing.T) {
	c := newCluster(t)
	first := c.write(entries(3000)).Status.InventoryRecord.Name
	second := c.write(entries(3001))
	names := func() []string {
		all := c.secretsOf(records.Inventory)
		for i := range all {
			all[i] = all[i][:strings.LastIndex(all[i], "-")]
		}
		return slices.Compact(slices.Sorted(slices.Values(all)))
	}
	if got := names(); !slices.Contains(got, first) || len(got) != 2 {
		t.Errorf("before the end of the pass, want the Secrets of both inventories, got %q", got)
	}
	if err := c.store.DeleteStale(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if got := names(); !slices.Equal(got, []string{second.Status.InventoryRecord.Name}) {
		t.Errorf("after the end of the pass, want only the Secrets of the new inventory, got %q", got)
	}
	last := c.write(entries(1))
	if err := c.store.DeleteStale(t.Context(), last); err != nil || len(names()) != 0 {
		t.Errorf("after the inventory moved into the status, these Secrets remain: %[2]q; error %[1]v", err, names())
	}
	if last.Status.InventoryRecord == nil || last.Status.HasInventoryRecord() {
		t.Errorf("the status names the inventory record %v, want a record without Secrets", last.Status.InventoryRecord)
	}
	c.write(entries(3000))
	if err := c.store.DeleteAll(t.Context(), c.load(), c.owner()); err != nil || len(names()) != 0 {
		t.Errorf("after the deletion of the component, these Secrets remain: %[2]q; error %[1]v", err, names())
	}
}

func TestFormerInventoriesAreDeletedWhereTheAnswerToTheWriteOfTheStatusWasLost(t *testing.T) {
	c := newCluster(t)
	previous := components.RefOf(&c.write(entries(3000)).Status)
	p := c.load()
	if err := c.store.Write(t.Context(), p, previous, entries(3001)); err != nil {
		t.Fatal(err)
	}
	c.edit(func(st *metav1alpha1.Status) { *st = p.Status })
	if err := c.store.DeleteStale(t.Context(), c.load()); err != nil {
		t.Fatal(err)
	}
	named := components.RefOf(&c.load().Status)
	for _, name := range c.secretsOf(records.Inventory) {
		if !named.Names(name) {
			t.Errorf("Secret %s was not deleted, although the status does not name this Secret", name)
		}
	}
	if _, err := c.store.Recorded(t.Context(), c.load(), c.owner()); err != nil {
		t.Error(err)
	}
}

func TestAStatusIsUnchangedWhereSecretsCannotBeWritten(t *testing.T) {
	c := newCluster(t)
	c.refuseLists(forbidden())
	p := c.load()
	recorded := components.RefOf(p.GetStatus())
	err := c.store.Write(t.Context(), p, recorded, entries(3000))
	if problem := passerror.Of(err); problem == nil || !problem.Terminal || !strings.Contains(problem.Message,
		"namespace shop") {
		t.Errorf("Write must return a terminal error that names the namespace shop, got %v", err)
	}
	if p.Status.HasInventoryRecord() || p.Status.InventoryRecord == nil || len(p.Status.Inventory) > 0 {
		t.Errorf("the status has the inventory record %v, want an announced record without a name", p.Status.InventoryRecord)
	}
	c.refuseLists(later())
	if err := c.store.Write(t.Context(), p, recorded, entries(3000)); passerror.Of(err).Terminal {
		t.Errorf("a refused Write must be retried, got %v", err)
	}
}

func TestUnnamedInventoriesAreStaleWhereTheyReplaceAFormerOne(t *testing.T) {
	for name, test := range map[string]struct {
		after   func(recorded string) string
		deleted bool
	}{
		"another inventory":      {func(string) string { return "status-former" }, true},
		"the recorded inventory": {func(recorded string) string { return recorded }, false},
		"an unknown inventory":   {func(string) string { return "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			p := c.write(entries(2))
			parts, err := records.Encode(records.Inventory, []string{"line"})
			if err != nil {
				t.Fatal(err)
			}
			unnamed := records.Record{
				Kind: records.Inventory, ID: "one", After: test.after(components.RefOf(&p.Status).ID()),
			}
			if err := c.store.Records.Write(t.Context(), c.owner(), unnamed, parts); err != nil {
				t.Fatal(err)
			}
			for _, secret := range c.All() {
				c.states.Of(app).Records.AddUnnamedSecret(secret)
			}
			if err := c.store.DeleteStale(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if got := len(c.secretsOf(records.Inventory)); (got == 0) != test.deleted {
				t.Errorf("%d Secrets with inventories remain", got)
			}
			if len(c.states.Of(app).Records.UnnamedInventories()) > 0 {
				t.Error("the Secrets of inventories that no status names are checked again")
			}
		})
	}
}

func TestAStatusThatNamesOtherSecretsIsNoticed(t *testing.T) {
	c := newCluster(t)
	p := c.write(entries(3000))
	other := p.Status.DeepCopy()
	other.InventoryRecord.Name += "x"
	if m := c.states.Known(app); m.NamesOther(&p.Status) || !m.NamesOther(other) {
		t.Error("NamesOther is true for Secrets that this process wrote, or false for other Secrets")
	}
	if c.states.Known(types.NamespacedName{}).NamesOther(other) || (&State{}).NamesOther(other) {
		t.Error("a process that knows no Secrets reports other Secrets")
	}
}
