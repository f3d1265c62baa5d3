// Package rendered contains the commands about the objects that a source renders, without an operator: render prints
// them, and rbac prints the roles that they need. Without a folder, rbac renders the component in the cluster.
package rendered
