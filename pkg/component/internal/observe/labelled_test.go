package observe

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// handler is a LabelledHandler that records its calls.
type handler struct {
	listed, updated, deleted []string
	forbidden                string
}

func (m *handler) Listed(namespace string, objects ...*metav1.PartialObjectMetadata) {
	for _, o := range objects {
		m.listed = append(m.listed, namespace+": "+o.Name)
	}
}

func (m *handler) Updated(objects ...*metav1.PartialObjectMetadata) {
	for _, o := range objects {
		m.updated = append(m.updated, o.Name)
	}
}

func (m *handler) Deleted(o *metav1.PartialObjectMetadata) { m.deleted = append(m.deleted, o.Name) }

func (m *handler) Forbidden(message string) { m.forbidden = message }

func TestLabelledEventsReachTheHandler(t *testing.T) {
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
		want handler
		ends bool
	}{
		{
			name: "a list calls Listed with its namespace and all objects",
			do:   func(m labelledStore) error { return m.Replace([]any{secret("a"), secret("b")}, "1") },
			want: handler{listed: []string{"shop: a", "shop: b"}},
		},
		{
			name: "a new object calls Updated", do: func(m labelledStore) error { return m.Add(secret("a")) },
			want: handler{updated: []string{"a"}},
		},
		{
			name: "a changed object calls Updated", do: func(m labelledStore) error { return m.Update(secret("a")) },
			want: handler{updated: []string{"a"}},
		},
		{
			name: "a deleted object calls Deleted", do: func(m labelledStore) error { return m.Delete(secret("a")) },
			want: handler{deleted: []string{"a"}},
		},
		{name: "a network failure calls no method", do: fails(watchFailure{reason: "ListFailed", message: "no answer"})},
		{
			name: "a refusal calls Forbidden and stops the watch",
			do:   fails(watchFailure{reason: plan.WaitUnwatched, message: "forbidden", definite: true}),
			want: handler{forbidden: "forbidden"}, ends: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got handler
			ended := false
			must(t, c.do(labelledStore{handler: &got, namespace: "shop", stop: func() { ended = true }}))
			if !reflect.DeepEqual(got, c.want) || ended != c.ends {
				t.Errorf("the handler got the calls %+v, ended %t; want %+v, %t", got, ended, c.want, c.ends)
			}
		})
	}
}
