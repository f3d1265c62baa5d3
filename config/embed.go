package config

import "embed"

// Manifests contains the folders crd, rbac, samples and monitoring. Files can be applied in the order of their names.
//
//go:embed crd/*.yaml rbac/*.yaml samples/*.yaml monitoring/*.yaml
var Manifests embed.FS
