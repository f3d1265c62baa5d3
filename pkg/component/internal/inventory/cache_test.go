package inventory

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

func TestAnIdleInventoryInSecretsIsDroppedAndRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		p := c.write(entries(3000))
		want, _ := linesOf(entries(3000))
		state := c.states.Of(app)
		requests := 0
		c.Refuse = func(string, string) error {
			requests++
			return nil
		}
		// read returns the number of requests to read the inventory.
		read := func() int {
			t.Helper()
			requests = 0
			lines, err := c.store.lines(t.Context(), p, c.owner())
			if err != nil || !slices.Equal(lines, want) {
				t.Fatalf("read %d lines, %v", len(lines), err)
			}
			return requests
		}
		time.Sleep(59 * time.Minute)
		state.DropIdle(time.Hour, time.Now())
		if n := read(); n != 0 {
			t.Errorf("%d requests within the idle time", n)
		}
		time.Sleep(59 * time.Minute)
		state.DropIdle(time.Hour, time.Now())
		if n := read(); n != 0 {
			t.Errorf("%d requests within the idle time after a use", n)
		}
		time.Sleep(2 * time.Hour)
		state.DropIdle(time.Hour, time.Now())
		if state.current.lines != nil {
			t.Error("the lines of an idle component are still in memory")
		}
		if state.NamesOther(p.GetStatus()) || state.NamesOther(c.load().GetStatus()) {
			t.Error("the inventory is taken for that of another process")
		}
		if n := read(); n == 0 {
			t.Error("the dropped lines were not read")
		}
		if n := read(); n != 0 {
			t.Error("the lines that were read are not kept")
		}

		// A record that was damaged meanwhile is lost, as after a start.
		time.Sleep(2 * time.Hour)
		state.DropIdle(time.Hour, time.Now())
		c.Refuse = func(_, name string) error { return apierrors.NewNotFound(corev1.Resource("secrets"), name) }
		if _, err := c.store.lines(t.Context(), p, c.owner()); !records.IsLost(err) {
			t.Errorf("the inventory of removed Secrets: %v", err)
		}
	})
}

func TestTheInventoriesOfManyComponentsAreDroppedOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const components = 100
		inSecrets := metav1alpha1.InventoryRecord{Namespace: "operator", Name: "inventory", Parts: 1}
		states := make([]State, components)
		for i := range states {
			states[i].setCurrent(cached{secrets: inSecrets, lines: []string{"a"}})
		}
		kept := func(after time.Duration) (kept int) {
			time.Sleep(after)
			for i := range states {
				states[i].DropIdle(time.Hour, time.Now())
				if !states[i].current.dropped {
					kept++
				}
			}
			return kept
		}
		if n := kept(time.Hour - 1); n != components {
			t.Errorf("%d are kept within the idle time", n)
		}
		if n := kept(time.Hour / 2); n < components/4 || n > 3*components/4 {
			t.Errorf("%d are kept after one and a half idle times, want about half", n)
		}
		if n := kept(time.Hour / 2); n != 0 {
			t.Errorf("%d are kept after two idle times", n)
		}
	})
}

func TestAnInventoryThatIsOnlyInMemoryIsNotDropped(t *testing.T) {
	m := &State{}
	m.setCurrent(cached{digest: "d", lines: []string{"a"}})
	m.DropIdle(time.Minute, time.Now().Add(time.Hour))
	if len(m.current.lines) != 1 {
		t.Error("lines were dropped that are nowhere else")
	}
}
