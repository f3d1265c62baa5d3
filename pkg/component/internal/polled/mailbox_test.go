package polled

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

func TestAMailboxWakesOnlyForAnotherValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := newReconciler(t), NewMailbox(MailboxOptions{Expire: time.Hour})
		if err := m.Put(key("a"), "early"); err != nil {
			t.Fatal(err)
		}
		r.Add(t, m)
		if r.Set.Begin(t.Context(), named("a"), nil) {
			t.Error("a pass waits for a mailbox without Fetch")
		}
		if value, _, _ := m.Get(key("a")); value != "early" {
			t.Errorf("the value that came before its component is lost: %v", value)
		}
		put := func(value any) {
			t.Helper()
			if err := m.Put(key("a"), value); err != nil {
				t.Error(err)
			}
		}
		put("early")
		r.Expect(t)
		put("late")
		r.Expect(t, "a")
		time.Sleep(2 * time.Hour)
		r.Expect(t, "a")
		if _, _, known := m.Get(key("a")); known {
			t.Error("the value did not expire")
		}
		put("again")
		m.Drop(key("a"))
		r.Expect(t, "a")
		m.Drop(key("a"))
		r.Expect(t)
		if err := m.Put(key("a"), make(chan int)); err == nil {
			t.Error("a value without a JSON form is accepted")
		}
		put("last")
		r.Set.Forget(key("a"))
		if len(m.values) != 0 {
			t.Error("the value of a forgotten component is left")
		}
	})
}

func TestAMailboxIsFilledAtTheStartWithoutUndoingWhatCameSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, open := newReconciler(t), make(chan struct{})
		failed := false
		m := NewMailbox(MailboxOptions{Fetch: func(context.Context) (map[types.NamespacedName]any, error) {
			if !failed {
				failed = true
				return nil, errDown
			}
			<-open
			return map[types.NamespacedName]any{key("a"): "old", key("b"): "old", key("c"): "old"}, nil
		}})
		r.Add(t, m)
		for _, name := range []string{"a", "b", "c"} {
			if !r.Set.Begin(t.Context(), named(name), nil) {
				t.Errorf("%s does not wait", name)
			}
		}
		if err := m.Put(key("a"), "new"); err != nil {
			t.Fatal(err)
		}
		m.Drop(key("b"))
		time.Sleep(10 * time.Second)
		close(open)
		r.Expect(t, "a", "b", "c")
		for name, want := range map[string]any{"a": "new", "b": nil, "c": "old"} {
			if got, _, _ := m.Get(key(name)); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	})
}

func TestEarlyValuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := newReconciler(t), NewMailbox(MailboxOptions{})
		r.Add(t, m)
		for i := range maxEarly + 10 {
			if err := m.Put(key("x"+strconv.Itoa(i)), i); err != nil {
				t.Fatal(err)
			}
		}
		count := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.values)
		}
		if n := count(); n != maxEarly {
			t.Errorf("%d values", n)
		}
		time.Sleep(earlyLifetime + time.Second)
		synctest.Wait()
		if n := count(); n != 0 {
			t.Errorf("%d values are left", n)
		}
	})
}

func TestAMailboxThatIsRemovedBeforeTheStartHasNoValues(t *testing.T) {
	var set eventsources.Set
	m := NewMailbox(MailboxOptions{})
	remove := addMail(t, &set, m)
	for _, moment := range []string{"before", "after"} {
		if err := m.Put(key("a"), "value"); err != nil {
			t.Fatal(err)
		}
		remove()
		if n, _ := m.Size(); n != 0 {
			t.Errorf("%d values are left of those that arrived %s the removal", n, moment)
		}
	}
}

