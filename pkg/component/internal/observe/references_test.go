package observe

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestReferenceEventsEnqueueTheUsers(t *testing.T) {
	values := Reference{
		Resource:  corev1.SchemeGroupVersion.WithResource("configmaps"),
		Namespace: "shop",
		Name:      "values",
	}
	other := values
	other.Name = "other"
	named := func(name, version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version},
		}
	}
	unreachable, refused := watchFailure{
		message: "no answer",
	}, watchFailure{
		reason:   plan.WaitUnwatched,
		message:  "forbidden",
		definite: true,
	}
	for _, c := range []struct {
		name string
		do   func(w *referenceWatch) error
		// enqueued are the enqueued components: "a" references the object values, "b" references the object other.
		enqueued, version, failure string
	}{
		{
			"a change enqueues the users of the object", func(w *referenceWatch) error { return w.Update(named("values", "2")) },
			"a", "2", "",
		},
		{
			"the same version enqueues no component",
			func(w *referenceWatch) error { return w.Update(named("values", "1")) }, "", "1", "",
		},
		{
			"a deletion enqueues the users of the object",
			func(w *referenceWatch) error { return w.Delete(named("values", "2")) }, "a", "", "",
		},
		{
			"an object without users enqueues no component",
			func(w *referenceWatch) error { return w.Add(named("unused", "2")) }, "", "1", "",
		},
		{"a list enqueues the users of a changed object", func(w *referenceWatch) error {
			return w.Replace([]any{named("values", "2"), named("other", "1")}, "9")
		}, "a", "2", ""},
		{
			"a list enqueues the users of a deleted object",
			func(w *referenceWatch) error { return w.Replace([]any{named("other", "1")}, "9") }, "a", "", "",
		},
		{"a list without a change enqueues no component", func(w *referenceWatch) error {
			return w.Replace([]any{named("values", "1"), named("other", "1")}, "9")
		}, "", "1", ""},
		{"a list enqueues the users of a new object", func(w *referenceWatch) error {
			if err := w.Replace([]any{named("values", "1")}, "9"); err != nil {
				return err
			}
			return w.Replace([]any{named("values", "1"), named("other", "2")}, "10")
		}, "b, b", "1", ""},
		{"a network failure leaves known objects known", func(w *referenceWatch) error {
			w.listFailed(unreachable)
			return nil
		}, "", "1", ""},
		{"a refusal enqueues all users", func(w *referenceWatch) error {
			w.listFailed(refused)
			return nil
		}, "a, b", "1", "forbidden"},
		{"a repeated refusal enqueues once", func(w *referenceWatch) error {
			w.listFailed(refused)
			w.listFailed(refused)
			return nil
		}, "a, b", "1", "forbidden"},
		{"the end of a refusal enqueues all users", func(w *referenceWatch) error {
			w.listFailed(refused)
			must(t, w.Replace([]any{named("values", "1"), named("other", "1")}, "9"))
			w.watchOpened()
			return nil
		}, "a, a, b, b", "1", ""},
		{"a list without a watch does not end a refusal", func(w *referenceWatch) error {
			w.listFailed(refused)
			must(t, w.Replace([]any{named("values", "1"), named("other", "1")}, "9"))
			w.listFailed(refused)
			return nil
		}, "a, b", "1", "forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReferences(t.Context(), nil, "shops.example.com")
			var enqueued []string
			w := newReferenceWatch(r, values.watchKey(Reader{}), func() {})
			r.watches[w.key] = w
			r.Watch("a", Reader{}, []Reference{values}, func() { enqueued = append(enqueued, "a") })
			r.Watch("b", Reader{}, []Reference{other}, func() { enqueued = append(enqueued, "b") })
			w.watchOpened()
			must(t, w.Replace([]any{named("values", "1"), named("other", "1")}, "5"))
			enqueued = nil

			must(t, c.do(w))
			slices.Sort(enqueued)
			if got := strings.Join(enqueued, ", "); got != c.enqueued {
				t.Errorf("the references enqueued the components %q, want %q", got, c.enqueued)
			}
			version, known, failure := r.Version(Reader{}, values)
			if version != c.version || !known || failure.Message != c.failure || failure.Forbidden != (c.failure != "") {
				t.Errorf("the reference has the version %q, known %v, and the failure %q", version, known, failure.Message)
			}
		})
	}

	t.Run("objects are unknown before the first list, which enqueues all users", func(t *testing.T) {
		r := NewReferences(t.Context(), nil, "shops.example.com")
		w := newReferenceWatch(r, values.watchKey(Reader{}), func() {})
		r.watches[w.key] = w
		enqueued := 0
		r.Watch("a", Reader{}, []Reference{values}, func() { enqueued++ })
		if _, known, _ := r.Version(Reader{}, values); known {
			t.Error("a referenced object is known before its watch delivered a list")
		}
		w.listFailed(unreachable)
		if _, _, failure := r.Version(Reader{}, values); failure.Message != "no answer" || enqueued != 1 {
			t.Errorf("after a failed list: the message is %q, the component was enqueued %d times", failure.Message, enqueued)
		}
		w.watchOpened()
		must(t, w.Replace(nil, "5"))
		if _, known, failure := r.Version(Reader{}, values); !known || failure != (Failure{}) || enqueued != 2 {
			t.Errorf("after a list: known is %v, the message is %q, the component was enqueued %d times",
				known, failure.Message, enqueued)
		}
	})

	t.Run("a pass retries a failed watch only", func(t *testing.T) {
		r := NewReferences(t.Context(), nil, "shops.example.com")
		w := newReferenceWatch(r, values.watchKey(Reader{}), func() {})
		r.watches[w.key] = w
		retain := func() int {
			r.Watch("a", Reader{}, []Reference{values}, func() {})
			return len(w.retrySignal)
		}
		if retain() != 0 {
			t.Error("the watch was told to retry before it failed")
		}
		w.listFailed(refused)
		if retain(); retain() != 1 {
			t.Error("the failed watch was not told to retry")
		}
	})

	t.Run("a watch stops with its last user", func(t *testing.T) {
		r := NewReferences(t.Context(), nil, "shops.example.com")
		ended := false
		w := newReferenceWatch(r, values.watchKey(Reader{}), func() { ended = true })
		r.watches[w.key] = w
		r.Watch("a", Reader{}, []Reference{values}, func() {})
		r.Watch("b", Reader{}, []Reference{other}, func() {})
		r.Release("a")
		if ended {
			t.Error("the watch stopped although it has a user")
		}
		r.Release("b")
		if !ended {
			t.Error("the watch did not stop, although it has no user any more")
		}
	})
}

