package externalstate

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Record contains the recorded states of the externals of one component at one moment. It never changes, and callers
// must not change the states in it.
type Record struct {
	owner     manifests.Owner
	namespace string
	// secrets are sorted by their numbers.
	secrets []*secret
}

// find returns the Secret that has a key, the holding, and the cause why it cannot be used. in is nil if no Secret
// has the key. After a crash during a move, two Secrets contain the key, and the first one names the second one. Other
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

func (r *Record) secret(number int) *secret {
	for _, s := range r.secrets {
		if s.number == number {
			return s
		}
	}
	return nil
}

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
// among them. For such a key there is no state, although the inventory contains an entry.
func (r *Record) Damaged() map[manifests.Key]Damage {
	damaged := map[manifests.Key]Damage{}
	for _, dataKey := range r.keys() {
		if s, h, cause := r.find(dataKey); cause != "" {
			damaged[h.key] = Damage{r.fullName(s.number), cause}
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

const (
	// maxSecret is the maximum size of the JSON of a Secret. metadataBytes is the part of it that is reserved for
	// metadata. The managed fields, which grow with each value, are not in this part.
	maxSecret     = 512 << 10
	metadataBytes = 12 << 10
	// maxKeys is the maximum number of keys in a Secret. Fewer of the smallest states fill a Secret.
	maxKeys = 2000
	// maxSecrets is the maximum number of the Secrets of a component. No Secret with a higher number is written or read.
	maxSecrets = 128
)

// secret is a Secret with states. It never changes.
type secret struct {
	number int
	// uid and version are empty if the Secret does not exist.
	uid, version string
	finalizers   []string
	isDeleted    bool
	// writes is the number of the writes of the Secret.
	writes int64
	// cause is the reason why the index, and so all values, cannot be used.
	cause Cause
	held  map[string]*holding
	// stray is the size of the data that belong to no external.
	stray int
}

// holding is the content of a Secret at one data key.
type holding struct {
	key    manifests.Key
	size   int
	digest string
	// movedTo is the number of the Secret to which the state moves; zero if it stays.
	movedTo int
	// state is the decoded value. It may be used only if cause is empty.
	state *State
	cause Cause
}

// costOf returns an estimate of the bytes that a value takes in the JSON of a Secret: the value and its digest in the
// index, both in base64, and the key in the data, in the managed fields and in the index.
func costOf(dataKey string, size int) int {
	return base64.StdEncoding.EncodedLen(size) + 2*len(dataKey) + 20 + base64.StdEncoding.EncodedLen(len(dataKey)+40)
}

// bytes returns an estimate of the size of the JSON of a Secret.
func (s *secret) bytes() int {
	sum := metadataBytes + s.stray
	for dataKey, h := range s.held {
		sum += costOf(dataKey, h.size)
	}
	return sum
}

// left returns the number of the externals that are neither deleted nor released, or whose state is damaged.
func (s *secret) left() int {
	left := 0
	for _, h := range s.held {
		if h.cause != "" || !h.state.Gone {
			left++
		}
	}
	return left
}

// notBefore compares a Secret with a previous version of it. If it has fewer writes than that version, the states that
// differ from it are damaged. If its index cannot be used, or it has fewer writes, the states that it lost are
// damaged.
func (s *secret) notBefore(previous *secret) *secret {
	if s.cause == "" && s.writes >= previous.writes {
		return s
	}
	lost := Removed
	if s.cause == "" {
		lost = Older
		for dataKey, h := range s.held {
			known, ok := previous.held[dataKey]
			switch {
			case h.cause != "":
			case !ok || known.digest != h.digest || known.movedTo != h.movedTo:
				h.cause = Older
			default:
				h.cause = known.cause
			}
		}
	}
	for dataKey, known := range previous.held {
		if _, ok := s.held[dataKey]; !ok {
			s.held[dataKey] = &holding{key: known.key, cause: lost}
		}
	}
	s.writes = max(s.writes, previous.writes)
	return s
}

// removed returns the Secret after somebody deleted it.
func (s *secret) removed() *secret {
	now := &secret{number: s.number, writes: s.writes, cause: Removed, held: map[string]*holding{}}
	for dataKey, h := range s.held {
		now.held[dataKey] = &holding{key: h.key, cause: Removed}
	}
	return now
}

// Cause is the reason why a recorded state cannot be used.
type Cause string

// The causes.
const (
	// Edited means that the value or the index has another digest than the recorded one.
	Edited Cause = "Edited"
	// Swapped means that the content belongs to another component, another external or another Secret.
	Swapped Cause = "Swapped"
	// Removed means that the index contains the key, but the Secret contains no value; or that the Secret was deleted.
	Removed Cause = "Removed"
	// Older means that an older version of the Secret was restored since this process loaded or wrote it.
	Older Cause = "Older"
	// Unreadable means that the content cannot be decoded.
	Unreadable Cause = "Unreadable"
	// TooLarge means that the content exceeds a limit, and was not decoded.
	TooLarge Cause = "TooLarge"
	// Newer means that a newer version of the operator wrote the content. Write does not replace it.
	Newer Cause = "Newer"
)

var explanations = map[Cause]string{
	Edited:     "it was edited",
	Swapped:    "it was copied from another Secret or another external",
	Removed:    "it was removed",
	Older:      "an older version of the Secret was restored",
	Unreadable: "it is damaged",
	TooLarge:   "it exceeds a limit",
	Newer:      "a newer version of the operator wrote it; use that version again",
}

// Damage says why the recorded state of an external cannot be used.
type Damage struct {
	// Secret is the Secret with the state: namespace/name.
	Secret string
	Cause  Cause
}

// String returns a sentence about the damage.
func (d Damage) String() string {
	return fmt.Sprintf("the state in Secret %s cannot be used: %s", d.Secret, explanations[d.Cause])
}
