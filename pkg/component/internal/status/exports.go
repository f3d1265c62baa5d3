package status

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// maxPublishedBytes is the maximum size of the published exports of a component, as JSON, in bytes. The status has the
// inventory, too, and consumers read all values after each change.
const maxPublishedBytes = 16 << 10

// Published returns the published exports after a pass. before are the exports in the status, names are the names that
// the component publishes now, and values are the values that are known now, as JSON. A name without a value keeps its
// previous value. Values that are equal as JSON keep their bytes, because the API server may write them in another way
// than this process. The error says that the values are too large.
func Published(
	before map[string]runtime.RawExtension, names []string, values map[string][]byte,
) (map[string]runtime.RawExtension, error) {
	if len(names) == 0 {
		return nil, nil
	}
	next := map[string]runtime.RawExtension{}
	size := 0
	for _, name := range names {
		previous, known := before[name]
		value, found := values[name]
		switch {
		case !known && !found:
			continue
		case !found, known && bytes.Equal(canonical(previous.Raw), canonical(value)):
			next[name] = previous
		default:
			next[name] = runtime.RawExtension{Raw: canonical(value)}
		}
		size += len(name) + len(next[name].Raw)
	}
	if size > maxPublishedBytes {
		return nil, fmt.Errorf(
			"the published exports %s have together %d bytes, more than %d; publish fewer or smaller values",
			strings.Join(slices.Sorted(maps.Keys(next)), ", "), size, maxPublishedBytes,
		)
	}
	if len(next) == 0 {
		return nil, nil
	}
	return next, nil
}

// canonical returns JSON in the form that this process writes. Invalid JSON is returned unchanged.
func canonical(data []byte) []byte {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return data
	}
	written, err := json.Marshal(value)
	if err != nil {
		return data
	}
	return written
}
