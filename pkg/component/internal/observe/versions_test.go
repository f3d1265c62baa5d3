package observe

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestReadVersionsThatDifferEnqueueTheComponent(t *testing.T) {
	const reconciler = "shops.example.com"
	self := manifests.Owner{Cluster: "c", Reconciler: reconciler, Kind: "Shop", Namespace: "shop", Name: "app"}
	db := Reference{Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Namespace: "shop", Name: "db"}
	all := Reference{Resource: db.Resource, Namespace: "shop"}
	object := func(name, version string, owner *manifests.Owner) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version},
		}
		if owner != nil {
			m.Labels = map[string]string{reconciler + "/" + manifests.LabelOwnerID: owner.ID()}
			m.Annotations = map[string]string{reconciler + "/" + manifests.AnnotationOwnerID: owner.String()}
		}
		return m
	}
	copied := object("db", "2", &self)
	copied.Annotations[reconciler+"/"+marks.AnnotationObject] = "Secret shop/login"
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
		// before is the first list. The function event sends an event after the list.
		before []any
		event  func(w *referenceWatch) error
		// enqueued is the number of enqueue calls. changed is set if the read version differs from the current version at the
		// end.
		enqueued int
		changed  bool
	}{
		{"the version that was read enqueues no component", db, "1", []any{object("db", "1", nil)}, nil, 0, false},
		{"an object that still does not exist enqueues no component", db, "", nil, nil, 0, false},
		{"a change before the watch began enqueues the component", db, "1", []any{object("db", "2", nil)}, nil, 1, true},
		{"a creation before the watch began enqueues the component", db, "", []any{object("db", "2", nil)}, nil, 1, true},
		{
			"a change enqueues the component", db, "1",
			[]any{object("db", "1", nil)},
			func(w *referenceWatch) error { return w.Update(object("db", "2", nil)) }, 1, true,
		},
		{
			"a change of a copy of a dependent enqueues the component", db, "1",
			[]any{object("db", "1", nil)},
			func(w *referenceWatch) error { return w.Update(copied) }, 1, true,
		},
		{
			"a deletion enqueues the component", db, "1",
			[]any{object("db", "1", nil)},
			func(w *referenceWatch) error { return w.Delete(object("db", "1", nil)) }, 1, true,
		},
		{
			"a change of another object enqueues no component", db, "1",
			[]any{object("db", "1", nil)},
			func(w *referenceWatch) error { return w.Update(object("else", "2", nil)) }, 0, false,
		},
		{
			"a new dependent of the component enqueues no component", db, "", nil,
			func(w *referenceWatch) error { return w.Update(object("db", "2", &self)) }, 0, false,
		},
		{
			"a deleted dependent of the component enqueues no component", db, VersionOwn,
			[]any{object("db", "1", &self)},
			func(w *referenceWatch) error {
				return w.Delete(object("db", "1", &self))
			},
			0, false,
		},
		{
			"a dependent that another component takes over enqueues the component", db, VersionOwn,
			[]any{object("db", "1", &self)},
			func(w *referenceWatch) error {
				return w.Update(object("db", "2", &other))
			},
			1, true,
		},
		{
			"an object that the component adopts enqueues no component", db, "1",
			[]any{object("db", "1", nil)},
			func(w *referenceWatch) error { return w.Update(object("db", "2", &self)) }, 0, false,
		},
		{
			"the same list in another order enqueues no component", all, sum(object("b", "2", nil), object("a", "1", nil)),
			[]any{object("a", "1", nil), object("b", "2", nil)},
			nil, 0, false,
		},
		{
			"a changed object of a list enqueues the component", all, sum(object("a", "1", nil)),
			[]any{object("a", "1", nil)},
			func(w *referenceWatch) error {
				return w.Update(object("a", "2", nil))
			},
			1, true,
		},
		{
			"a new object of a list enqueues the component", all, sum(), nil,
			func(w *referenceWatch) error { return w.Update(object("a", "1", nil)) }, 1, true,
		},
		{
			"a deleted object of a list enqueues the component", all, sum(object("a", "1", nil)),
			[]any{object("a", "1", nil)},
			func(w *referenceWatch) error {
				return w.Delete(object("a", "1", nil))
			},
			1, true,
		},
		{
			"a new dependent of the component in a list enqueues no component", all, sum(object("a", "1", nil)),
			[]any{object("a", "1", nil)},
			func(w *referenceWatch) error {
				return w.Update(object("b", "2", &self))
			},
			0, false,
		},
		{
			"a new dependent of another component in a list enqueues the component", all, sum(), nil,
			func(w *referenceWatch) error { return w.Update(object("b", "2", &other)) }, 1, true,
		},
		{
			"a refusal enqueues the component, because the object must be read then", db, "1",
			[]any{object("db", "1", nil)},
			func(w *referenceWatch) error {
				w.listFailed(watchFailure{message: "forbidden", definite: true})
				return nil
			},
			1, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReferences(t.Context(), nil, reconciler)
			w := newReferenceWatch(r, all.watchKey(Reader{}), func() {})
			r.watches[w.key] = w
			enqueued := 0
			r.WatchVersions(
				"app",
				ReadVersions{OwnerID: self.ID(), Versions: map[Reference]Version{c.ref: c.read}},
				func() { enqueued++ },
			)
			must(t, w.Replace(c.before, "5"))
			w.watchOpened()
			if c.event != nil {
				must(t, c.event(w))
			}
			if enqueued != c.enqueued {
				t.Errorf("the component was enqueued %d times, want %d", enqueued, c.enqueued)
			}
			if changed, _ := r.Changed("app"); (len(changed) > 0) != c.changed {
				t.Errorf("Changed returned the looked-up objects %v", changed)
			}
		})
	}

	t.Run("a reference that cannot be watched is returned with the reason", func(t *testing.T) {
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
