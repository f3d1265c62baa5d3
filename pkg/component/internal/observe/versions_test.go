package observe

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestFollowedObjects(t *testing.T) {
	const reconciler = "shops.example.com"
	self := manifests.Owner{Cluster: "c", Reconciler: reconciler, Kind: "Shop", Namespace: "shop", Name: "app"}
	db := Reference{Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Namespace: "shop", Name: "db"}
	all := Reference{Resource: db.Resource, Namespace: "shop"}
	object := func(name, version string, owner *manifests.Owner) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version}}
		if owner != nil {
			m.Labels = map[string]string{reconciler + "/" + manifests.LabelOwnerID: owner.ID()}
			m.Annotations = map[string]string{reconciler + "/" + manifests.AnnotationOwnerID: owner.String()}
		}
		return m
	}
	other := self
	other.Name = "other"
	sum := func(objects ...*metav1.PartialObjectMetadata) Version {
		var s Sum
		for _, o := range objects {
			s = s.Plus(o)
		}
		return s.Version()
	}
	for _, c := range []struct {
		name string
		ref  Reference
		read Version
		// before is listed at first, and then there is one event.
		before []any
		event  func(w *referenceWatch) error
		// woken counts, and changed says whether what was read is another by now.
		woken   int
		changed bool
	}{
		{"what was read wakes nobody", db, "1", []any{object("db", "1", nil)}, nil, 0, false},
		{"what was not there, and is not, wakes nobody", db, "", nil, nil, 0, false},
		{"what changed before the watch began wakes", db, "1", []any{object("db", "2", nil)}, nil, 1, true},
		{"what came before the watch began wakes", db, "", []any{object("db", "2", nil)}, nil, 1, true},
		{"what changes wakes", db, "1", []any{object("db", "1", nil)}, func(w *referenceWatch) error { return w.Update(object("db", "2", nil)) }, 1, true},
		{"what goes wakes", db, "1", []any{object("db", "1", nil)}, func(w *referenceWatch) error { return w.Delete(object("db", "1", nil)) }, 1, true},
		{"another object wakes nobody", db, "1", []any{object("db", "1", nil)}, func(w *referenceWatch) error { return w.Update(object("else", "2", nil)) }, 0, false},
		{"a dependent of one's own that comes wakes nobody", db, "", nil, func(w *referenceWatch) error { return w.Update(object("db", "2", &self)) }, 0, false},
		{"a dependent of one's own that goes wakes nobody", db, VersionOwn, []any{object("db", "1", &self)}, func(w *referenceWatch) error {
			return w.Delete(object("db", "1", &self))
		}, 0, false},
		{"a dependent of one's own that somebody takes wakes", db, VersionOwn, []any{object("db", "1", &self)}, func(w *referenceWatch) error {
			return w.Update(object("db", "2", &other))
		}, 1, true},
		{"what one adopts wakes nobody", db, "1", []any{object("db", "1", nil)}, func(w *referenceWatch) error { return w.Update(object("db", "2", &self)) }, 0, false},
		{
			"a list that was read wakes nobody, in whatever order", all, sum(object("b", "2", nil), object("a", "1", nil)),
			[]any{object("a", "1", nil), object("b", "2", nil)},
			nil, 0, false,
		},
		{"a list of which an object changes wakes", all, sum(object("a", "1", nil)), []any{object("a", "1", nil)}, func(w *referenceWatch) error {
			return w.Update(object("a", "2", nil))
		}, 1, true},
		{"a list that grows wakes", all, sum(), nil, func(w *referenceWatch) error { return w.Update(object("a", "1", nil)) }, 1, true},
		{"a list that shrinks wakes", all, sum(object("a", "1", nil)), []any{object("a", "1", nil)}, func(w *referenceWatch) error {
			return w.Delete(object("a", "1", nil))
		}, 1, true},
		{"a list in which dependents of one's own come wakes nobody", all, sum(object("a", "1", nil)), []any{object("a", "1", nil)}, func(w *referenceWatch) error {
			return w.Update(object("b", "2", &self))
		}, 0, false},
		{"a list in which dependents of another come wakes", all, sum(), nil, func(w *referenceWatch) error { return w.Update(object("b", "2", &other)) }, 1, true},
		{"a refusal is told, for then it has to be read", db, "1", []any{object("db", "1", nil)}, func(w *referenceWatch) error {
			w.listFailed(watchFailure{message: "forbidden", definite: true})
			return nil
		}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReferences(t.Context(), nil, reconciler)
			w := newReferenceWatch(r, all.watchKey(Reader{}), func() {})
			r.watches[w.key] = w
			woken := 0
			r.WatchVersions("app", ReadVersions{OwnerID: self.ID(), Versions: map[Reference]Version{c.ref: c.read}}, func() { woken++ })
			must(t, w.Replace(c.before, "5"))
			w.watchOpened()
			if c.event != nil {
				must(t, c.event(w))
			}
			if woken != c.woken {
				t.Errorf("woken %d times, want %d", woken, c.woken)
			}
			if changed, _ := r.Changed("app"); (len(changed) > 0) != c.changed {
				t.Errorf("changed: %v", changed)
			}
		})
	}

	t.Run("what cannot be watched is told, with the reason", func(t *testing.T) {
		r := NewReferences(t.Context(), nil, reconciler)
		w := newReferenceWatch(r, all.watchKey(Reader{}), func() {})
		r.watches[w.key] = w
		r.WatchVersions("app", ReadVersions{OwnerID: self.ID(), Versions: map[Reference]Version{db: "1"}}, func() {})
		w.listFailed(watchFailure{message: "forbidden", definite: true})
		if _, unwatched := r.Changed("app"); !strings.Contains(unwatched[db], "forbidden") {
			t.Errorf("got %v", unwatched)
		}
	})
}
