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

func TestReferences(t *testing.T) {
	values := Reference{Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Namespace: "shop", Name: "values"}
	other := values
	other.Name = "other"
	named := func(name, version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version}}
	}
	unreachable, refused := watchFailure{message: "no answer"}, watchFailure{reason: plan.WaitUnwatched, message: "forbidden", definite: true}
	for _, c := range []struct {
		name string
		do   func(w *referenceWatch) error
		// woken are those who use values (a) or other (b).
		woken, version, failure string
	}{
		{"a change wakes those who use the object", func(w *referenceWatch) error { return w.Update(named("values", "2")) }, "a", "2", ""},
		{"the same version wakes nobody", func(w *referenceWatch) error { return w.Update(named("values", "1")) }, "", "1", ""},
		{"the end of an object wakes those who use it", func(w *referenceWatch) error { return w.Delete(named("values", "2")) }, "a", "", ""},
		{"an object that nobody uses wakes nobody", func(w *referenceWatch) error { return w.Add(named("unused", "2")) }, "", "1", ""},
		{"a list wakes those whose object changed", func(w *referenceWatch) error {
			return w.Replace([]any{named("values", "2"), named("other", "1")}, "9")
		}, "a", "2", ""},
		{"a list wakes those whose object went", func(w *referenceWatch) error { return w.Replace([]any{named("other", "1")}, "9") }, "a", "", ""},
		{"a list that tells nothing new wakes nobody", func(w *referenceWatch) error {
			return w.Replace([]any{named("values", "1"), named("other", "1")}, "9")
		}, "", "1", ""},
		{"a list wakes those whose object came", func(w *referenceWatch) error {
			if err := w.Replace([]any{named("values", "1")}, "9"); err != nil {
				return err
			}
			return w.Replace([]any{named("values", "1"), named("other", "2")}, "10")
		}, "b, b", "1", ""},
		{"a lack of answers leaves known what was", func(w *referenceWatch) error {
			w.listFailed(unreachable)
			return nil
		}, "", "1", ""},
		{"a refusal is told to all", func(w *referenceWatch) error {
			w.listFailed(refused)
			return nil
		}, "a, b", "1", "forbidden"},
		{"the same refusal is told once", func(w *referenceWatch) error {
			w.listFailed(refused)
			w.listFailed(refused)
			return nil
		}, "a, b", "1", "forbidden"},
		{"the end of a refusal is told to all", func(w *referenceWatch) error {
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
			var woken []string
			w := newReferenceWatch(r, values.watchKey(Reader{}), func() {})
			r.watches[w.key] = w
			r.Watch("a", Reader{}, []Reference{values}, func() { woken = append(woken, "a") })
			r.Watch("b", Reader{}, []Reference{other}, func() { woken = append(woken, "b") })
			w.watchOpened()
			must(t, w.Replace([]any{named("values", "1"), named("other", "1")}, "5"))
			woken = nil

			must(t, c.do(w))
			slices.Sort(woken)
			if got := strings.Join(woken, ", "); got != c.woken {
				t.Errorf("woken: %q, want %q", got, c.woken)
			}
			version, known, failure := r.Version(Reader{}, values)
			if version != c.version || !known || failure.Message != c.failure || failure.Forbidden != (c.failure != "") {
				t.Errorf("got %q, %v, %q", version, known, failure.Message)
			}
		})
	}

	t.Run("nothing is known before the first list, and all are woken by it", func(t *testing.T) {
		r := NewReferences(t.Context(), nil, "shops.example.com")
		w := newReferenceWatch(r, values.watchKey(Reader{}), func() {})
		r.watches[w.key] = w
		woken := 0
		r.Watch("a", Reader{}, []Reference{values}, func() { woken++ })
		if _, known, _ := r.Version(Reader{}, values); known {
			t.Error("it is known")
		}
		w.listFailed(unreachable)
		if _, _, failure := r.Version(Reader{}, values); failure.Message != "no answer" || woken != 1 {
			t.Errorf("got %q, woken %d times", failure.Message, woken)
		}
		w.watchOpened()
		must(t, w.Replace(nil, "5"))
		if _, known, failure := r.Version(Reader{}, values); !known || failure != (Failure{}) || woken != 2 {
			t.Errorf("known %v, %q, woken %d times", known, failure.Message, woken)
		}
	})

	t.Run("a pass lets a watch that failed try again, and no other", func(t *testing.T) {
		r := NewReferences(t.Context(), nil, "shops.example.com")
		w := newReferenceWatch(r, values.watchKey(Reader{}), func() {})
		r.watches[w.key] = w
		retain := func() int {
			r.Watch("a", Reader{}, []Reference{values}, func() {})
			return len(w.retrySignal)
		}
		if retain() != 0 {
			t.Error("it tries again before it failed")
		}
		w.listFailed(refused)
		if retain(); retain() != 1 {
			t.Error("it does not try again")
		}
	})

	t.Run("a watch that nobody needs any more ends", func(t *testing.T) {
		r := NewReferences(t.Context(), nil, "shops.example.com")
		ended := false
		w := newReferenceWatch(r, values.watchKey(Reader{}), func() { ended = true })
		r.watches[w.key] = w
		r.Watch("a", Reader{}, []Reference{values}, func() {})
		r.Watch("b", Reader{}, []Reference{other}, func() {})
		r.Release("a")
		if ended {
			t.Error("it ended although somebody needs it")
		}
		r.Release("b")
		if !ended {
			t.Error("it goes on")
		}
	})
}

func TestAFailureOfReferencesIsNewsOnce(t *testing.T) {
	unreachable := func(port string) watchFailure {
		return watchFailure{reason: "ListFailed", message: "read tcp 127.0.0.1:" + port + ": connection reset by peer"}
	}
	refused := func(user string) watchFailure {
		return watchFailure{reason: plan.WaitUnwatched, message: user + " cannot watch", definite: true}
	}
	for _, c := range []struct {
		name     string
		failures []watchFailure
		woken    int
	}{
		{"whatever ports a network failure names", []watchFailure{unreachable("1"), unreachable("2"), unreachable("3")}, 1},
		{"and again where it becomes a refusal", []watchFailure{unreachable("1"), refused("a")}, 2},
		{"or that of another user", []watchFailure{refused("a"), refused("a"), refused("b")}, 2},
		{"or where it ends", []watchFailure{refused("a"), unreachable("1"), unreachable("2")}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReferences(t.Context(), nil, reconciler)
			ref := Reference{Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespace: "shop", Name: "db"}
			w := newReferenceWatch(r, ref.watchKey(Reader{}), func() {})
			r.watches[w.key] = w
			woken := 0
			r.Watch("app", Reader{}, []Reference{ref}, func() { woken++ })
			for _, f := range c.failures {
				w.listFailed(f)
			}
			if woken != c.woken {
				t.Errorf("woken %d times, want %d", woken, c.woken)
			}
		})
	}
}
