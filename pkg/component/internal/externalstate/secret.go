package externalstate

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// maxSecret is the maximum size of the JSON of a Secret, and metadataBytes the part of it for metadata without the
	// managed fields of values.
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
	// stray are the data keys that belong to no external, and strayBytes is the size of their values.
	stray      []string
	strayBytes int
}

// holding is the content of a Secret at one data key.
type holding struct {
	key    manifests.Key
	size   int
	digest string
	// movedTo is the number of the Secret to which the state moves; zero if it stays.
	movedTo int
	// state is nil if the value cannot be decoded. It may be used only if cause is empty.
	state *State
	cause Cause
}

// index is the JSON form of the index. The maps have data keys as keys.
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

// costOf returns an estimate of the bytes that a value takes in the JSON of a Secret: the value and its digest in the
// index, both in base64, and the key in the data, in the managed fields and in the index.
func costOf(dataKey string, size int) int {
	return base64.StdEncoding.EncodedLen(size) + 2*len(dataKey) + 20 + base64.StdEncoding.EncodedLen(len(dataKey)+40)
}

// bytes returns an estimate of the size of the JSON of a Secret.
func (s *secret) bytes() int {
	sum := metadataBytes + s.strayBytes
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

// read returns the content of a Secret. It returns an error only if there is not enough memory.
func read(
	ctx context.Context, owner manifests.Owner, object *unstructured.Unstructured, isIntact bool,
) (*secret, error) {
	s := &secret{
		number: records.NumberOf(object.GetName()), uid: string(object.GetUID()), version: object.GetResourceVersion(),
		finalizers: object.GetFinalizers(), isDeleted: object.GetDeletionTimestamp() != nil, held: map[string]*holding{},
	}
	texts, _ := object.Object["data"].(map[string]any)
	if len(texts) > maxKeys {
		s.cause = TooLarge
		return s, nil
	}
	data, err := dataOf(ctx, texts)
	if err != nil {
		return nil, err
	}
	i, cause := readIndex(owner, object.GetName(), data, isIntact)
	s.writes, s.cause = i.Writes, cause
	for _, dataKey := range slices.Sorted(maps.Keys(data)) {
		if dataKey == records.IndexKey {
			continue
		}
		if key, ok := i.keyOf(dataKey, data[dataKey]); ok {
			s.held[dataKey] = i.hold(owner, key, dataKey, data[dataKey], cause)
			continue
		}
		s.stray = append(s.stray, dataKey)
		s.strayBytes += costOf(dataKey, len(data[dataKey]))
	}
	for dataKey := range i.Digests {
		if _, ok := data[dataKey]; ok {
			continue
		}
		if key, ok := i.keyOf(dataKey, nil); ok {
			s.held[dataKey] = &holding{key: key, cause: cmp.Or(i.Doubts[dataKey], Removed)}
		}
	}
	return s, nil
}

// dataOf decodes the data of a Secret, and reserves memory for it and for the values in it. A text that is not base64
// becomes an empty value, which is damaged.
func dataOf(ctx context.Context, texts map[string]any) (map[string][]byte, error) {
	const copies = 4
	bytes := int64(0)
	for dataKey, text := range texts {
		text, _ := text.(string)
		bytes += copies*int64(len(text)+len(dataKey)) + 4*budget.NodeBytes
	}
	if err := budget.Reserve(ctx, bytes); err != nil {
		return nil, err
	}
	data, nodes := make(map[string][]byte, len(texts)), int64(0)
	for dataKey, text := range texts {
		text, _ := text.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			decoded = nil
		}
		data[dataKey] = decoded
		if counted, err := bounded.JSON(decoded, bounded.Limits{}); err == nil {
			nodes += int64(counted)
		}
	}
	return data, budget.Reserve(ctx, nodes*budget.NodeBytes)
}

// readIndex returns the index in the data of a Secret. If it cannot be used, readIndex returns the cause and an
// index without digests.
func readIndex(owner manifests.Owner, secretName string, data map[string][]byte, isIntact bool) (index, Cause) {
	text, exists := data[records.IndexKey]
	if !exists {
		return index{}, Edited
	}
	if _, err := bounded.JSON(text, bounded.Limits{}); err != nil {
		return index{}, TooLarge
	}
	var versioned struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &versioned); err != nil || versioned.Format < format {
		return index{}, Unreadable
	}
	if versioned.Format > format {
		return index{}, Newer
	}
	var i index
	if err := json.Unmarshal(text, &i); err != nil {
		return index{}, Unreadable
	}
	if i.Owner != owner.String() || i.Secret != secretName {
		return index{}, Swapped
	}
	if !isIntact || i.Writes < 0 {
		return index{}, Edited
	}
	return i, ""
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
