package observe

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestInstances(t *testing.T) {
	widgets := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	named := func(name string, uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid}}
	}
	refused := listFailure{reason: "Forbidden", message: "no", definite: true}
	for _, c := range []struct {
		name   string
		do     func(s *instances) error
		woken  int
		found  int
		reason plan.WaitReason
	}{
		{"an instance that comes wakes", func(s *instances) error { return s.Add(named("b", "u2")) }, 1, 2, ""},
		{"a change of an instance does not", func(s *instances) error { return s.Update(named("a", "u1")) }, 0, 1, ""},
		{"an instance that is created again is another one", func(s *instances) error { return s.Add(named("a", "u3")) }, 1, 2, ""},
		{"an instance that goes wakes", func(s *instances) error { return s.Delete(named("a", "u1")) }, 1, 0, ""},
		{"a list wakes", func(s *instances) error { return s.Replace([]any{named("b", "u2"), named("c", "u3")}, "9") }, 1, 2, ""},
		{"a refusal wakes, and says why", func(s *instances) error {
			s.failed(refused)
			return nil
		}, 1, 1, "Forbidden"},
		{"a lack of answers does neither", func(s *instances) error {
			s.failed(listFailure{reason: "ListFailed"})
			return nil
		}, 0, 1, ""},
		{"a list ends a refusal", func(s *instances) error {
			s.failed(refused)
			must(t, s.Replace(nil, "9"))
			s.watched()
			return nil
		}, 2, 0, ""},
		{"a list without a watch does not end a refusal", func(s *instances) error {
			s.failed(refused)
			must(t, s.Replace(nil, "9"))
			s.failed(refused)
			return nil
		}, 1, 0, "Forbidden"},
		{"a list that tells nothing new wakes nobody", func(s *instances) error { return s.Replace([]any{named("a", "u1")}, "9") }, 0, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newObserver(t)
			s := &instances{observer: o, gk: widgets, users: map[string]bool{"us": true}, objects: map[types.UID]manifests.Key{}, cancel: func() {}, kick: make(chan struct{}, 1)}
			o.types[typeSight{gk: widgets}] = s
			woken := 0
			o.owners["us"] = &owner{types: map[schema.GroupKind]bool{widgets: true}, wake: func() { woken++ }}
			o.owners["bystander"] = &owner{wake: func() { t.Error("a bystander was woken") }}
			s.watched()
			must(t, s.Replace([]any{named("a", "u1")}, "1"))
			woken = 0

			must(t, c.do(s))
			found, reason, _ := o.Instances(Viewer{}, widgets)
			if woken != c.woken || len(found) != c.found || reason != c.reason {
				t.Errorf("woken %d times, found %v, reason %q", woken, found, reason)
			}
		})
	}
	t.Run("nothing is known of a type that is not retained", func(t *testing.T) {
		o := newObserver(t)
		if _, reason, _ := o.Instances(Viewer{}, widgets); reason != plan.WaitObserving {
			t.Errorf("got %q", reason)
		}
	})
}
