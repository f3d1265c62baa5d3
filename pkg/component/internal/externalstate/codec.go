package externalstate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// format is the version of the format of values and indexes. A reader must not act on content with a higher version. A
// field that a reader may ignore needs no new version.
const format = 1

// value is the JSON form of a state. Owner and Key are the owner and the key of the external, so that a value at a
// wrong place is recognised.
type value struct {
	Format int    `json:"format"`
	Owner  string `json:"owner"`
	Key    string `json:"key"`
	State
}

// index is the JSON form of the index. The keys of the maps are data keys.
type index struct {
	Format int    `json:"format"`
	Owner  string `json:"owner"`
	// Secret is the name of the Secret.
	Secret string `json:"secret"`
	Writes int64  `json:"writes"`
	// Digests are the digests of the values. The digest is empty for a value that was removed by others.
	Digests map[string]string `json:"digests,omitempty"`
	// Moved are the numbers of the Secrets to which values move.
	Moved map[string]int `json:"moved,omitempty"`
	// Doubts are the causes of values that could not be used when the index was written.
	Doubts map[string]Cause `json:"doubts,omitempty"`
	// Keys are the keys of externals whose data key is abbreviated.
	Keys map[string]string `json:"keys,omitempty"`
}

// digestOf returns the digest of a value: 32 hexadecimal digits.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func encode(owner manifests.Owner, key manifests.Key, s *State) ([]byte, error) {
	if err := errors.Join(checkKey(key), s.check()); err != nil {
		return nil, err
	}
	v := value{Format: format, Owner: owner.String(), Key: key.String(), State: *s}
	v.Since, v.Began = s.Since.UTC(), s.Began.UTC()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	// The default escapes characters of HTML, and a manifest of them would have six times its size.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	data := bytes.TrimSpace(text.Bytes())
	// A state that cannot be read must not be written.
	if _, cause := decode(owner, key, data); cause != "" {
		return nil, fmt.Errorf("the state with manifest, references and id has %d bytes, and more than %d bytes, or "+
			"maps and lists that nest deeply, cannot be stored; make the manifest smaller", len(data), maxValue)
	}
	return data, nil
}

// decode returns the state in a value that is stored for an owner and a key, or the cause why it cannot be used.
func decode(owner manifests.Owner, key manifests.Key, data []byte) (*State, Cause) {
	if len(data) > maxValue {
		return nil, TooLarge
	}
	var v value
	if cause := unmarshal(data, &v); cause != "" {
		return nil, cause
	}
	switch {
	case v.check() != nil:
		return nil, Unreadable
	case v.Owner != owner.String() || v.Key != key.String():
		return nil, Swapped
	}
	return &v.State, ""
}

// unmarshal decodes a value or an index. If it cannot be decoded, unmarshal returns the cause.
func unmarshal(data []byte, into any) Cause {
	if _, err := bounded.JSON(data, bounded.Limits{}); err != nil {
		return TooLarge
	}
	var versioned struct {
		Format int `json:"format"`
	}
	switch err := json.Unmarshal(data, &versioned); {
	case err != nil, versioned.Format < format:
		return Unreadable
	case versioned.Format > format:
		return Newer
	case json.Unmarshal(data, into) != nil:
		return Unreadable
	}
	return ""
}

// index returns the index of a Secret as JSON.
func (s *secret) index(owner manifests.Owner) ([]byte, error) {
	i := index{
		Format: format, Owner: owner.String(), Secret: records.ExternalsName(owner.ID(), s.number), Writes: s.writes,
		Digests: map[string]string{}, Moved: map[string]int{}, Doubts: map[string]Cause{}, Keys: map[string]string{},
	}
	for dataKey, h := range s.held {
		i.Digests[dataKey] = h.digest
		if h.movedTo != 0 {
			i.Moved[dataKey] = h.movedTo
		}
		// A newer version recognises its own value.
		if h.cause != "" && h.cause != Newer {
			i.Doubts[dataKey] = h.cause
		}
		if _, ok := parseDataKey(dataKey); !ok {
			i.Keys[dataKey] = h.key.String()
		}
	}
	return json.Marshal(i)
}

// readIndex returns the index in the data of a Secret. If it cannot be used, readIndex returns the cause and an
// index without digests.
func readIndex(owner manifests.Owner, secretName string, data map[string][]byte, isIntact bool) (index, Cause) {
	text, exists := data[records.IndexKey]
	if !exists {
		return index{}, Edited
	}
	var i index
	cause := unmarshal(text, &i)
	switch {
	case cause != "":
	case i.Owner != owner.String() || i.Secret != secretName:
		cause = Swapped
	case !isIntact || i.Writes < 0:
		cause = Edited
	default:
		return i, ""
	}
	return index{}, cause
}

func (s *secret) readData(owner manifests.Owner, data map[string][]byte, isIntact bool) {
	i, cause := readIndex(owner, records.ExternalsName(owner.ID(), s.number), data, isIntact)
	s.writes, s.cause, s.held = i.Writes, cause, map[string]*holding{}
	for _, dataKey := range slices.Sorted(maps.Keys(data)) {
		if dataKey == records.IndexKey {
			continue
		}
		if key, ok := i.keyOf(dataKey, data[dataKey]); ok {
			s.held[dataKey] = i.hold(owner, key, dataKey, data[dataKey], cause)
			continue
		}
		s.stray += costOf(dataKey, len(data[dataKey]))
	}
	for dataKey := range i.Digests {
		if _, ok := data[dataKey]; ok {
			continue
		}
		if key, ok := i.keyOf(dataKey, nil); ok {
			s.held[dataKey] = &holding{key: key, cause: cmp.Or(i.Doubts[dataKey], Removed)}
		}
	}
}

// keyOf returns the key of the external with a data key. The key of an abbreviated data key is in the index and in the
// value.
func (i index) keyOf(dataKey string, data []byte) (manifests.Key, bool) {
	if key, ok := parseDataKey(dataKey); ok {
		return key, true
	}
	text, ok := i.Keys[dataKey]
	if !ok && len(data) <= maxValue {
		var v struct {
			Key string `json:"key"`
		}
		if err := json.Unmarshal(data, &v); err == nil {
			text = v.Key
		}
	}
	key, ok := manifests.ParseKey(text)
	return key, ok && checkKey(key) == nil && dataKeyOf(key) == dataKey
}

// hold returns the holding for a value. cause is the cause of the whole Secret.
func (i index) hold(owner manifests.Owner, key manifests.Key, dataKey string, data []byte, cause Cause) *holding {
	h := &holding{key: key, size: len(data), digest: digestOf(data), movedTo: i.Moved[dataKey]}
	state, own := decode(owner, key, data)
	h.state = state
	switch {
	case cause != "":
		h.cause = cause
	case h.digest != i.Digests[dataKey] && (own == "" || own == Newer):
		h.cause = Edited
	case own != "":
		h.cause = own
	default:
		h.cause = i.Doubts[dataKey]
	}
	return h
}
