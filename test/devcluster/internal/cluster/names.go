package cluster

import "fmt"

// These are the names of the components' processes, and of their log files.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// supervisor is the name in the audit log of the process that starts and monitors the components.
const supervisor = "devcluster"

// Config configures a cluster.
type Config struct {
	// Dir is the folder for credentials, data and logs. It is created if it does not exist.
	Dir string
	// Executable is the program that runs a component if its argv[0] is the component's name.
	Executable string
	// Nodes is the number of fake nodes.
	Nodes int
	// Audit makes the API server write audit.log, with a JSON line for each answered request.
	Audit bool
	// Cloud adds a default storage class, and addresses for load balancers and Ingresses.
	Cloud bool
	// Echo answers webhooks and APIServices in place of the programs of fake pods.
	Echo bool
	// NoControllers starts only etcd and the API server.
	NoControllers bool
}

func (c Config) validate() error {
	if c.Nodes < 0 {
		return NewUsageError("--nodes must not be negative, it is %d", c.Nodes)
	}
	if c.Nodes > 0 && c.NoControllers {
		return NewUsageError("--nodes needs the controllers; leave out --no-controllers")
	}
	if c.Cloud && c.NoControllers {
		return NewUsageError("--cloud needs the controllers; leave out --no-controllers")
	}
	if c.Echo && c.NoControllers {
		return NewUsageError("--echo needs the controllers; leave out --no-controllers")
	}
	return nil
}

func (c Config) describe() string {
	switch {
	case c.NoControllers:
		return "API server without controllers"
	case c.Nodes == 1:
		return "1 node"
	default:
		return fmt.Sprintf("%d nodes", c.Nodes)
	}
}
