package observe

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// marks notes what it is told.
type marks struct {
	seen, gone []string
	refused    string
}

func (m *marks) Updated(objects ...*metav1.PartialObjectMetadata) {
	for _, o := range objects {
		m.seen = append(m.seen, o.Name)
	}
}

func (m *marks) Deleted(o *metav1.PartialObjectMetadata) { m.gone = append(m.gone, o.Name) }

func (m *marks) Forbidden(message string) { m.refused = message }

func TestMarkedObjectsAreToldOf(t *testing.T) {
	secret := func(name string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	fails := func(f watchFailure) func(labelledStore) error {
		return func(m labelledStore) error {
			m.listFailed(f)
			return nil
		}
	}
	for _, c := range []struct {
		name string
		do   func(labelledStore) error
		want marks
		ends bool
	}{
		{name: "all of a list", do: func(m labelledStore) error { return m.Replace([]any{secret("a"), secret("b")}, "1") }, want: marks{seen: []string{"a", "b"}}},
		{name: "one that comes", do: func(m labelledStore) error { return m.Add(secret("a")) }, want: marks{seen: []string{"a"}}},
		{name: "one that changes", do: func(m labelledStore) error { return m.Update(secret("a")) }, want: marks{seen: []string{"a"}}},
		{name: "one that goes", do: func(m labelledStore) error { return m.Delete(secret("a")) }, want: marks{gone: []string{"a"}}},
		{name: "later, where there is no answer", do: fails(watchFailure{reason: "ListFailed", message: "no answer"})},
		{
			name: "never, where that is forbidden", do: fails(watchFailure{reason: plan.WaitUnwatched, message: "forbidden", definite: true}),
			want: marks{refused: "forbidden"}, ends: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told marks
			ended := false
			must(t, c.do(labelledStore{handler: &told, stop: func() { ended = true }}))
			if !reflect.DeepEqual(told, c.want) || ended != c.ends {
				t.Errorf("told %+v, ended %t; want %+v, %t", told, ended, c.want, c.ends)
			}
		})
	}
}
