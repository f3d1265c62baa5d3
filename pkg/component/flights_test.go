package component

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestPassesAreSuperseded(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "app"}
	version := func(resourceVersion string, generation int64, edits ...func(*metav1.PartialObjectMetadata)) client.Object {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, UID: "u1", ResourceVersion: resourceVersion, Generation: generation,
		}}
		for _, edit := range edits {
			edit(o)
		}
		return o
	}
	anew := func(o *metav1.PartialObjectMetadata) { o.UID = "u2" }
	deleting := func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = new(metav1.Now()) }
	other := func(o *metav1.PartialObjectMetadata) { o.Name = "other" }
	for _, c := range []struct {
		name          string
		loaded, shown client.Object
		gone, want    bool
	}{
		{"by a new spec", version("5", 1), version("6", 2), false, true},
		{"by a deletion that began", version("5", 1), version("6", 1, deleting), false, true},
		{"when the component was created anew", version("5", 1), version("6", 1, anew), false, true},
		{"when the component is gone", version("5", 1), version("6", 1), true, true},
		{"but not by a new status", version("5", 1), version("6", 1), false, false},
		{"but not by what the pass knows", version("5", 2), version("5", 2), false, false},
		{"but not by a version from before", version("5", 2), version("4", 1), false, false},
		{"but not by an earlier component of that name", version("5", 1, anew), version("4", 1), true, false},
		{"but not when a deletion is what the pass is for", version("5", 1, deleting), version("6", 1, deleting), false, false},
		{"but not by another component", version("5", 1), version("6", 2, other), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, early := range []bool{false, true} {
				f := newFlights()
				flight := f.begin(name)
				if early {
					f.seen(c.shown, c.gone)
				}
				f.loaded(name, c.loaded)
				if !early {
					f.seen(c.shown, c.gone)
				}
				if isClosed(f.superseded(name)) != c.want || flight.isOver() != c.want {
					t.Errorf("superseded: %t, want %t; the watch was early: %t", !c.want, c.want, early)
				}
			}
		})
	}
}

func TestWatchesTellOfPassesThatAreOverAlready(t *testing.T) {
	name := types.NamespacedName{Name: "app"}
	object := func(resourceVersion string, generation int64) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "app", ResourceVersion: resourceVersion, Generation: generation}}
	}
	f := newFlights()
	f.begin(name)
	f.loaded(name, object("1", 1))
	for i := range 3 {
		f.seen(object("2", int64(2+i)), false)
	}
	f.seen(cache.DeletedFinalStateUnknown{Key: "app", Obj: object("3", 5)}, true)
	f.seen("nonsense", false)
	f.end(name)
	if f.superseded(name) != nil || len(f.underway) > 0 {
		t.Error("a pass that has ended is still known")
	}
	f.seen(object("4", 6), false)
	if f.begin(name).isOver() {
		t.Error("what came before a pass ended it")
	}
}

// sleeper is an object that is suspended.
type sleeper struct{ *metav1.PartialObjectMetadata }

func (sleeper) Suspended() bool { return true }

// faulty is an object whose author forgot that a part of it may be missing.
type faulty struct{ *metav1.PartialObjectMetadata }

func (faulty) Suspended() bool { panic("no schedule") }

func TestAPanicOfATypeDoesNotReachWatches(t *testing.T) {
	name := types.NamespacedName{Name: "app"}
	object := func(resourceVersion string, generation int64) client.Object {
		return faulty{&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "app", ResourceVersion: resourceVersion, Generation: generation}}}
	}
	f := newFlights()
	flight := f.begin(name)
	f.loaded(name, object("1", 1))
	f.seen(object("2", 2), false)
	if !flight.isOver() {
		t.Error("another spec did not end the pass")
	}
}

func TestAPassInsistsAfterManyThatCameToNothing(t *testing.T) {
	name := types.NamespacedName{Name: "app"}
	object := func(resourceVersion string, generation int64, deleting bool) *metav1.PartialObjectMetadata {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "app", UID: "u1", ResourceVersion: resourceVersion, Generation: generation}}
		if deleting {
			o.DeletionTimestamp = new(metav1.Now())
		}
		return o
	}
	anew := object("6", 1, false)
	anew.UID = "u2"
	suspended := sleeper{object("6", 2, false)}
	for _, c := range []struct {
		name         string
		came         []bool
		shown        client.Object
		gone         bool
		insists, end bool
	}{
		{name: "not before that", came: slices.Repeat([]bool{false}, maxInterrupted-1), shown: object("6", 2, false), end: true},
		{name: "and no other spec ends it", came: slices.Repeat([]bool{false}, maxInterrupted), shown: object("6", 2, false), insists: true},
		{name: "but that it is suspended does", came: slices.Repeat([]bool{false}, maxInterrupted), shown: suspended, insists: true, end: true},
		{name: "but a deletion does", came: slices.Repeat([]bool{false}, maxInterrupted), shown: object("6", 2, true), insists: true, end: true},
		{name: "but that it is gone does", came: slices.Repeat([]bool{false}, maxInterrupted), shown: object("6", 1, false), gone: true, insists: true, end: true},
		{name: "but a successor does", came: slices.Repeat([]bool{false}, maxInterrupted), shown: anew, insists: true, end: true},
		{name: "once, until there are as many again", came: append(slices.Repeat([]bool{false}, maxInterrupted), true), shown: object("6", 2, false), end: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlights()
			for _, anEnd := range c.came {
				f.begin(name)
				f.cameTo(name, anEnd)
				f.end(name)
			}
			flight := f.begin(name)
			f.loaded(name, object("5", 1, false))
			f.seen(c.shown, c.gone)
			if f.insists(name) != c.insists || flight.isOver() != c.end {
				t.Errorf("it insists: %t, and is over: %t", f.insists(name), flight.isOver())
			}
		})
	}
}
