package eventsources

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// Cluster is a cluster in which related objects are.
type Cluster struct {
	// Key is equal for equal clusters and identities. It is comparable.
	Key      any
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	Mapper   meta.RESTMapper
	// Close closes idle connections; it may be nil.
	Close func()
}

// Clusters are the clusters of one component.
type Clusters interface {
	// Target returns the cluster of its dependents. The error is passerror.ErrObserving until it is known.
	Target() (Cluster, error)
}

// ClusterOf returns the cluster of a connection, with the identity of the connection.
func ClusterOf(c *target.Connection) Cluster {
	own := c.Own()
	return Cluster{Key: c, Dynamic: own.Dynamic, Metadata: own.Metadata, Mapper: c.Discovery.Mapper()}
}
