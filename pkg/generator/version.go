package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// versionOf returns the combined version of parts in their order, or an empty version if a part has none.
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
