// Package aggregate is a tiny aggregated API for tests: an HTTPS server on the loopback address that holds objects in
// memory. The API server reaches it through a Service of type ExternalName, which needs no network of its own.
package aggregate