func TestAFailureOfReferencesEnqueuesOnce(t *testing.T) {
	unreachable := func(port string) watchFailure {
		return watchFailure{reason: "ListFailed", message: "read tcp 127.0.0.1:" + port + ": connection reset by peer"}
	}
	refused := func(user string) watchFailure {
		return watchFailure{reason: plan.WaitUnwatched, message: user + " cannot watch", definite: true}
	}
	for _, c := range []struct {
		name     string
		failures []watchFailure
		enqueued int
	}{
		{
			"for network failures that name different ports",
			[]watchFailure{unreachable("1"), unreachable("2"), unreachable("3")},
			1,
		},
		{"and again if a network failure becomes a refusal", []watchFailure{unreachable("1"), refused("a")}, 2},
		{"and again if another user is refused", []watchFailure{refused("a"), refused("a"), refused("b")}, 2},
		{
			"and again if a refusal becomes a network failure",
			[]watchFailure{refused("a"), unreachable("1"), unreachable("2")},
			2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReferences(t.Context(), nil, reconciler)
			ref := Reference{
				Resource:  schema.GroupVersionResource{Version: "v1", Resource: "secrets"},
				Namespace: "shop",
				Name:      "db",
			}
			w := newReferenceWatch(r, ref.watchKey(Reader{}), func() {})
			r.watches[w.key] = w
			enqueued := 0
			r.Watch("app", Reader{}, []Reference{ref}, func() { enqueued++ })
			for _, f := range c.failures {
				w.listFailed(f)
			}
			if enqueued != c.enqueued {
				t.Errorf("the component was enqueued %d times, want %d", enqueued, c.enqueued)
			}
		})
	}
}
