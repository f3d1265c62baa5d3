package externalstate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// encoded is a state that is to be written.
type encoded struct {
	key  manifests.Key
	data []byte
}

// encodeAll returns the values of all states that are not nil, by data key. It returns the errors of all states.
func encodeAll(owner manifests.Owner, changes map[manifests.Key]*State) (map[string]encoded, error) {
	values, errs := map[string]encoded{}, []error(nil)
	for _, key := range slices.SortedFunc(maps.Keys(changes), manifests.Key.Compare) {
		if changes[key] == nil {
			values[dataKeyOf(key)] = encoded{key: key}
			continue
		}
		data, err := encode(owner, key, changes[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
		values[dataKeyOf(key)] = encoded{key, data}
	}
	return values, errors.Join(errs...)
}

// edit is a change of one Secret.
type edit struct {
	// set are the values that are written, by data key, and drop are the data keys that are removed.
	set  map[string]encoded
	drop map[string]bool
	// move are the values whose new version is written to the Secret with another number.
	move map[string]int
}

type edits map[int]*edit

func (e edits) of(number int) *edit {
	if e[number] == nil {
		e[number] = &edit{set: map[string]encoded{}, drop: map[string]bool{}, move: map[string]int{}}
	}
	return e[number]
}

// placement assigns values to Secrets.
type placement struct {
	record *Record
	edits  edits
	// bytes are the sizes of the Secrets after the edits.
	bytes map[int]int
}

// place assigns values to Secrets. A value without data is removed. A known key stays in its Secret if there is room, a
// new key goes to the first Secret with room. Values that need no more room than before come first, because they make
// room. place returns an error if there is no Secret with room.
func place(r *Record, values map[string]encoded) (edits, error) {
	p := placement{r, edits{}, map[int]int{}}
	for _, s := range r.secrets {
		p.bytes[s.number] = s.bytes()
	}
	dataKeys := slices.Sorted(maps.Keys(values))
	grows := func(dataKey string) bool {
		_, h, _ := r.find(dataKey)
		return len(values[dataKey].data) > 0 && (h == nil || len(values[dataKey].data) > h.size)
	}
	for _, growing := range []bool{false, true} {
		for _, dataKey := range dataKeys {
			if grows(dataKey) != growing {
				continue
			}
			if err := p.add(dataKey, values[dataKey]); err != nil {
				return nil, err
			}
		}
	}
	return p.edits, nil
}

func (p placement) add(dataKey string, v encoded) error {
	in, h, _ := p.record.find(dataKey)
	for _, s := range p.record.secrets {
		if copied, holds := s.held[dataKey]; holds && (v.data == nil || s != in) {
			p.edits.of(s.number).drop[dataKey] = true
			p.bytes[s.number] -= costOf(dataKey, copied.size)
		}
	}
	cost := costOf(dataKey, len(v.data))
	switch {
	case v.data == nil:
		return nil
	case in == nil:
		return p.set(p.roomAfter(-1, cost), dataKey, v, cost)
	}
	previous := costOf(dataKey, h.size)
	if p.bytes[in.number]+cost-previous <= maxSecret {
		return p.set(in.number, dataKey, v, cost-previous)
	}
	to := p.roomAfter(in.number, cost)
	p.edits.of(in.number).move[dataKey] = to
	return p.set(to, dataKey, v, cost)
}

func (p placement) set(number int, dataKey string, v encoded, bytes int) error {
	if number >= maxSecrets {
		return fmt.Errorf("the states of the externals of the component need more than %d Secrets; "+
			"split the component into several components", maxSecrets)
	}
	if _, exists := p.bytes[number]; !exists {
		p.bytes[number] = metadataBytes
	}
	p.bytes[number] += bytes
	p.edits.of(number).set[dataKey] = v
	return nil
}

// roomAfter returns the first number above a number of a Secret with room, or of a new Secret. A Secret that is damaged
// or is being deleted gets no new values.
func (p placement) roomAfter(number, cost int) int {
	for number++; ; number++ {
		s := p.record.secret(number)
		if s != nil && (s.cause != "" || s.isDeleted) {
			continue
		}
		if bytes, exists := p.bytes[number]; !exists || bytes+cost <= maxSecret {
			return number
		}
	}
}

// with returns the Secret after an edit, except for the version that the API server assigns.
func (s *secret) with(owner manifests.Owner, e *edit) *secret {
	next := *s
	next.writes, next.cause, next.held = s.writes+1, "", maps.Clone(s.held)
	for dataKey := range e.drop {
		delete(next.held, dataKey)
	}
	for dataKey, to := range e.move {
		moved := *next.held[dataKey]
		moved.movedTo = to
		next.held[dataKey] = &moved
	}
	for dataKey, v := range e.set {
		state, cause := decode(owner, v.key, v.data)
		next.held[dataKey] = &holding{key: v.key, size: len(v.data), digest: digestOf(v.data), state: state, cause: cause}
	}
	return &next
}

// checkVersion returns an error if a newer version of the operator wrote a Secret, or a value that is to be replaced.
func (r *Record) checkVersion(values map[string]encoded) error {
	for _, s := range r.secrets {
		newer := s.cause == Newer
		for dataKey := range values {
			h, ok := s.held[dataKey]
			newer = newer || ok && h.cause == Newer
		}
		if newer {
			return fmt.Errorf("a newer version of the operator wrote Secret %s; use that version again", r.fullName(s.number))
		}
	}
	return nil
}
