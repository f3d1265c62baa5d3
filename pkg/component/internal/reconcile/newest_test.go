package reconcile

import (
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestTheNewestRevisionAndRendition(t *testing.T) {
	inventory := []metav1alpha1.InventoryEntry{{Revision: 2, Rendition: 1}, {Revision: 3}, {Revision: 2, Rendition: 4}}
	if got := newestRevision(inventory); got != 3 {
		t.Errorf("got revision %d", got)
	}
	if got := newestRendition(inventory, 2); got != 4 {
		t.Errorf("got rendition %d", got)
	}
}
