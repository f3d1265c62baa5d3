package rendering

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// putOwn stores the ConfigMap own as a dependent of the component.
func (s *scene) putOwn(value string) {
	s.Put("v1", "ConfigMap", "shop", "own", map[string]any{
		"data": map[string]any{"value": value},
		"metadata": map[string]any{
			"labels":      map[string]any{reconciler + "/" + manifests.LabelOwnerID: owner.ID()},
			"annotations": map[string]any{reconciler + "/" + manifests.AnnotationOwnerID: owner.String()},
		},
	})
}

// checksum sets a generator that generates a value unless the ConfigMap own exists, and that renders a checksum of
// another generated value, or of the existing one, into the ConfigMap a. others renders further objects for the value of
// the object that put stores.
func (s *scene) checksum(others func(value string, ownExists bool) ([]client.Object, error)) {
	n := 0
	s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		random := func() string { n++; return fmt.Sprintf("random-%d", n) }
		value, sum := random(), "sum of "+random()
		own, err := req.Target.Get(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "shop", "own")
		if err == nil {
			data, _ := own.Object["data"].(map[string]any)
			value = fmt.Sprint(data["value"])
			sum = "sum of " + value
		}
		other, err2 := lookUp(ctx, req.Target)
		if err := errors.Join(client.IgnoreNotFound(err), client.IgnoreNotFound(err2)); err != nil {
			return nil, err
		}
		more, err3 := others(other, err == nil)
		return append([]client.Object{settings("own", value), settings("a", sum)}, more...), err3
	}
}

func TestValuesThatAreTakenFromDependentsStayAsRecorded(t *testing.T) {
	for _, test := range []struct {
		name   string
		others func(value string, ownExists bool) ([]client.Object, error)
		// value is the value of the ConfigMap a after the looked-up object changed.
		value  string
		same   bool
		number int
	}{
		{"the change changes no object", func(string, bool) ([]client.Object, error) { return nil, nil }, "sum of random-2", true, 2},
		{"the change adds an object", func(value string, _ bool) ([]client.Object, error) {
			if value == "" {
				return nil, nil
			}
			return []client.Object{settings("b", value)}, nil
		}, "sum of random-2", false, 3},
		{"the change removes an object", func(value string, _ bool) ([]client.Object, error) {
			if value != "" {
				return nil, nil
			}
			return []client.Object{settings("b", "")}, nil
		}, "sum of random-2", false, 2},
		{"the change changes an object, of which the value may be a checksum", func(value string, _ bool) ([]client.Object, error) {
			return []client.Object{settings("b", value)}, nil
		}, "sum of random-1", false, 3},
		{"the inputs cannot be rendered without the dependents", func(value string, ownExists bool) ([]client.Object, error) {
			if value != "" && !ownExists {
				return nil, errors.New("no own")
			}
			return nil, nil
		}, "sum of random-1", false, 2},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted: %t", test.name, restarted), func(t *testing.T) {
				s := newScene(t)
				woken := make(chan struct{}, 100)
				s.options.Wake = func(types.NamespacedName) { woken <- struct{}{} }
				s.restart()
				s.checksum(test.others)
				if value, _ := s.apply(); value != "sum of random-2" {
					t.Fatalf("the first rendering has the value %q", value)
				}
				first := s.component.status.RenderedSet
				s.putOwn("random-1")
				s.put("1")
				s.clock.SetTime(s.clock.Now().Add(time.Minute))
				if restarted {
					s.restart()
				} else {
					<-woken
				}
				value, calls := s.apply()
				if now := s.component.status.RenderedSet; value != test.value || (now == first) != test.same {
					t.Errorf("after %d calls of the generator, the value is %q and the record %q, want %q; before %q", calls, value, now, test.value, first)
				}
				if len(s.request.Inventory) != test.number {
					t.Errorf("the set has %d objects, want %d", len(s.request.Inventory), test.number)
				}
			})
		}
	}
}
