package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// versionOf returns a hash of the versions of all parts. It returns an empty string if a part has no version.
func versionOf(composition string, parts ...any) string {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q", composition)
	for _, part := range parts {
		versioner, ok := part.(Versioner)
		if !ok {
			return ""
		}
		version := versioner.Version()
		if version == "" {
			return ""
		}
		_, _ = fmt.Fprintf(hash, "%q", version)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
