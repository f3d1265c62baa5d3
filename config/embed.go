// Package config holds the manifests that install the operator, for programs that install it themselves.
package config

import "embed"

// Manifests holds the folders crd, rbac, samples and monitoring. Applied file by file in the order of their names, each finds what it needs.
//
//go:embed crd/*.yaml rbac/*.yaml samples/*.yaml monitoring/*.yaml
var Manifests embed.FS
