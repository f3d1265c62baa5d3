package inventory

import (
	"errors"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
)

func TestWhatADeletionRecordsThatMayNotWriteSecrets(t *testing.T) {
	const room = 1800
	// completed contains the recorded dependents, with entries that differ from the recorded entries.
	completed := entries(2 * room)
	for i := range completed {
		completed[i].Completed = true
	}
	for _, test := range []struct {
		name string
		left []metav1alpha1.InventoryEntry
		// ending is set if the namespace is being deleted.
		ending bool
		// unread is set if the process has not yet read the Secrets that the status names.
		unread                 bool
		goesOn, named, damaged bool
	}{
		{name: "a small inventory in the status", left: entries(room), goesOn: true},
		{
			name: "nothing if the recorded inventory has all remaining entries", left: entries(2*room + 1)[:2*room],
			goesOn: true, named: true,
		},
		{
			name: "nothing if the recorded inventory has older entries for the remaining objects", left: completed, goesOn: true,
			named: true,
		},
		{
			name: "only a digest if the recorded inventory lacks entries and the namespace is being deleted",
			left: entries(3 * room), ending: true, goesOn: true, damaged: true,
		},
		{
			name: "only a digest if the recorded inventory was not read and the namespace is being deleted",
			left: entries(2 * room), ending: true, unread: true, goesOn: true, damaged: true,
		},
		{name: "or waits for rights if the recorded inventory lacks entries", left: entries(3 * room), named: true},
		{
			name: "or waits for rights if the recorded inventory was not read", left: entries(2 * room), unread: true,
			named: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			p := c.write(entries(2 * room))
			if test.unread {
				c.restart()
			}
			if got := c.store.fallBack(p, test.left, func() bool { return test.ending }); got != test.goesOn {
				t.Fatalf("fallBack returned %t, want the opposite", got)
			}
			if p.Status.HasInventoryRecord() != test.named || c.store.isDamaged(p) != test.damaged {
				t.Errorf("the status names Secrets: %t, its inventory is damaged: %t",
					p.Status.HasInventoryRecord(), c.store.isDamaged(p))
			}
			if !test.goesOn {
				return
			}
			known, _, err := c.store.Load(t.Context(), p, c.owner(), noRecovery)
			if err != nil || !reflect.DeepEqual(known, test.left) {
				t.Errorf("Load returned %d entries: %v", len(known), err)
			}
		})
	}
}

func noRecovery() Recovery { panic("nothing has to be recovered") }

func TestADeletionFallsBackWhereSecretsAreRefused(t *testing.T) {
	c := newCluster(t)
	p := c.write(entries(3600))
	p.Finalizers = []string{components.Finalizer(reconciler)}
	now := metav1.NewTime(start)
	p.DeletionTimestamp = &now
	c.refuseLists(forbidden())
	recorded := components.RefOf(&p.Status)
	if err := c.store.Write(t.Context(), p, recorded, entries(1800)); err != nil || len(p.Status.Inventory) != 1800 {
		t.Errorf("an inventory that fits into the status: %v, %d lines", err, len(p.Status.Inventory))
	}
	if err := c.store.Write(t.Context(), p, recorded, entries(5400)); err == nil {
		t.Error("got no error for an inventory that fits neither into the status nor into Secrets")
	}
	c.ending = []string{"shop"}
	if err := c.store.Write(t.Context(), p, recorded, entries(5400)); err != nil || !c.store.isDamaged(p) {
		t.Errorf("Write in a namespace that is being deleted returned %v, or did not mark the inventory as damaged", err)
	}
	terminating := forbidden()
	if status, ok := errors.AsType[*apierrors.StatusError](terminating); ok {
		status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	}
	if c.ending = nil; !c.store.namespaceGoes(t.Context(), p, terminating) {
		t.Error("the error does not contain the cause of the refusal")
	}
}
