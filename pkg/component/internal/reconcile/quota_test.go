package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// quotaFixture contains the quota of all namespaces, the cached numbers of dependents, and the components that were
// woken.
type quotaFixture struct {
	*Quotas
	limit  int
	cached map[string]int
	woken  []string
}

func newQuotaFixture(limit int) *quotaFixture {
	f := &quotaFixture{limit: limit, cached: map[string]int{}}
	f.Quotas = NewQuotas(
		func(context.Context, string) (Quota, error) {
			return Quota{Dependents: f.limit, SetBy: "the test"}, nil
		},
		func(context.Context, string) (map[string]int, error) { return f.cached, nil },
		func(name types.NamespacedName) { f.woken = append(f.woken, name.Name) },
	)
	return f
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// objects returns objects with numbers from a first to a last number.
func objects(first, last int) (list []manifests.Object) {
	for i := first; i <= last; i++ {
		list = append(list, manifests.Object{Key: manifests.Key{Kind: "ConfigMap", Name: fmt.Sprint(i)}})
	}
	return list
}

// entries returns the inventory of objects.
func entries(of []manifests.Object) (list []metav1alpha1.InventoryEntry) {
	for _, o := range of {
		list = append(list, metav1alpha1.InventoryEntry{Kind: o.Key.Kind, Name: o.Key.Name})
	}
	return list
}

func TestAQuotaBoundsTheDependentsOfANamespace(t *testing.T) {
	for _, test := range []struct {
		name              string
		limit, others     int
		desired, recorded []manifests.Object
		refused           bool
	}{
		{name: "admits up to the quota", limit: 5, others: 2, desired: objects(1, 3)},
		{name: "refuses above the quota", limit: 5, others: 3, desired: objects(1, 3), refused: true},
		{name: "admits without a quota", limit: 0, others: 900, desired: objects(1, 900)},
		{
			name: "admits recorded dependents above the quota", limit: 5, others: 3,
			desired: objects(1, 3), recorded: objects(1, 4),
		},
		{
			name: "refuses a new dependent above the quota", limit: 5, others: 3,
			desired: objects(2, 4), recorded: objects(1, 3), refused: true,
		},
		{name: "admits a replacement at the quota", limit: 5, others: 2, desired: objects(2, 4), recorded: objects(1, 3)},
		{
			name: "refuses a replacement while too many dependents are still to be deleted", limit: 5,
			desired: objects(7, 11), recorded: objects(1, 6), refused: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newQuotaFixture(test.limit)
			f.cached["other"] = test.others
			err := f.Admit(t.Context(), named("web"), test.desired, entries(test.recorded))
			if (err != nil) != test.refused {
				t.Fatalf("Admit returned %v, want an error: %t", err, test.refused)
			}
			if failure := passerror.Of(err); test.refused &&
				(failure.Reason != metav1alpha1.ReasonQuotaExceeded || !failure.Terminal) {
				t.Errorf("the error is %+v", failure)
			}
		})
	}
}

func TestConcurrentPassesDoNotExceedAQuota(t *testing.T) {
	f := newQuotaFixture(10)
	var admitted atomic.Int32
	var passes sync.WaitGroup
	for i := range 20 {
		passes.Go(func() {
			if f.Admit(t.Context(), named(fmt.Sprint(i)), objects(1, 4), nil) == nil {
				admitted.Add(1)
			}
		})
	}
	passes.Wait()
	if admitted.Load() != 2 {
		t.Errorf("%d components were admitted, want 2", admitted.Load())
	}
}

func TestARefusedComponentIsTriedAgainWhenThereIsRoom(t *testing.T) {
	f := newQuotaFixture(5)
	admit := func(name string, desired, recorded []manifests.Object) bool {
		return f.Admit(t.Context(), named(name), desired, entries(recorded)) == nil
	}
	if !admit("first", objects(1, 4), nil) || admit("second", objects(1, 3), nil) {
		t.Fatal("want the first component admitted and the second refused")
	}
	f.Settle(named("first"), 4)
	if len(f.woken) > 0 {
		t.Errorf("%v were woken although nothing changed", f.woken)
	}
	f.Settle(named("first"), 2)
	if !slices.Equal(f.woken, []string{"second"}) || !admit("second", objects(1, 3), nil) {
		t.Errorf("%v were woken, want the second component, and it must be admitted", f.woken)
	}
	if admit("third", objects(1, 1), nil) {
		t.Error("a third component was admitted")
	}
	f.woken = nil
	f.Release(named("second"))
	if !slices.Equal(f.woken, []string{"third"}) || !admit("third", objects(1, 1), nil) {
		t.Errorf("%v were woken, want the third component, and it must be admitted", f.woken)
	}
}
