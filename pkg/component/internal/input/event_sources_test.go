package input

import (
	"context"
	"slices"
	"testing"
)

func TestChangesOfEventValuesAreNamedAndSecretOnesAreNotShown(t *testing.T) {
	inputsWith := func(e EventSource, value any) Inputs {
		e.Digest, e.Load = "digest", func(context.Context) (any, error) { return value, nil }
		in := Inputs{Declaration: Declaration{EventSources: []EventSource{e}}}
		if _, err := in.LoadEventSources(t.Context()); err != nil {
			t.Fatal(err)
		}
		return in
	}
	for _, c := range []struct {
		name          string
		event         EventSource
		before, after any
		want          []string
	}{
		{
			name: "a field", event: EventSource{Name: "rates"},
			before: map[string]any{"eur": int64(1)}, after: map[string]any{"eur": int64(2)},
			want: []string{"input rates: eur: 1 → 2"},
		},
		{
			name: "a single value", event: EventSource{Name: "version"}, before: "1.2", after: "1.3",
			want: []string{"input version: 1.2 → 1.3"},
		},
		{
			name: "a single value whose source has the name of a secret", event: EventSource{Name: "access-token"},
			before: "old", after: "new", want: []string{"input access-token: changed"},
		},
		{
			name: "fields of a secret value", event: EventSource{Name: "login", Secret: true},
			before: map[string]any{"value": "old", "dropped": "old"}, after: map[string]any{"value": "new", "more": "new"},
			want: []string{"input login: dropped: removed", "input login: more: added", "input login: value: changed"},
		},
		{
			name: "a single secret value", event: EventSource{Name: "login", Secret: true}, before: "old", after: "new",
			want: []string{"input login: changed"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := inputsWith(c.event, c.before).Values().ChangesTo(inputsWith(c.event, c.after).Values())
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
