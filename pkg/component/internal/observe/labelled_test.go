package observe

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// handler is a LabelledHandler that records its calls.
type handler struct {
	listed, updated, deleted, forbidden []string
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

func (m *handler) Forbidden(message string) { m.forbidden = append(m.forbidden, message) }

func TestLabelledEventsReachTheHandler(t *testing.T) {
	secret := func(name string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	refused := watchFailure{reason: plan.WaitUnwatched, message: "forbidden", definite: true}
	for _, c := range []struct {
		name string
		do   func(*labelledStore) error
		want handler
	}{
		{
			name: "a list calls Listed with its namespace and all objects",
			do:   func(m *labelledStore) error { return m.Replace([]any{secret("a"), secret("b")}, "1") },
			want: handler{listed: []string{"shop: a", "shop: b"}},
		},
		{
			name: "a new object calls Updated", do: func(m *labelledStore) error { return m.Add(secret("a")) },
			want: handler{updated: []string{"a"}},
		},
		{
			name: "a changed object calls Updated", do: func(m *labelledStore) error { return m.Update(secret("a")) },
			want: handler{updated: []string{"a"}},
		},
		{
			name: "a deleted object calls Deleted", do: func(m *labelledStore) error { return m.Delete(secret("a")) },
			want: handler{deleted: []string{"a"}},
		},
		{
			name: "a network failure calls no method",
			do: func(m *labelledStore) error {
				m.listFailed(watchFailure{reason: "ListFailed", message: "no answer"})
				return nil
			},
		},
		{
			name: "refusals call Forbidden once",
			do: func(m *labelledStore) error {
				m.listFailed(refused)
				m.listFailed(refused)
				return nil
			},
			want: handler{forbidden: []string{"forbidden"}},
		},
		{
			name: "a refusal after a list calls Forbidden again",
			do: func(m *labelledStore) error {
				m.listFailed(refused)
				err := m.Replace([]any{secret("a")}, "1")
				m.listFailed(refused)
				return err
			},
			want: handler{listed: []string{"shop: a"}, forbidden: []string{"forbidden", "forbidden"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got handler
			must(t, c.do(&labelledStore{handler: &got, namespace: "shop"}))
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("the handler got the calls %+v; want %+v", got, c.want)
			}
		})
	}
}
