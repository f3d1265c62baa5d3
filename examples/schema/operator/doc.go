// Package operator is an operator for databases. A Database is a schema in a MySQL or MariaDB server outside
// Kubernetes, with a user, and a Secret and a ConfigMap by which an application connects.
//
// +kubebuilder:object:generate=true
// +groupName=mysql.example.com
// +versionName=v1
package operator
