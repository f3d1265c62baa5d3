package related

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// clusterKey identifies a cluster and an identity in it.
type clusterKey struct {
	// digest is the digest of the data of a configuration.
	digest string
	// transport is the transport of a configuration. Configurations that share a transport have the same value here.
	transport any
	// component is set if the configuration cannot be compared with the configurations of other components.
	component types.NamespacedName
}

// keyOf returns the key of the cluster and the credentials in the configuration of a component. Functions cannot be
// compared, and may add credentials, so a configuration with a function is not shared between components. A component
// whose function alone changes keeps its connection.
func keyOf(config *rest.Config, component types.NamespacedName) (clusterKey, error) {
	exec := config.ExecProvider
	data := []any{
		config.Host, config.APIPath, config.Username, config.Password, config.BearerToken, config.BearerTokenFile,
		config.Impersonate, config.TLSClientConfig, config.AuthProvider, exec, config.UserAgent, config.Timeout,
		config.DisableCompression,
	}
	if exec != nil {
		data = append(data, exec.Config) // It is not in the JSON form of an ExecConfig.
	}
	text, err := json.Marshal(data)
	if err != nil {
		return clusterKey{}, err
	}
	digest := sha256.Sum256(text)
	key := clusterKey{digest: hex.EncodeToString(digest[:])}
	if config.Transport != nil && reflect.TypeOf(config.Transport).Kind() == reflect.Pointer {
		key.transport = config.Transport
	} else if config.Transport != nil {
		key.component = component
	}
	if config.WrapTransport != nil || config.Dial != nil || config.Proxy != nil || config.AuthConfigPersister != nil {
		key.component = component
	}
	return key, nil
}

// dial returns the cluster of a configuration. It sends no request.
func dial(config *rest.Config, key clusterKey) (eventsources.Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return eventsources.Cluster{}, err
	}
	c := eventsources.Cluster{Key: key, Close: client.CloseIdleConnections}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return eventsources.Cluster{}, err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return eventsources.Cluster{}, err
	}
	c.Mapper, err = apiutil.NewDynamicRESTMapper(config, client)
	return c, err
}
