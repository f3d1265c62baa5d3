package sources

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counted is a Counter.
type counted struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counted) count(kind Kind, source string, result Result, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[fmt.Sprint(kind, " ", source, " ", result)] += n
}

func (c *counted) all() map[string]int {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

func TestResultsOfSourcesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		c, s := &counted{counts: map[string]int{}}, &service{values: map[types.NamespacedName]any{key("a"): 1, key("b"): 1}}
		h := (&reconciler{}).host()
		h.Counter = c.count
		var set Set
		set.Start(ctx, h)
		each := NewPollEach(EachOptions{
			Fetch: func(context.Context, client.Object) (any, error) { return 1, nil },
			After: func(client.Object, any) time.Duration { return 0 },
		})
		box := NewMailbox(MailboxOptions{})
		poll := NewPoll(time.Hour, s.fetch)
		for name, source := range map[string]Source{"poll": poll, "each": each, "mail": box} {
			if _, err := set.Add(name, source, Use{}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			set.Begin(ctx, named(name), nil)
		}
		synctest.Wait()
		s.set(func() { s.values[key("a")] = 2 })
		poll.Refresh()
		synctest.Wait()
		s.set(func() { s.err = errDown })
		poll.Refresh()
		synctest.Wait()
		time.Sleep(2 * lastRetry) // The second failure.
		each.Refresh(key("a"))
		for _, value := range []int{1, 1, 2} {
			if err := box.Put(key("a"), value); err != nil {
				t.Fatal(err)
			}
		}
		got := c.all()
		if got["polling poll failed"] < toldAfter {
			t.Errorf("failures: %d", got["polling poll failed"])
		}
		delete(got, "polling poll failed")
		want := map[string]int{
			"polling poll woke": 3, "polling poll equal": 1, // a differed; a and b were told of the failures.
			"polling-each each woke": 2, "polling-each each equal": 1,
			"inbound mail woke": 2, "inbound mail equal": 1,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		var held []string
		for _, count := range set.Counts() {
			if count.Answered.IsZero() {
				t.Errorf("%s was never answered", count.Name)
			}
			held = append(held, fmt.Sprint(count.Kind, " ", count.Name, " ", count.Values, " ", count.Stale))
		}
		if diff := cmp.Diff([]string{"polling-each each 2 0", "inbound mail 1 0", "polling poll 2 2"}, held); diff != "" {
			t.Error(diff)
		}
		end()
		synctest.Wait()
	})
}

func TestResultsOfRelatedObjectsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newRelation(t, RelatedOptions{Whole: true}), &counted{counts: map[string]int{}}
		h := r.Related.host
		h.Counter = c.count
		r.Related.host = h.counting(&registered{Source: r.Related, name: "settings"})
		r.track(t, "a", "b")
		r.list(t, configMap(sharedName, "1", "x"))
		r.update(t, configMap(sharedName, "11", "x"))
		r.update(t, configMap(sharedName, "12", "y"))
		r.part.failed("forbidden", true)
		want := map[string]int{
			"related settings woke":  6, // after the list, the change and the failure
			"related settings equal": 1, "related settings failed": 1,
		}
		if diff := cmp.Diff(want, c.all()); diff != "" {
			t.Error(diff)
		}
		if values, stale := r.Size(); values != 1 || stale != 2 {
			t.Errorf("%d values, %d components without a current one", values, stale)
		}
	})
}

func TestEventsThatFiltersLeaveOutAndFailedComparisonsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, whole := range []bool{true, false} {
			passes := false
			filter := func(client.Object) bool { return passes }
			o := RelatedOptions{
				Whole: whole, Part: dataOf, Added: filter, Deleted: filter,
				Changed: func(client.Object, client.Object) bool { return passes },
			}
			r, c := newRelation(t, o), &counted{counts: map[string]int{}}
			h := r.Related.host
			h.Counter = c.count
			r.Related.host = h.counting(&registered{Source: r.Related, name: "settings"})
			server := &slowServer{gates: make(chan chan struct{}), err: errDown}
			r.informer.reader.cluster.Dynamic = server
			r.track(t, "a")
			r.list(t)
			r.update(t, configMap(sharedName, "11", "x"))
			r.update(t, configMap(sharedName, "12", "y"))
			if err := r.part.Delete(wire(t, configMap(sharedName, "13", "y"), whole)); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{"related settings woke": 1, "related settings filtered": 3}
			if diff := cmp.Diff(want, c.all()); diff != "" {
				t.Errorf("whole %t: %s", whole, diff)
			}
			if whole {
				continue
			}
			passes = true
			r.update(t, configMap(sharedName, "14", "x"))
			r.update(t, configMap(sharedName, "15", "y"))
			synctest.Wait()
			server.release()
			want = map[string]int{
				"related settings woke": 3, "related settings filtered": 3, "related settings failed": 1,
			}
			if diff := cmp.Diff(want, c.all()); diff != "" {
				t.Error(diff)
			}
		}
	})
}
