// Package aggregate is a small aggregated API for tests: an HTTPS server on the loopback address that stores objects in
// memory. The API server reaches it through a Service of type ExternalName, so it needs no cluster network.
package aggregate
