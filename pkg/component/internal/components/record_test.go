package components

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// numbered returns a component with a record of some lines, with a number and its checksum.
func numbered(number int64, lines ...string) *gadget {
	return newGadget(func(g *gadget) {
		st := g.GetStatus()
		st.Reconciler, st.Identity = reconciler, "cluster/u1"
		st.Inventory, st.InventoryDigest, st.InventoryWrites = lines, InventoryDigest(lines), number
		st.RecordDigest = RecordDigest(st)
	})
}

// ownedBy returns the managed fields of a status in which each of the managers owns a part.
func ownedBy(fields map[string]string) (entries []metav1.ManagedFieldsEntry) {
	for manager, text := range fields {
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(text),
		})
	}
	return entries
}

// inFirstForm gives a record a checksum of the first form.
func inFirstForm(st *metav1alpha1.Status) {
	st.RecordDigest, _ = digests.Of(fieldsOfFirstForm(st))
}

const (
	ownsDigest    = `{"f:status":{"f:recordDigest":{},"f:inventory":{}}}`
	ownsInventory = `{"f:status":{"f:inventory":{}}}`
)

func TestRecordsThatAreNotBelieved(t *testing.T) {
	edit := func(change func(*metav1alpha1.Status)) *gadget {
		g := numbered(7, "a", "b")
		change(g.GetStatus())
		return g
	}
	owned := func(fields map[string]string) *gadget {
		g := numbered(7, "a", "b")
		g.ManagedFields = ownedBy(fields)
		return g
	}
	for _, c := range []struct {
		name string
		obj  *gadget
		want string
	}{
		{"a record without a number is believed", newGadget(func(g *gadget) { g.Status.Inventory = []string{"a"} }), ""},
		{"a record with its checksum is believed", numbered(7, "a", "b"), ""},
		{
			"a record whose managed fields show that the reconciler wrote its checksum is believed",
			owned(map[string]string{reconciler: ownsDigest, "kubectl": ownsInventory}), "",
		},
		{"a record that a previous field owner wrote is believed", owned(map[string]string{"former": ownsDigest}), ""},
		{
			"a record whose checksum several managers own is believed",
			owned(map[string]string{reconciler: ownsDigest, "kubectl": ownsDigest}), "",
		},
		{
			"a record is believed whose checksum is owned by the entry of many managers",
			owned(map[string]string{"ancient-changes": ownsDigest, "kubectl": ownsInventory}), "",
		},
		{
			"not if another client wrote the checksum",
			owned(map[string]string{reconciler: ownsInventory, "kubectl": ownsDigest}), `"kubectl" wrote it`,
		},
		{
			"not if the managed fields name no writer of the checksum", owned(map[string]string{reconciler: ownsInventory}),
			"name no writer",
		},
		{
			"not if the managed fields cannot be decoded", owned(map[string]string{reconciler: `{"f:recordDigest"`}),
			"name no writer",
		},
		{"not if the number was changed", edit(func(st *metav1alpha1.Status) { st.InventoryWrites++ }), "checksum"},
		{"not if the number was removed", edit(func(st *metav1alpha1.Status) { st.InventoryWrites = 0 }), "checksum"},
		{"not if the checksum was removed", edit(func(st *metav1alpha1.Status) { st.RecordDigest = "" }), "checksum"},
		{
			"not if the digest of the inventory was changed",
			edit(func(st *metav1alpha1.Status) { st.InventoryDigest = "other" }), "checksum",
		},
		{
			"not if Secrets with an inventory were named",
			edit(func(st *metav1alpha1.Status) { st.InventoryRecord = &metav1alpha1.InventoryRecord{} }), "checksum",
		},
		{
			"not if another record of phases was named", edit(func(st *metav1alpha1.Status) { st.PhaseRecord = "other" }),
			"checksum",
		},
		{
			"not if another pinned rendering was named", edit(func(st *metav1alpha1.Status) { st.RenderedSet = "other" }),
			"checksum",
		},
		{
			"not if managed types were changed", edit(func(st *metav1alpha1.Status) { st.ManagedTypes = []string{"A.b"} }),
			"checksum",
		},
		{
			"not if the namespace of the target was changed",
			edit(func(st *metav1alpha1.Status) { st.TargetNamespace = "other" }), "checksum",
		},
		{
			"not if the name of the target was changed", edit(func(st *metav1alpha1.Status) { st.TargetName = "other" }),
			"checksum",
		},
		{
			"not if the cluster of the target was changed", edit(func(st *metav1alpha1.Status) { st.TargetCluster = "other" }),
			"checksum",
		},
		{"a record with a checksum of the first form is believed", edit(inFirstForm), ""},
		{"not if it was changed", edit(func(st *metav1alpha1.Status) { inFirstForm(st); st.InventoryWrites++ }), "checksum"},
		{
			"a record with a checksum of a later form, which cannot be checked, is believed",
			edit(func(st *metav1alpha1.Status) { st.RecordDigest = "3:1a2b" }), "",
		},
		{"not if its checksum has no form", edit(func(st *metav1alpha1.Status) { st.RecordDigest = "1:1a2b" }), "checksum"},
		{
			"not if it was written for another component of the same name",
			edit(func(st *metav1alpha1.Status) { st.Identity = "cluster/u0" }), "another component",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := newCluster(t)
			cl.store.options.FieldOwners = []string{reconciler, "former"}
			before := c.obj.GetStatus().RecordDigest
			isDoubted := cl.store.IsDoubted(c.obj)
			cl.store.examine(c.obj)
			got := Doubt(c.obj.GetStatus())
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || isDoubted != (got != "") {
				t.Errorf("the reason is %q, want %q; IsDoubted returned %t", got, c.want, isDoubted)
			}
			if stored, _, _ := cutMark(c.obj.GetStatus()); stored != before {
				t.Errorf("the mark has the stored checksum %q, want %q", stored, before)
			}
			if isDamaged := Damaged(c.obj, FinalizersOf(reconciler)); got != "" && !isDamaged {
				t.Error("the record does not count as damaged")
			}
		})
	}
}

