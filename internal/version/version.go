// Package version tells what was built.
package version

// Version of the program; the build sets it by -ldflags "-X github.com/fairlead-io/fairlead/internal/version.Version=v1.2.3".
var Version = "dev"

// Module is the path of the Go module of Fairlead.
const Module = "github.com/fairlead-io/fairlead"
