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
	// otherwise are the same dependents, of which more is known than was recorded.
	otherwise := entries(2 * room)
	for i := range otherwise {
		otherwise[i].Completed = true
	}
	for _, test := range []struct {
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
		{
			name: "nothing where more is left, and the namespace goes, and says so",
			left: entries(3 * room), ending: true, goesOn: true, damaged: true,
		},
		{
			name: "nothing where the record is lost, and the namespace goes, and says so",
			left: entries(2 * room), ending: true, unread: true, goesOn: true, damaged: true,
		},
		{name: "or waits for a role where more is left", left: entries(3 * room), named: true},
		{name: "or waits for a role where the record is lost", left: entries(2 * room), unread: true, named: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			p := c.write(entries(2 * room))
			if test.unread {
				c.restart()
			}
			if got := c.store.fallBack(p, test.left, func() bool { return test.ending }); got != test.goesOn {
				t.Fatalf("it goes on: %t", got)
			}
			if p.Status.HasInventoryRecord() != test.named || c.store.isDamaged(p) != test.damaged {
				t.Errorf("names Secrets: %t, looks for dependents after a restart: %t",
					p.Status.HasInventoryRecord(), c.store.isDamaged(p))
			}
			if !test.goesOn {
				return
			}
			known, _, err := c.store.Load(t.Context(), p, c.owner(), noRecovery)
			if err != nil || !reflect.DeepEqual(known, test.left) {
				t.Errorf("this process knows of %d: %v", len(known), err)
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
		t.Errorf("what fits into the status: %v, %d lines", err, len(p.Status.Inventory))
	}
	if err := c.store.Write(t.Context(), p, recorded, entries(5400)); err == nil {
		t.Error("a larger inventory does not wait for a grant")
	}
	c.ending = []string{"shop"}
	if err := c.store.Write(t.Context(), p, recorded, entries(5400)); err != nil || !c.store.isDamaged(p) {
		t.Errorf("in a namespace that is being deleted: %v", err)
	}
	terminating := forbidden()
	if status, ok := errors.AsType[*apierrors.StatusError](terminating); ok {
		status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	}
	if c.ending = nil; !c.store.namespaceGoes(t.Context(), p, terminating) {
		t.Error("the cause of the refusal is not used")
	}
}
