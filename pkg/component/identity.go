package component

import "github.com/fairlead-io/fairlead/pkg/component/internal/target"

// Identity is a user and its groups. The zero Identity is that of the engine's configuration. A service account is the
// user system:serviceaccount:<namespace>:<name>; the API server knows its groups.
type Identity struct {
	User   string
	Groups []string
}

// String identifies the identity; the order of the groups does not matter.
func (id Identity) String() string { return target.Identity(id).String() }
