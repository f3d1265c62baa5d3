// Package builtintypes holds tables about the types that are built into Kubernetes: their groups, types without a
// status, types that run once, types whose objects contain or define others, and fields that cannot change.
//
// A fact about a built-in type that decides how manifests are handled has a row here. Rules of the API server for
// requests, such as fields that exclude each other, are in pkg/component/internal/serverrules.
package builtintypes
