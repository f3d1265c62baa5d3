package related

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestResultsOfRelatedObjectsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true})
		r.track(t, "a", "b")
		r.list(t, configMap(sharedName, "1", "x"))
		r.update(t, configMap(sharedName, "11", "x"))
		r.update(t, configMap(sharedName, "12", "y"))
		r.part.failed("forbidden", true)
		want := map[string]int{
			"related settings woke":  6, // after the list, the change and the failure
			"related settings equal": 1, "related settings failed": 1,
		}
		if diff := cmp.Diff(want, r.Counts()); diff != "" {
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
			o := Options{
				Whole: whole, Part: dataOf, Added: filter, Deleted: filter,
				Changed: func(client.Object, client.Object) bool { return passes },
			}
			r := newRelation(t, o)
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
			if diff := cmp.Diff(want, r.Counts()); diff != "" {
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
			if diff := cmp.Diff(want, r.Counts()); diff != "" {
				t.Error(diff)
			}
		}
	})
}
