package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// digestLength is the length of a digest in hex characters: 64 bits tell the versions of one object apart, and keep inventories small.
const digestLength = 16

// Digest identifies a JSON value: equal values have equal digests, whatever the order of map keys.
func Digest(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("the manifest cannot be written as JSON: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:digestLength], nil
}
