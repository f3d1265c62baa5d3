// Package operator is an operator for sites. A Site has hosts with an address. The operator keeps a DNS record for each
// host, in a DNS service outside Kubernetes, and a ConfigMap with the ids of the records.
//
// +kubebuilder:object:generate=true
// +groupName=dns.example.com
// +versionName=v1
package operator
