package observe

import (
	"strconv"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A snapshot is a value: a later event does not change it.
func TestSnapshotIsTakenOnce(t *testing.T) {
	s := newWatchFixture(t)
	must(t, s.Add(at("5", "us", "u1")))
	before := s.observer.Snapshot(Reader{}, []manifests.Key{settings})
	must(t, s.Add(at("6", "us", "u1")))
	after := s.observer.Snapshot(Reader{}, []manifests.Key{settings})
	if was, is := before.Of(settings).ResourceVersion, after.Of(settings).ResourceVersion; was != "5" || is != "6" {
		t.Errorf("the earlier snapshot has version %s and the later snapshot %s, want 5 and 6", was, is)
	}
}

// BenchmarkSnapshot takes the snapshot for a plan of 10,000 dependents.
func BenchmarkSnapshot(b *testing.B) {
	o := New(b.Context(), Options{Reconciler: reconciler})
	w := addWatch(o, Reader{}, WatchedResource{Type: configMaps}, func() {})
	var keys []manifests.Key
	for i := range 10_000 {
		key := settings
		key.Name = strconv.Itoa(i)
		keys, w.objects.observed[key] = append(keys, key), &plan.Observed{Presence: plan.Present}
	}
	for b.Loop() {
		o.Snapshot(Reader{}, keys)
	}
}
