package externalstate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Record has the recorded states of the externals of one component at one moment. It never changes, and callers must
// not change the states in it.
type Record struct {
	owner     manifests.Owner
	namespace string
	// secrets are sorted by their numbers.
	secrets []*secret
}

// find returns the Secret that has a key, the holding, and the cause why it cannot be used. in is nil if no Secret
// has the key. After a crash during a move, two Secrets have the key, and the first one names the second one. Other
// copies can only come from the restore of an older Secret.
func (r *Record) find(dataKey string) (in *secret, h *holding, cause Cause) {
	copied := false
	for _, s := range r.secrets {
		held, ok := s.held[dataKey]
		if !ok {
			continue
		}
		copied = copied || h != nil && h.movedTo != s.number
		in, h = s, held
	}
	switch {
	case copied:
		return in, h, Older
	case h != nil:
		return in, h, h.cause
	}
	return nil, nil, ""
}

// secret returns the Secret with a number, or nil.
func (r *Record) secret(number int) *secret {
	for _, s := range r.secrets {
		if s.number == number {
			return s
		}
	}
	return nil
}

// keys returns the data keys of all externals.
func (r *Record) keys() []string {
	keys := map[string]bool{}
	for _, s := range r.secrets {
		for key := range s.held {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// States returns the states that can be used.
func (r *Record) States() map[manifests.Key]State {
	states := map[manifests.Key]State{}
	for _, dataKey := range r.keys() {
		if _, h, cause := r.find(dataKey); cause == "" {
			states[h.key] = *h.state
		}
	}
	return states
}

// Damaged returns the keys of states that cannot be used. A key that a Secret lost together with its index is not
// among them. For such a key there is no state, although the inventory has an entry.
func (r *Record) Damaged() map[manifests.Key]Damage {
	damaged := map[manifests.Key]Damage{}
	for _, dataKey := range r.keys() {
		if s, h, cause := r.find(dataKey); cause != "" {
			damaged[h.key] = Damage{r.fullName(s.number), cause, h.state}
		}
	}
	return damaged
}

// DamagedSecrets returns the Secrets that somebody edited or removed, by namespace/name, with a sentence about each.
func (r *Record) DamagedSecrets() map[string]string {
	damaged := map[string]string{}
	next := 0
	for _, s := range r.secrets {
		for ; next < s.number; next++ {
			name := r.fullName(next)
			damaged[name] = fmt.Sprintf("Secret %s with states of externals was removed", name)
		}
		next = s.number + 1
		name := r.fullName(s.number)
		switch {
		case s.cause != "":
			damaged[name] = fmt.Sprintf(
				"the states of externals in Secret %s cannot be used: %s", name, explanations[s.cause])
		case len(s.stray) > 0:
			damaged[name] = fmt.Sprintf("Secret %s has the key %q, which belongs to no external; remove it", name, s.stray[0])
		}
	}
	return damaged
}

// fullName returns namespace and name of a Secret.
func (r *Record) fullName(number int) string {
	return r.namespace + "/" + records.ExternalsName(r.owner.ID(), number)
}

// put returns a record with another version of a Secret.
func (r *Record) put(s *secret) *Record {
	others := slices.DeleteFunc(slices.Clone(r.secrets), func(other *secret) bool { return other.number == s.number })
	put := &Record{owner: r.owner, namespace: r.namespace, secrets: append(others, s)}
	slices.SortFunc(put.secrets, func(a, b *secret) int { return a.number - b.number })
	return put
}
