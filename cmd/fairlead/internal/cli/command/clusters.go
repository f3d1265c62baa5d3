package command

import (
	"context"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// Clusters connects to the cluster of the flags, which are those of kubectl.
type Clusters struct {
	flags *genericclioptions.ConfigFlags
}

// AddFlags adds the flags for the connection.
func (c Clusters) AddFlags(flags *pflag.FlagSet) { c.flags.AddFlags(flags) }

// Namespace returns the value of the flag --namespace, which a command with a manifest may set. It is empty if the flag
// is not given.
func (c Clusters) Namespace() *string { return c.flags.Namespace }

// DefaultNamespace returns the namespace in which commands work: that of the flag, or else that of the kubeconfig.
func (c Clusters) DefaultNamespace() (string, error) {
	namespace, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", errKubeconfig(err)
	}
	return namespace, nil
}

// Connect connects to the cluster.
func (c Clusters) Connect() (*cluster.Cluster, error) { return cluster.Connect(c.flags) }

// ConnectTo connects to the cluster, and resolves the type of the component in the argument.
func (c Clusters) ConnectTo(reference string) (*cluster.Cluster, cluster.Target, error) {
	return cluster.ConnectTo(c.flags, reference)
}

// Discovery returns the client that reads which types the cluster serves.
func (c Clusters) Discovery() (discovery.CachedDiscoveryInterface, error) {
	client, err := c.flags.ToDiscoveryClient()
	if err != nil {
		return nil, errKubeconfig(err)
	}
	return client, nil
}

func errKubeconfig(err error) error { return exit.Unasked("kubeconfig: %w", err) }

// Find connects to the cluster and returns the object in the argument. It returns an error if the object does not
// exist. If only the object is missing, the result contains the connection and the type.
func (c Clusters) Find(ctx context.Context, reference string) (cluster.Object, error) {
	connected, target, err := c.ConnectTo(reference)
	if err != nil {
		return cluster.Object{}, err
	}
	obj, err := connected.Find(ctx, target)
	return cluster.Object{Cluster: connected, Target: target, Live: obj}, err
}

// FindManaged returns the component in the argument, and the name of its reconciler.
func (c Clusters) FindManaged(ctx context.Context, reference string) (cluster.Managed, error) {
	o, err := c.Find(ctx, reference)
	if err != nil {
		return cluster.Managed{}, err
	}
	return o.Managed()
}

// NewGate returns the gate through which a command sends data to addresses in a component. Tell prints which addresses
// these are.
func NewGate(c *cluster.Cluster, callFunctions bool, tell func(line string)) egress.Gate {
	return egress.Gate{Cluster: c, CallFunctions: callFunctions, Tell: tell}
}
