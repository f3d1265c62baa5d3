package eventsources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
)

// Digest returns a digest and the size, in bytes, of the JSON form of a value.
func Digest(value any) (digest string, size int, err error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", 0, fmt.Errorf("the value cannot be written as JSON: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), len(data), nil
}

// Plain returns a value as plain data: maps, slices, strings, bools, int64 and float64.
func Plain(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var result any
	err = json.Unmarshal(data, &result)
	return result, err
}