func TestEarlyValuesOfOneNamespaceDoNotPushOutThoseOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := newReconciler(t), NewMailbox(MailboxOptions{})
		addMail(t, &r.Set, m)
		synctest.Wait()
		put := func(namespace string, n, size int) {
			t.Helper()
			for i := range n {
				name := types.NamespacedName{Namespace: namespace, Name: strconv.Itoa(i)}
				if err := m.Put(name, strings.Repeat("x", size)); err != nil {
					t.Fatal(err)
				}
			}
		}
		put("quiet", 10, 1000)
		put("many", maxEarly+100, 1)
		put("large", 100, 1<<20)
		for i := range 10 {
			if _, _, known := m.Get(types.NamespacedName{Namespace: "quiet", Name: strconv.Itoa(i)}); !known {
				t.Errorf("value %d of another namespace was dropped", i)
			}
		}
		if m.early.bytes > maxEarlyBytes || len(m.early.at) > maxEarly || len(m.values) != len(m.early.at) {
			t.Errorf("%d early values with %d bytes, %d values", len(m.early.at), m.early.bytes, len(m.values))
		}
		dropped := maxEarly + 210 - len(m.values)
		if n := r.Counts()["inbound mail dropped"]; n != dropped {
			t.Errorf("%d dropped values are counted, want %d", n, dropped)
		}
		m.Track(t.Context(), named("a"), nil)
		time.Sleep(earlyLifetime + time.Second)
		if n := r.Counts()["inbound mail dropped"]; n != maxEarly+210 || m.early.bytes != 0 || len(m.early.namespaces) != 0 {
			t.Errorf("afterwards %d dropped values are counted, %d bytes are early", n, m.early.bytes)
		}
	})
}

func TestAnEarlyValueThatExpiresIsCountedAsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := newReconciler(t), NewMailbox(MailboxOptions{Expire: time.Minute})
		addMail(t, &r.Set, m)
		synctest.Wait()
		m.Track(t.Context(), named("tracked"), nil)
		for _, name := range []string{"early", "tracked"} {
			if err := m.Put(key(name), name); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := r.Counts()["inbound mail dropped"]; n != 1 {
			t.Errorf("%d dropped values are counted, want that of the component without a pass", n)
		}
	})
}

func TestFetchedValuesWaitForTheirComponentsWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, stored := newReconciler(t), map[types.NamespacedName]any{}
		for i := range maxEarly + 1 {
			stored[key(strconv.Itoa(i))] = i
		}
		m := NewMailbox(MailboxOptions{Fetch: func(context.Context) (map[types.NamespacedName]any, error) {
			return stored,
				nil
		}})
		r.Add(t, m)
		time.Sleep(2 * earlyLifetime)
		if values, _ := m.Size(); values != len(stored) {
			t.Errorf("%d of %d values are left", values, len(stored))
		}
	})
}

// The runtime keeps stopped timers as long as they are a small part of all timers.
func TestAMailboxIsFreedAlthoughTheTimeOfItsValuesIsNotOver(t *testing.T) {
	for range 10_000 {
		timer := time.AfterFunc(time.Hour, func() {})
		defer timer.Stop()
	}
	type payload [64]byte
	newPayload := func(all *[]weak.Pointer[payload]) *payload {
		p := &payload{}
		*all = append(*all, weak.Make(p))
		return p
	}
	var inUse []weak.Pointer[payload]
	for range 10 {
		fetched := newPayload(&inUse)
		m := NewMailbox(MailboxOptions{Expire: time.Hour, Fetch: func(context.Context) (map[types.NamespacedName]any, error) {
			runtime.KeepAlive(fetched)
			return nil, nil
		}})
		for _, name := range []string{"a", "b", "a"} {
			if err := m.Put(key(name), newPayload(&inUse)); err != nil {
				t.Fatal(err)
			}
		}
		m.Drop(key("b"))
		m.end()
	}
	runtime.GC()
	inUse = slices.DeleteFunc(inUse, func(p weak.Pointer[payload]) bool { return p.Value() == nil })
	if len(inUse) > 0 {
		t.Errorf("%d values and functions of 40 are in memory after the end of their mailboxes", len(inUse))
	}
}
