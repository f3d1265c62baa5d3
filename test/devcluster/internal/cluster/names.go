// Package cluster runs a Kubernetes cluster on this machine: etcd, an API server, controller manager, scheduler and
// fake nodes, each a process of its own, reachable on the loopback address alone. It is for development and tests; its
// data is thrown away.
package cluster

import "fmt"

// The components are started under these names, and log to files named after them.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// supervisor is the process that starts and watches the others. It shows in the audit log under this name.
const supervisor = "devcluster"

// Config says what to run.
type Config struct {
	// Dir is the folder for credentials, data and logs. It is made if it does not exist.
	Dir string
	// Executable is the program that runs a component when its argv[0] is the component's name.
	Executable string
	// Nodes is the number of fake nodes.
	Nodes int
	// Audit makes the API server write audit.log, a JSON line per answered request.
	Audit bool
	// Cloud adds a default storage class, and addresses for load balancers and Ingresses.
	Cloud bool
	// Echo answers webhooks and APIServices in place of the programs of fake pods.
	Echo bool
	// NoControllers leaves out everything but etcd and the API server.
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
