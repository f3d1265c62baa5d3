package observe

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// Objects of a type that cannot be watched are read one by one. A type that supports only create, such as
// SubjectAccessReview, has no objects that can be read.
func TestTypesWithoutListOrWatch(t *testing.T) {
	const unwatched = "the API server supports no list and watch of the type"
	for _, c := range []struct {
		name    string
		verbs   []string
		err     error
		refused watchFailure
		want    plan.WaitReason
		listed  []Unwatched
	}{
		{
			"is read if the type supports get",
			[]string{"create", "get"},
			nil,
			watchFailure{reason: plan.WaitNotListable, definite: true},
			plan.WaitUnwatched,
			[]Unwatched{{configMaps, unwatched}},
		},
		{
			"cannot be a dependent if the type supports only create",
			[]string{"create"},
			nil,
			watchFailure{reason: plan.WaitNotListable, definite: true},
			plan.WaitNotListable, nil,
		},
		{
			"is not read if discovery does not answer", nil, errors.New("no answer"),
			watchFailure{reason: plan.WaitNotListable, definite: true},
			plan.WaitNotListable, nil,
		},
		{
			"is read if the right to watch is missing", nil, nil,
			watchFailure{reason: plan.WaitUnwatched, message: "no", definite: true},
			plan.WaitUnwatched,
			[]Unwatched{{configMaps, "no"}},
		},
		{
			"is not read if the API server refuses the credentials",
			[]string{"get"},
			nil,
			watchFailure{reason: plan.WaitUnauthorized, definite: true},
			plan.WaitUnauthorized, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newWatchFixture(t)
			mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}})
			mapper.Add(configMaps.WithVersion("v1"), meta.RESTScopeNamespace)
			s.observer.listWatches.mapper = mapper
			s.observer.listWatches.verbs = func(schema.GroupVersionResource) ([]string, error) { return c.verbs, c.err }
			s.listFailed(c.refused)
			if got := s.observer.Live(Reader{}, settings); got.Presence != plan.Unknown || got.Reason != c.want {
				t.Errorf("the object of a type without list or watch has the state %+v", got)
			}
			if diff := cmp.Diff(c.listed, s.observer.Unwatched("us")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
