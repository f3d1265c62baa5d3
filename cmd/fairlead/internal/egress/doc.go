// Package egress decides whether a command may send data out of the cluster, and as whom the command reads this data.
//
// The author of a component chooses the address of its function, and the server of its kubeconfig. A command that reads
// with the rights of a person must not send the read data there, because the person may read more than the author. Such
// a command acts as the identity of the component. A function is called only if the person allowed it.
package egress
