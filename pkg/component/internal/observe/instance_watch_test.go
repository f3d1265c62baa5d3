package observe

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestInstances(t *testing.T) {
	named := func(name string, uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid}}
	}
	refused := watchFailure{reason: "Forbidden", message: "no", definite: true}
	for _, c := range []struct {
		name   string
		do     func(s *instanceWatch) error
		woken  int
		found  int
		reason plan.WaitReason
	}{
		{"an instance that comes wakes", func(s *instanceWatch) error { return s.Add(named("b", "u2")) }, 1, 2, ""},
		{"a change of an instance does not", func(s *instanceWatch) error { return s.Update(named("a", "u1")) }, 0, 1, ""},
		{"an instance that is created again is another one", func(s *instanceWatch) error { return s.Add(named("a", "u3")) }, 1, 2, ""},
		{"an instance that goes wakes", func(s *instanceWatch) error { return s.Delete(named("a", "u1")) }, 1, 0, ""},
		{"a list wakes", func(s *instanceWatch) error { return s.Replace([]any{named("b", "u2"), named("c", "u3")}, "9") }, 1, 2, ""},
		{"a refusal wakes, and says why", func(s *instanceWatch) error {
			s.listFailed(refused)
			return nil
		}, 1, 1, "Forbidden"},
		{"a lack of answers does neither", func(s *instanceWatch) error {
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
		{"a list that tells nothing new wakes nobody", func(s *instanceWatch) error { return s.Replace([]any{named("a", "u1")}, "9") }, 0, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newObserver(t)
			s := o.newInstanceWatch(widgets, func() {})
			s.users["us"] = true
			o.instances[instanceWatchKey{gk: widgets}] = s
			woken := 0
			o.components["us"] = &component{instances: map[schema.GroupKind]bool{widgets: true}, enqueue: func() { woken++ }}
			o.components["bystander"] = &component{enqueue: func() { t.Error("a bystander was woken") }}
			s.watchOpened()
			must(t, s.Replace([]any{named("a", "u1")}, "1"))
			woken = 0

			must(t, c.do(s))
			found, reason, _ := o.Instances(Reader{}, widgets)
			if woken != c.woken || len(found) != c.found || reason != c.reason {
				t.Errorf("woken %d times, found %v, reason %q", woken, found, reason)
			}
		})
	}
	t.Run("nothing is known of a type that is not retained", func(t *testing.T) {
		o := newObserver(t)
		if _, reason, _ := o.Instances(Reader{}, widgets); reason != plan.WaitObserving {
			t.Errorf("got %q", reason)
		}
	})
}
