package externalstate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// secretOf returns a Secret with values of the given sizes in KiB, by the names of their externals.
func secretOf(number int, sizes map[string]int, changes ...func(*secret)) *secret {
	s := &secret{number: number, held: map[string]*holding{}}
	for name, size := range sizes {
		s.held[dataKeyOf(key(name))] = &holding{key: key(name), size: size << 10, state: created(1)}
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func TestPlacement(t *testing.T) {
	const most = 180 // KiB of a value: two of them fill a Secret
	full := map[string]int{"a": most, "b": most}
	for name, tc := range map[string]struct {
		secrets []*secret
		// sizes are the sizes of the values to write, in KiB; 0 removes one.
		sizes map[string]int
		// want are the edits, such as "0 set a".
		want []string
		err  string
	}{
		"the first state": {sizes: map[string]int{"a": 1}, want: []string{"0 set a"}},
		"a state stays in its Secret": {
			secrets: []*secret{secretOf(0, nil), secretOf(1, map[string]int{"a": 1})}, sizes: map[string]int{"a": 2},
			want: []string{"1 set a"},
		},
		"a new state goes where room": {
			secrets: []*secret{secretOf(0, full), secretOf(1, map[string]int{"c": 1})}, sizes: map[string]int{"d": 100},
			want: []string{"1 set d"},
		},
		"a new state needs a Secret": {
			secrets: []*secret{secretOf(0, full)}, sizes: map[string]int{"d": most}, want: []string{"1 set d"},
		},
		"a state outgrows its Secret": {
			secrets: []*secret{secretOf(0, map[string]int{"a": most, "b": 100})}, sizes: map[string]int{"b": 250},
			want: []string{"0 move b to 1", "1 set b"},
		},
		"others make room": {
			secrets: []*secret{secretOf(0, map[string]int{"a": most, "b": 100})}, sizes: map[string]int{"b": 250, "a": 1},
			want: []string{"0 set a", "0 set b"},
		},
		"a removed one makes room": {
			secrets: []*secret{secretOf(0, full)}, sizes: map[string]int{"a": 0, "b": 250},
			want: []string{"0 drop a", "0 set b"},
		},
		"all copies are removed": {
			secrets: []*secret{secretOf(0, map[string]int{"a": 1}), secretOf(1, map[string]int{"a": 1})},
			sizes:   map[string]int{"a": 0}, want: []string{"0 drop a", "1 drop a"},
		},
		"an unknown state is removed": {sizes: map[string]int{"a": 0}},
		"a damaged Secret gets nothing": {
			secrets: []*secret{secretOf(0, nil, func(s *secret) { s.cause = Edited })}, sizes: map[string]int{"a": 1},
			want: []string{"1 set a"},
		},
		"a Secret that is deleted": {
			secrets: []*secret{secretOf(0, nil, func(s *secret) { s.isDeleted = true })}, sizes: map[string]int{"a": 1},
			want: []string{"1 set a"},
		},
		"too many Secrets": {
			secrets: slices.Collect(func(yield func(*secret) bool) {
				for number := range maxSecrets {
					yield(secretOf(number, full))
				}
			}),
			sizes: map[string]int{"c": most}, err: "need more than 128 Secrets",
		},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]encoded{}
			for name, size := range tc.sizes {
				v := encoded{key: key(name)}
				if size > 0 {
					v.data = make([]byte, size<<10)
				}
				values[dataKeyOf(key(name))] = v
			}
			planned, err := place(&Record{owner: owner("app"), secrets: tc.secrets}, values)
			if !strings.Contains(errors.Join(err, errors.New("")).Error(), tc.err) || (err != nil) != (tc.err != "") {
				t.Fatal(err)
			}
			if got := told(planned); !slices.Equal(got, tc.want) {
				t.Errorf("edits %q, want %q", got, tc.want)
			}
		})
	}
}

// told returns edits as sorted texts.
func told(planned edits) []string {
	var texts []string
	for number, e := range planned {
		prefix := string(rune('0' + number))
		for dataKey := range e.set {
			texts = append(texts, prefix+" set "+strings.TrimPrefix(dataKey, "Schema."))
		}
		for dataKey := range e.drop {
			texts = append(texts, prefix+" drop "+strings.TrimPrefix(dataKey, "Schema."))
		}
		for dataKey, to := range e.move {
			texts = append(texts, prefix+" move "+strings.TrimPrefix(dataKey, "Schema.")+" to "+string(rune('0'+to)))
		}
	}
	slices.Sort(texts)
	return texts
}

// Content of a newer version is never replaced, and a Secret whose index it wrote gets no write at all.
func TestWritesOverANewerVersionAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*secret)
		written string
		refused bool
	}{
		"a value of this version":            {func(*secret) {}, "a", false},
		"a value of a newer version":         {func(s *secret) { s.held["Schema.a"].cause = Newer }, "a", true},
		"beside a value of a newer version":  {func(s *secret) { s.held["Schema.a"].cause = Newer }, "b", false},
		"a Secret of a newer version":        {func(s *secret) { s.cause = Newer }, "b", true},
		"a Secret that is damaged otherwise": {func(s *secret) { s.cause = Edited }, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Record{owner: owner("app"), secrets: []*secret{secretOf(0, map[string]int{"a": 1}, tc.change)}}
			err := r.checkVersion(map[string]encoded{dataKeyOf(key(tc.written)): {key: manifests.Key{}}})
			if (err != nil) != tc.refused {
				t.Error(err)
			}
		})
	}
}
