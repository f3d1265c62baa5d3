package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"

	metricsfilters "sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsOptions configure the metrics endpoint.
type metricsOptions struct {
	address string
	// secure serves metrics over HTTPS, to clients that the API server authenticates and authorizes to get /metrics.
	secure bool
	// certificates is a folder with tls.crt and tls.key. The server reads these files again when they change. If the value
	// is empty, the certificate is self-signed.
	certificates string
}

// server returns the options of the manager's metrics server.
func (o metricsOptions) server() metricsserver.Options {
	server := metricsserver.Options{BindAddress: o.address, SecureServing: o.secure, CertDir: o.certificates}
	if o.secure {
		server.FilterProvider = metricsfilters.WithAuthenticationAndAuthorization
		// HTTP/2 is turned off because of rapid resets (CVE-2023-44487). Clients of metrics do not need HTTP/2.
		server.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return server
}

// validate checks that the files of the certificate exist. Without them, the server would use a self-signed certificate
// without an error.
func (o metricsOptions) validate() error {
	switch {
	case o.certificates == "":
		return nil
	case !o.secure:
		return errors.New("it needs --metrics-secure")
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(o.certificates, "tls.crt"),
		filepath.Join(o.certificates, "tls.key")); err != nil {
		return fmt.Errorf("want a folder with tls.crt and tls.key: %w", err)
	}
	return nil
}
