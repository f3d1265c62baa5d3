package component

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestTriggersBeforeTheStartFollowIt(t *testing.T) {
	r := NewReconciler[*part]("parts.example.com", nil, Options{})
	first, second := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Name: "other"}
	r.Trigger(first)
	var woken []types.NamespacedName
	r.triggers.start(func(name types.NamespacedName) { woken = append(woken, name) }, nil)
	r.Trigger(second)
	if len(woken) != 2 || woken[0] != first || woken[1] != second {
		t.Errorf("Trigger enqueued the components %v", woken)
	}
}