func TestRecordsThatAreComparedWithTheLastKnownOne(t *testing.T) {
	at := func(version string, g *gadget) *gadget {
		g.ResourceVersion = version
		return g
	}
	for _, c := range []struct {
		name string
		obj  *gadget
		want string
	}{
		{"the known record", at("20", numbered(7, "a", "b")), ""},
		{"a later record, which another process of the operator wrote", at("20", numbered(8, "c")), ""},
		{"an earlier record", at("20", numbered(6, "a")), "number 6"},
		{"another record with the same number", at("20", numbered(7, "c")), "number 7"},
		{"a record without a number", at("20", newGadget()), "removed"},
		{"an earlier version of the component", at("9", numbered(6, "a")), ""},
		{"another component of the same name", at("20", newGadget(func(g *gadget) { g.UID = "u2" })), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := &State{}
			state.noteRecord(at("10", numbered(7, "a", "b")))
			if got := state.replaced(c.obj); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("the reason is %q, want %q", got, c.want)
			}
		})
	}
	var none *State
	if none.replaced(numbered(1)) != "" || none.lastNumber("u1") != 0 {
		t.Error("a component without memory is compared")
	}
}

func TestAnOlderRecordIsInDoubtAlsoIfItsOwnerIsNotKnown(t *testing.T) {
	c := newCluster(t, numbered(6, "a"))
	older, loaded := c.stored().Status.Status, c.load()
	recorded := RefOf(loaded.GetStatus())
	loaded.Status.Inventory = []string{"a", "b"}
	loaded.Status.InventoryDigest = InventoryDigest(loaded.Status.Inventory)
	if err := c.store.WriteStatus(t.Context(), loaded, recorded); err != nil {
		t.Fatal(err)
	}
	if cause := Doubt(c.load().GetStatus()); cause != "" || c.stored().Status.InventoryWrites != 7 {
		t.Fatalf("the written record is in doubt (%s), or has another number than 7", cause)
	}
	c.editStatus(func(g *gadget) { g.Status.Status = older })
	if cause := Doubt(c.load().GetStatus()); !strings.Contains(cause, "number 6") {
		t.Errorf("the doubt about the older record is %q", cause)
	}
	if !c.store.IsDoubted(c.stored()) {
		t.Error("an event about the older record is not about a record in doubt")
	}
}

func TestTheNumberOfARecordThatIsWritten(t *testing.T) {
	for _, c := range []struct {
		name         string
		next, stored *gadget
		last, want   int64
	}{
		{"none for a component without a record", newGadget(), newGadget(), 0, 0},
		{"one for the first record", newGadget(func(g *gadget) { g.Status.PhaseRecord = "p" }), newGadget(), 0, 1},
		{"the same if the record did not change", numbered(7, "a"), numbered(7, "a"), 7, 7},
		{"the next if the record changed", newGadget(func(g *gadget) {
			g.Status.Status = numbered(7,
				"a").Status.Status
			g.Status.PhaseRecord = "p"
		}), numbered(7, "a"), 7, 8},
		{"the next if the checksum has the first form", newGadget(func(g *gadget) {
			g.Status.Status = numbered(7,
				"a").Status.Status
			inFirstForm(&g.Status.Status)
		}), numbered(7, "a"), 7, 8},
		{"the next after the last one that this process knows", newGadget(func(g *gadget) {
			g.Status.Status = numbered(3,
				"a").Status.Status
			g.Status.RecordDigest = ""
		}), numbered(3, "a"), 7, 8},
		{"the next after a larger one that another client wrote", numbered(7, "a"), numbered(100, "b"), 7, 101},
		{
			"the next after the last one if another client wrote one that cannot be increased", numbered(7, "a"),
			numbered(math.MaxInt64, "b"), 8, 9,
		},
		{"the next for an empty record if there was a number", newGadget(), newGadget(), 7, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := c.next.GetStatus()
			number(next, c.stored.GetStatus(), c.last)
			if next.InventoryWrites != c.want || c.want > 0 && next.RecordDigest != RecordDigest(next) {
				t.Errorf("the record has the number %d, want %d, and the checksum %q", next.InventoryWrites, c.want,
					next.RecordDigest)
			}
		})
	}
}

