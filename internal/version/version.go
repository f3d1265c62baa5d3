package version

// Version is the version of the program. A build sets it with the flag -ldflags "-X
// github.com/fairlead-io/fairlead/internal/version.Version=v1.2.3".
var Version = "dev"

// Module is the path of the Go module of Fairlead.
const Module = "github.com/fairlead-io/fairlead"
