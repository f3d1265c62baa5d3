package polled

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

func TestResultsOfEventSourcesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := newReconciler(t), &service{values: map[types.NamespacedName]any{key("a"): 1, key("b"): 1}}
		each := NewPollEach(EachOptions{
			Fetch: func(context.Context, client.Object) (any, error) { return 1, nil },
			After: func(client.Object, any) time.Duration { return 0 },
		})
		box := NewMailbox(MailboxOptions{})
		poll := NewPoll(time.Hour, s.fetch)
		for name, source := range map[string]eventsources.EventSource{"poll": poll, "each": each, "mail": box} {
			if _, err := r.Set.Add(name, source, eventsources.Use{}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			r.Set.Begin(t.Context(), named(name), nil)
		}
		synctest.Wait()
		s.set(func() { s.values[key("a")] = 2 })
		poll.Refresh()
		synctest.Wait()
		s.set(func() { s.err = errDown })
		poll.Refresh()
		synctest.Wait()
		time.Sleep(2 * retries.Last) // The second failure.
		each.Refresh(key("a"))
		for _, value := range []int{1, 1, 2} {
			if err := box.Put(key("a"), value); err != nil {
				t.Fatal(err)
			}
		}
		got := r.Counts()
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
		for _, count := range r.Set.Counts() {
			if count.Answered.IsZero() {
				t.Errorf("%s was never answered", count.Name)
			}
			held = append(held, fmt.Sprint(count.Kind, " ", count.Name, " ", count.Values, " ", count.Stale))
		}
		if diff := cmp.Diff([]string{"polling-each each 2 0", "inbound mail 1 0", "polling poll 2 2"}, held); diff != "" {
			t.Error(diff)
		}
		r.End()
		synctest.Wait()
	})
}
