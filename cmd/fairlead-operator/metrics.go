package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"

	metricsfilters "sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsOptions say where metrics are served, how, and to whom.
type metricsOptions struct {
	address string
	// secure serves them by HTTPS, to those only whom the API server knows and lets get /metrics.
	secure bool
	// certificates is a folder with tls.crt and tls.key, which are read again when they change; without one the certificate is self-signed.
	certificates string
}

// server returns how the manager serves the metrics.
func (o metricsOptions) server() metricsserver.Options {
	server := metricsserver.Options{BindAddress: o.address, SecureServing: o.secure, CertDir: o.certificates}
	if o.secure {
		server.FilterProvider = metricsfilters.WithAuthenticationAndAuthorization
		// Streams of HTTP/2 can be reset faster than they are paid for (CVE-2023-44487), and nobody needs them to scrape.
		server.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return server
}

// validate checks that there is a certificate where one is named: the server would quietly sign one itself.
func (o metricsOptions) validate() error {
	switch {
	case o.certificates == "":
		return nil
	case !o.secure:
		return errors.New("it needs --metrics-secure")
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(o.certificates, "tls.crt"), filepath.Join(o.certificates, "tls.key")); err != nil {
		return fmt.Errorf("want a folder with tls.crt and tls.key: %w", err)
	}
	return nil
}
