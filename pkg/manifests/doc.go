// Package manifests handles manifests as data: it decodes them, identifies them, reads their settings, normalises, digests and orders
// them. Nothing in it talks to a cluster or reads a clock.
package manifests
