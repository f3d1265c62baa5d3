package manifests

// ExternalGroup is the API group of the manifests of dependents outside Kubernetes (externals), and ExternalVersion is
// its version. No object of this group is sent to an API server.
const (
	ExternalGroup   = "external.fairlead.io"
	ExternalVersion = "v1"
)

// IsExternal reports whether the key is that of a dependent outside Kubernetes.
func (k Key) IsExternal() bool { return k.Group == ExternalGroup }
