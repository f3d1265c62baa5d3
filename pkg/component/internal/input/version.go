package input

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"sync"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// GeneratorVersion returns the version of a generator. If the generator has no version, it returns programIdentity. A
// new build of the operator may render differently, so it starts a new revision of each component.
func GeneratorVersion(g generator.Generator) string {
	if version := generator.VersionOf(g); version != "" {
		return version
	}
	return programIdentity()
}

// programIdentity is a hash of the executable file. Build information is not used, because two builds of different
// uncommitted changes have the same build information.
var programIdentity = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
})
