package polled

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources/eventsourcestest"
)

var errDown = eventsourcestest.ErrDown

func newReconciler(t *testing.T) *eventsourcestest.Reconciler {
	t.Helper()
	return eventsourcestest.New(t)
}

func named(name string) client.Object { return eventsourcestest.Named(name) }

func key(name string) types.NamespacedName { return eventsourcestest.Key(name) }

// addMail adds an event source with the name mail, which is no input.
func addMail(t *testing.T, set *eventsources.Set, m *Mailbox) (remove func()) {
	t.Helper()
	remove, err := set.Add("mail", m, eventsources.Use{})
	if err != nil {
		t.Fatal(err)
	}
	return remove
}
