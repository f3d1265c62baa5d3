package observe

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestInstanceEventsEnqueueTheUsers(t *testing.T) {
	named := func(name string, uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid}}
	}
	refused := watchFailure{reason: "Forbidden", message: "no", definite: true}
	for _, c := range []struct {
		name     string
		do       func(s *instanceWatch) error
		enqueued int
		found    int
		reason   plan.WaitReason
	}{
		{"a new instance enqueues the user", func(s *instanceWatch) error { return s.Add(named("b", "u2")) }, 1, 2, ""},
		{
			"a changed instance enqueues no component",
			func(s *instanceWatch) error { return s.Update(named("a", "u1")) }, 0, 1, "",
		},
		{
			"an instance that is created again is new", func(s *instanceWatch) error { return s.Add(named("a", "u3")) },
			1,
			2, "",
		},
		{
			"a deleted instance enqueues the user", func(s *instanceWatch) error { return s.Delete(named("a", "u1")) }, 1, 0, "",
		},
		{
			"a list with other instances enqueues the user",
			func(s *instanceWatch) error { return s.Replace([]any{named("b", "u2"), named("c", "u3")}, "9") }, 1, 2, "",
		},
		{"a refusal enqueues the user and sets the reason", func(s *instanceWatch) error {
			s.listFailed(refused)
			return nil
		}, 1, 1, "Forbidden"},
		{"a network failure neither enqueues the user nor sets the reason", func(s *instanceWatch) error {
			s.listFailed(watchFailure{reason: "ListFailed"})
			return nil
		}, 0, 1, ""},
		{"a list ends a refusal", func(s *instanceWatch) error {
			s.listFailed(refused)
			must(t, s.Replace(nil, "9"))
			s.watchOpened()
			return nil
		}, 2, 0, ""},
		{"a list without a watch does not end a refusal", func(s *instanceWatch) error {
			s.listFailed(refused)
			must(t, s.Replace(nil, "9"))
			s.listFailed(refused)
			return nil
		}, 1, 0, "Forbidden"},
		{
			"a list without a change enqueues no component",
			func(s *instanceWatch) error { return s.Replace([]any{named("a", "u1")}, "9") }, 0, 1, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newObserver(t)
			s := newInstanceWatch(o, widgets, func() {})
			s.users["us"] = true
			o.instances[instanceWatchKey{gk: widgets}] = s
			enqueued := 0
			o.components["us"] = &component{
				instances: map[schema.GroupKind]bool{widgets: true},
				enqueue:   func() { enqueued++ },
			}
			o.components["bystander"] = &component{
				enqueue: func() { t.Error("a component without the watch was enqueued") },
			}
			s.watchOpened()
			must(t, s.Replace([]any{named("a", "u1")}, "1"))
			enqueued = 0

			must(t, c.do(s))
			found, reason, _ := o.Instances(Reader{}, widgets)
			if enqueued != c.enqueued || len(found) != c.found || reason != c.reason {
				t.Errorf("the component was enqueued %d times, and the watch has the instances %v and the reason %q", enqueued,
					found, reason)
			}
		})
	}
	t.Run("the instances of a type without a watch are unknown", func(t *testing.T) {
		o := newObserver(t)
		if _, reason, _ := o.Instances(Reader{}, widgets); reason != plan.WaitObserving {
			t.Errorf("got %q", reason)
		}
	})
}
