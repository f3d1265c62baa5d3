// Package test tests the example schema against servers that speak the protocol of MySQL: go-mysql-server in this
// process, and MariaDB under the build tag long. It is a separate Go module because of its dependencies.
package test
