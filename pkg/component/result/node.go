package result

// NodeState is the readiness of a dependent, or the reason why its readiness is not known.
type NodeState string

// The states of a node. The first four are the readiness of the live object.
const (
	NodeReady       NodeState = "Ready"
	NodeInProgress  NodeState = "InProgress"
	NodeFailed      NodeState = "Failed"
	NodeTerminating NodeState = "Terminating"
	// NodeNotUpdated: the object is ready, but the last write to it failed, so it is not in the desired state; see
	// AddFailures.
	NodeNotUpdated NodeState = "NotUpdated"
	// NodeCompleted: the object, such as a Job, completed its work and was deleted afterwards. The object is not
	// created again.
	NodeCompleted NodeState = "Completed"
	// NodeMissing: the object in the inventory does not exist in the cluster.
	NodeMissing NodeState = "Missing"
	// NodeUnknown: the object could not be read, or its readiness cannot be determined.
	NodeUnknown NodeState = "Unknown"
)