func TestARecordInDoubtStaysInDoubtUntilItIsBelieved(t *testing.T) {
	c := newCluster(t, numbered(7, "a"))
	c.editStatus(func(g *gadget) { g.Status.InventoryWrites = 3 })
	loaded := c.load()
	if Doubt(loaded.GetStatus()) == "" {
		t.Fatal("an edited record is believed")
	}
	loaded.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionFalse}}
	if err := c.store.WriteStatus(t.Context(), loaded, RefOf(loaded.GetStatus())); err != nil {
		t.Fatal(err)
	}
	stored := c.stored().GetStatus()
	if stored.InventoryWrites != 3 || strings.HasPrefix(stored.RecordDigest, doubtMark) ||
		Doubt(c.load().GetStatus()) == "" {
		t.Errorf("a write of the conditions changed the record to the number %d and the checksum %q", stored.InventoryWrites,
			stored.RecordDigest)
	}
	loaded = c.load()
	err := c.store.UpdateStatus(t.Context(), loaded, func(o Object) error {
		if g, ok := o.(*gadget); ok {
			g.Status.Port = 1
		}
		return nil
	})
	if err != nil || strings.HasPrefix(c.stored().Status.RecordDigest, doubtMark) || c.stored().Status.Port != 1 {
		t.Errorf("a write of the author stored the mark, or failed: %v", err)
	}
	loaded = c.load()
	Believe(loaded, "cluster")
	if err := c.store.WriteStatus(t.Context(), loaded, RefOf(loaded.GetStatus())); err != nil {
		t.Fatal(err)
	}
	if got := c.load().GetStatus(); Doubt(got) != "" || got.InventoryWrites != 4 {
		t.Errorf("a believed record has the number %d and the doubt %q, want 4 and no doubt", got.InventoryWrites, Doubt(got))
	}
}

func TestARecordIsBelievedWhoseNumberIsDroppedByAnOlderDefinition(t *testing.T) {
	c := newCluster(t, newGadget())
	c.older = true
	for i := range 3 {
		loaded := c.load()
		if why := Doubt(loaded.GetStatus()); why != "" {
			t.Fatalf("after %d writes the record is in doubt: %s", i, why)
		}
		recorded := RefOf(loaded.GetStatus())
		loaded.Status.Inventory = append(loaded.Status.Inventory, "line")
		loaded.Status.InventoryDigest = InventoryDigest(loaded.Status.Inventory)
		if err := c.store.WriteStatus(t.Context(), loaded, recorded); err != nil {
			t.Fatal(err)
		}
		c.edit(func(g *gadget) { g.Labels = map[string]string{"a": fmt.Sprint(i)} })
	}
}

func TestRecordsInSecretsAreNotAnnouncedInAnOlderDefinition(t *testing.T) {
	c := newCluster(t, newGadget())
	c.older = true
	err := c.store.AnnounceRecord(t.Context(), c.load(), InventoryRef{})
	if problem := passerror.Of(err); problem == nil || !problem.Terminal || !strings.Contains(problem.Message,
		"no field status.inventoryRecord") {
		t.Errorf("AnnounceRecord returned %v", err)
	}
	c.older = false
	if err := c.store.AnnounceRecord(t.Context(), c.load(), InventoryRef{}); err != nil || c.stored().
		Status.InventoryRecord == nil {
		t.Errorf("with the field, AnnounceRecord returned %v", err)
	}
}

func TestTheCacheMarksRecordsOfOthersAndDropsManagedFields(t *testing.T) {
	idle := NewIdleInventories(time.Hour)
	idle.Serve([]string{reconciler})
	for manager, want := range map[string]bool{reconciler: false, "kubectl": true} {
		g := numbered(7, "a")
		g.ManagedFields = ownedBy(map[string]string{manager: ownsDigest})
		if _, err := idle.Transform(g); err != nil || len(g.ManagedFields) > 0 {
			t.Errorf("%d managed fields are left, %v", len(g.ManagedFields), err)
		}
		if got := Doubt(g.GetStatus()) != ""; got != want {
			t.Errorf("a record of %s is in doubt: %t", manager, got)
		}
	}
}

func TestACopyOfARecordOfTheSameComponent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*metav1alpha1.Status)
		want   bool
	}{
		"a record with its checksum":              {func(*metav1alpha1.Status) {}, true},
		"not an edited record":                    {func(st *metav1alpha1.Status) { st.TargetName = "other" }, false},
		"not a record of another component":       {func(st *metav1alpha1.Status) { st.Identity = "cluster/u0" }, false},
		"not a checksum that covers no target":    {inFirstForm, false},
		"not a checksum that cannot be checked":   {func(st *metav1alpha1.Status) { st.RecordDigest = "3:1a2b" }, false},
		"not a record that has lost its checksum": {func(st *metav1alpha1.Status) { st.RecordDigest = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := numbered(7, "a")
			c.change(g.GetStatus())
			mark(g.GetStatus(), "edited")
			if got := IsCopy(g); got != c.want {
				t.Errorf("IsCopy returned %t", got)
			}
		})
	}
}
