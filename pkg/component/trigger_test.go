package component

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var shop = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}

func newTimed(o Options) (*Reconciler[*part], *clocktesting.FakePassiveClock) {
	r := NewReconciler[*part]("parts.example.com", nil, o)
	fake := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r.clock = fake
	return r, fake
}

func TestTrigger(t *testing.T) {
	r, _ := newTimed(Options{})
	r.Trigger(shop.NamespacedName)
	var woken []types.NamespacedName
	r.listen(func(name types.NamespacedName) { woken = append(woken, name) })
	r.Trigger(types.NamespacedName{Name: "other"})
	if len(woken) != 2 || woken[0] != shop.NamespacedName || woken[1].Name != "other" {
		t.Errorf("woke %v", woken)
	}
}
