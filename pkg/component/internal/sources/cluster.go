package sources

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

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

// keyOf returns the key of the cluster and the credentials in a configuration.
func keyOf(config *rest.Config) (string, error) {
	data, err := json.Marshal([]any{
		config.Host, config.APIPath, config.Username, config.Password, config.BearerToken, config.BearerTokenFile,
		config.Impersonate, config.Insecure, config.ServerName,
		config.CertFile, config.KeyFile, config.CAFile,
		config.CertData, config.KeyData, config.CAData,
	})
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:]), nil
}

// dial returns the cluster of a configuration. It sends no request.
func dial(config *rest.Config, key string) (Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return Cluster{}, err
	}
	c := Cluster{Key: key, Close: client.CloseIdleConnections}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return Cluster{}, err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return Cluster{}, err
	}
	c.Mapper, err = apiutil.NewDynamicRESTMapper(config, client)
	return c, err
}

// ClusterOf returns the cluster of a connection, with the identity of the connection.
func ClusterOf(c *target.Connection) Cluster {
	own := c.Own()
	return Cluster{Key: c, Dynamic: own.Dynamic, Metadata: own.Metadata, Mapper: c.Discovery.Mapper()}
}
