// Package config holds the manifests that install the operator, for programs that install it themselves.
package config
