// Package leader tells a replica of the operator which replica reconciles, and where that replica listens. The facts
// come from the requests of the leader election, so no further request and no further right is needed. These requests
// also tell the command line which namespaces the operator watches, and which version it has.
//
// The package decides nothing: the election is that of client-go. Everybody may read the Lease, so it contains no names
// of namespaces, only their digests.
package leader
