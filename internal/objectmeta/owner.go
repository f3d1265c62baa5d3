package objectmeta

import (
	"crypto/sha256"
	"encoding/hex"
)

// OwnerID returns a hash of the readable form of an owner, in 40 hexadecimal digits.
func OwnerID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:20])
}
