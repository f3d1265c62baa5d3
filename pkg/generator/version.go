package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// VersionOf returns the version of a generator, or an empty string if the generator is no Versioner.
func VersionOf(g Generator) string {
	if v, ok := g.(Versioner); ok {
		return v.Version()
	}
	return ""
}

// versionOfAll returns a hash of the versions of all parts. It returns an empty string if a part has no version.
func versionOfAll(composition string, parts ...any) string {
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
